--- Comments on a plan or a document: on lines, files, or all of it. They go to the model in one round, and are kept in
--- the draft file with the user's edits until then.
local texts = require('tideate.ui.questions.comment_texts')

---@class tideate.PlaceAbout
---@field place integer|string|nil nil: the whole text
---@field comment tideate.ReviewComment?

---@class tideate.PlaceComments
---@field question tideate.Question
---@field texts tideate.CommentTexts
---@field revisable boolean the model can revise
---@field kind 'line'|'path' kind of place
---@field noun string kind of place in messages
---@field places table<integer|string, tideate.PlaceAbout>
---@field all tideate.PlaceAbout
---@field changed table<integer|string, boolean> places changed by the last revision
---@field send_key tideate.Key?
---@field spec tideate.PlaceSpec
---@field draft tideate.DraftFile
---@field found? table stored state, as from `spec.state`
local Comments = {}
Comments.__index = Comments

---@class tideate.PlaceSpec
---@field at_cursor fun(): integer|string|nil
---@field on_changed fun() called after a change of comments
---@field state fun(): table<string, any> state to store with the comments
---@field respond fun(comments: table[]) called with sent comments

local M = {}

---@param place integer|string|nil
---@return tideate.PlaceAbout
function Comments:about(place)
  if place == nil then
    return self.all
  end
  self.places[place] = self.places[place] or { place = place }
  return self.places[place]
end

---@param about tideate.PlaceAbout
---@param text string
local function add(about, text)
  local said = about.comment and about.comment.text
  if said ~= text then
    about.comment = { text = said and said .. '\n' .. text or text }
  end
end

--- Read the draft file; invalid comments are dropped.
---@return { [string]: any }[] comments
function Comments:restore()
  local said = self.question.payload.comments or {}
  self.draft:read(function(step)
    if step and type(step.said) == 'table' then
      self.found = step.said
      said = vim.islist(step.said.comments) and step.said.comments or {}
    end
    return step ~= nil
  end)
  return vim.tbl_filter(function(one)
    local place = type(one) == 'table' and one[self.kind] or nil
    local right = place == nil or type(place) == (self.kind == 'line' and 'number' or 'string')
    return type(one) == 'table' and type(one.text) == 'string' and right
  end, said)
end

---@param question tideate.Question payload: `revisable`, and optional `changed`, `comments` and `warnings`
---@param kind 'line'|'path'
---@param spec tideate.PlaceSpec
---@return tideate.PlaceComments
function M.new(question, kind, spec)
  local payload = question.payload
  local self = setmetatable({
    question = question,
    kind = kind,
    noun = kind == 'line' and 'line' or 'file',
    spec = spec,
    revisable = payload.revisable == true,
    draft = require('tideate.ui.questions.draft_file').new(question),
    places = {},
    all = {},
    changed = {},
  }, Comments)
  self.texts = texts.new(question, function(name, about)
    local revision = payload.revision or 1
    return ('%s %s %s %d %s'):format(name, question.execution_id, question.step, revision, tostring(about.place))
  end)
  for _, place in ipairs(payload.changed or {}) do
    self.changed[place] = true
  end
  for _, one in ipairs(self:restore()) do
    add(self:about(one[kind]), one.text)
  end
  if payload.warnings then
    require('tideate.ui').warn(table.concat(payload.warnings, '\n'))
  end
  return self
end

--- Return the comments to send: those on the whole first, then by place.
---@return table[]
function Comments:list()
  local found = {} ---@type table[]
  for _, about in pairs(self.places) do
    if about.comment then
      table.insert(found, { [self.kind] = about.place, text = about.comment.text })
    end
  end
  table.sort(found, function(one, other)
    return one[self.kind] < other[self.kind]
  end)
  if self.all.comment then
    table.insert(found, 1, { text = self.all.comment.text })
  end
  return found
end

--- Return the lines of the comment on a place.
---@param place integer|string|nil nil: the comment on the whole
---@param width integer
---@return tideate.Chunk[][]
function Comments:shown(place, width)
  local about = place == nil and self.all or self.places[place]
  return texts.lines(about and about.comment, width)
end

--- Store the comments and the state.
---@return boolean kept
function Comments:keep()
  local comments = self:list()
  local said = vim.tbl_extend('error', vim.empty_dict(), self.spec.state(), { comments = #comments > 0 and comments or nil })
  return self.draft:write({ said = said })
end

function Comments:say_changed()
  self:keep()
  if self.send_key then
    self.send_key.word = #self:list() > 0 and 'send' or nil
  end
  self.spec.on_changed()
end

---@param in_buffer boolean the comment may have several lines
function Comments:comment_here(in_buffer)
  local place = self.spec.at_cursor()
  if place == nil then
    return self:comment_on_all()
  end
  local about = self:about(place)
  self.texts:ask(in_buffer, ('Comment on this %s'):format(self.noun), about, function(text)
    about.comment = texts.comment(text)
    self:say_changed()
  end)
end

function Comments:comment_on_all()
  self.texts:ask(true, 'What is to change?', self.all, function(text)
    self.all.comment = texts.comment(text)
    self:say_changed()
  end)
end

--- Return a warning about unsent work that an answer would leave out, with the keys.
---@param untaken boolean there are unaccepted edits
---@param key string answering key
---@param with_comments boolean warn about comments, too
---@return string? words nil if nothing is left out
function Comments:left_out(untaken, key, with_comments)
  local unsent = with_comments and #self:list() > 0
  if untaken and unsent then
    local words = 'your edits are not taken, and your comments not sent: e goes back to the edits, g<CR> sends, %s again leaves them out'
    return words:format(key)
  elseif untaken then
    return ('your edits are not taken: e goes back to them, %s again leaves them out'):format(key)
  elseif unsent then
    return ('your comments are not sent: g<CR> sends them, %s again leaves them out'):format(key)
  end
end

--- Call back when a message expires.
---@param message string? nil: no message
---@param callback fun()
function Comments:expire(message, callback)
  if message then
    require('tideate.ui.notify').when_expired(callback)
  end
end

---@return string? problem if nothing is sent
function Comments:send()
  local found = self:list()
  if #found == 0 then
    return 'you have not said anything: gs comments on a ' .. self.noun
  end
  self.spec.respond(found)
end

--- Return the line number after an edit; of a deleted line, the line at its place.
---@param line integer
---@param hunks integer[][] of `vim.diff`
---@return integer
local function line_now(line, hunks)
  local offset = 0
  for _, hunk in ipairs(hunks) do
    local from, count, to, size = unpack(hunk)
    local first = count == 0 and from + 1 or from
    if line < first then
      break
    elseif line < first + count then
      return math.max(1, to + math.min(line - first, math.max(0, size - 1)))
    end
    offset = offset + size - count
  end
  return line + offset
end

--- Move comments with the lines of an edited text.
---@param before string
---@param after string
function Comments:follow(before, after)
  local hunks = vim.diff(before, after, { result_type = 'indices' }) --[[@as integer[][] ]]
  local places = self.places
  self.places = {}
  for line, about in pairs(places) do
    local now = self:about(line_now(line --[[@as integer]], hunks))
    if about.comment then
      add(now, about.comment.text)
    end
  end
end

--- Add the keys of comments before the last key.
---@param keys tideate.Key[]
---@param on_problem fun(problem: string)
---@return tideate.Key[] keys
function Comments:add_keys(keys, on_problem)
  if not self.revisable then
    return keys
  end
  local key = require('tideate.ui.keys').key
  self.send_key = key('g<CR>', #self:list() > 0 and 'send' or nil, 'send the comments: the model revises it', function()
    local problem = self:send()
    if problem then
      on_problem(problem)
    end
  end)
  for _, one in ipairs({
    self.send_key,
    key({ 'gs', 'gb' }, 'comment', ('say something about this %s to the model'):format(self.noun), function()
      self:comment_here(false)
    end),
    key('gB', nil, 'write a comment of several lines', function()
      self:comment_here(true)
    end),
    key('gS', nil, 'comment on the whole', function()
      self:comment_on_all()
    end),
  }) do
    table.insert(keys, #keys, one)
  end
  return keys
end

--- Keep unfinished texts after the question ended.
function Comments:close()
  if not self.texts.closed then
    self.texts:keep()
  end
end

return M
