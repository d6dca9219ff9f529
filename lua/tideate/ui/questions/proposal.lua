--- Shared part of the plan and document dialogs: the user comments on a model's proposal and answers.
--- Comments are on lines, files, or all of it, and go to the model in one round; until then they are kept in the draft
--- file with the user's edits.
local M = {}

local api = vim.api
local ui = require('tideate.ui')
local texts = require('tideate.ui.questions.comment_texts')
local ui_keys = require('tideate.ui.keys')
local window = require('tideate.ui.window')

---@class tideate.ProposalSubject what differs between a plan and a document
---@field kind 'plan'|'document'
---@field unit 'path'|'line' place of a comment
---@field noun string for a place
---@field answers {yes: string, no: string, back: string, decline: string} words of the keys and of the question after a no
---@field keys fun(self): tideate.Key[] own keys
---@field lines fun(self, width: integer): tideate.Chunk[][]
---@field place_at fun(self, row: integer): integer|string|nil
---@field state fun(self): table<string, any> for the draft file
---@field take fun(self) accept the text of the editor
---@field value fun(self): table?, string? value of the answer, or why a yes is refused
---@field is_changed fun(self): boolean without comments and unaccepted edits
---@field summary fun(self): string
---@field on_answer? fun(self)
---@field message_above? boolean messages are at the top of the text
---@field written? boolean accepted edits were not answered

---@class tideate.PlaceAbout
---@field place integer|string|nil nil: the whole text
---@field comment tideate.ReviewComment?

---@class tideate.Proposal
---@field subject tideate.ProposalSubject
---@field question tideate.Question
---@field respond fun(result: table<string, any>)
---@field on_left fun()
---@field revisable boolean the model can revise
---@field changed table<integer|string, boolean> places changed by the last revision
---@field found? table stored state, as from `subject:state`
---@field message string?
---@field dialog tideate.Dialog
---@field editor tideate.TextEdit its text counts only once it is accepted
---@field private texts tideate.CommentTexts
---@field private places table<integer|string, tideate.PlaceAbout>
---@field private all tideate.PlaceAbout
---@field private send_key tideate.Key?
---@field private draft tideate.DraftFile
local Proposal = {}
Proposal.__index = Proposal

---@param place integer|string|nil
---@return tideate.PlaceAbout
function Proposal:about(place)
  if place == nil then
    return self.all
  end
  self.places[place] = self.places[place] or { place = place }
  return self.places[place]
end

---@param about tideate.PlaceAbout
---@param said string
local function add(about, said)
  local before = about.comment and about.comment.text
  if before ~= said then
    about.comment = { text = before and before .. '\n' .. said or said }
  end
end

--- Read the draft file; invalid comments are dropped.
function Proposal:restore()
  local said, unit = self.question.payload.comments or {}, self.subject.unit
  self.draft:read(function(step)
    if step and type(step.said) == 'table' then
      self.found = step.said
      said = vim.islist(step.said.comments) and step.said.comments or {}
    end
    return step ~= nil
  end)
  for _, one in ipairs(said) do
    local valid = type(one) == 'table' and type(one.text) == 'string'
    local kind = valid and type(one[unit])
    if kind == 'nil' or kind == (unit == 'line' and 'number' or 'string') then
      add(self:about(one[unit]), one.text)
    end
  end
end

---@return string key of its edits, for the next question about the same proposal
function Proposal:key()
  return ('%s %s %s'):format(self.subject.kind, self.question.execution_id, self.question.step)
end

--- Create a proposal with the comments and edits of an earlier question.
---@param subject tideate.ProposalSubject
---@param question tideate.Question payload: `revisable`, and optional `changed`, `comments` and `warnings`
---@param respond fun(result: table<string, any>) called once, unless `on_left` is called
---@param on_left fun() the user left it or closed its window: the run waits
---@return tideate.Proposal
function M.new(subject, question, respond, on_left)
  local payload = question.payload
  local self = setmetatable({
    subject = subject,
    question = question,
    respond = respond,
    on_left = on_left,
    revisable = payload.revisable == true,
    draft = require('tideate.ui.questions.draft_file').new(question),
    places = {},
    all = {},
    changed = {},
  }, Proposal)
  self.texts = texts.new(question, function(name, about)
    local revision = payload.revision or 1
    return ('%s %s %s %d %s'):format(name, question.execution_id, question.step, revision, tostring(about.place))
  end)
  self.editor = require('tideate.ui.questions.text_edit').resume(self:key(), subject.kind, question.execution_id, function()
    subject:take()
  end)
  self.message = self.editor.again and 'your earlier text is kept: e shows it' or nil
  for _, place in ipairs(payload.changed or {}) do
    self.changed[place] = true
  end
  self:restore()
  if payload.warnings then
    ui.warn(table.concat(payload.warnings, '\n'))
  end
  return self
end

--- Open the dialog.
---@param options table<string, any> more of `tideate.DialogSpec`
---@return tideate.Proposal
function Proposal:open(options)
  self.dialog = require('tideate.ui.questions.dialog').open(vim.tbl_extend('keep', options, {
    title = require('tideate.ui.questions.confirm').title(self.question),
    keys = self:keys(),
    width = math.min(100, (window.room()) - 4),
    lines = function(width)
      return self.subject:lines(width)
    end,
    on_closed = function()
      self:leave()
    end,
  }))
  return self
end

---@return tideate.Key[]
function Proposal:keys()
  local key, subject = ui_keys.key, self.subject
  local words = subject.answers
  local function call(method, argument)
    return function()
      self[method](self, argument)
    end
  end
  local keys = { key({ 'y', '<CR>' }, 'yes', words.yes, call('accept')), key('n', 'no', words.no, call('decline')) }
  vim.list_extend(keys, subject:keys())
  table.insert(keys, key('q', 'leave', 'leave it: the run waits', call('leave')))
  if self.revisable then
    local about = ('say something about this %s to the model'):format(subject.noun)
    self.send_key = key('g<CR>', #self:comments() > 0 and 'send' or nil, 'send the comments: the model revises it', call('send'))
    vim.list_extend(keys, {
      self.send_key,
      key({ 'gs', 'gb' }, 'comment', about, call('comment_here', false)),
      key('gB', nil, 'write a comment of several lines', call('comment_here', true)),
      key('gS', nil, 'comment on the whole', call('comment_on_all')),
    })
  end
  table.insert(keys, ui_keys.help_key(subject.kind, function()
    return keys
  end))
  return keys
end

--- Return the comments to send: those on the whole first, then by place.
---@return table[]
function Proposal:comments()
  local found, unit = {}, self.subject.unit ---@type table[], string
  for _, about in pairs(self.places) do
    if about.comment then
      table.insert(found, { [unit] = about.place, text = about.comment.text })
    end
  end
  table.sort(found, function(one, other)
    return one[unit] < other[unit]
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
function Proposal:comment_lines(place, width)
  local about = place == nil and self.all or self.places[place]
  return texts.lines(about and about.comment, width)
end

--- Store the comments and the state of the subject.
function Proposal:keep()
  local comments = self:comments()
  local said = { comments = #comments > 0 and comments or nil }
  self.draft:write({ said = vim.tbl_extend('error', vim.empty_dict(), self.subject:state(), said) })
end

--- Draw again, with a message for a while.
---@param message string?
function Proposal:redraw(message)
  self.message = message
  self.dialog:show()
  if message and self.subject.message_above and window.visible(self.dialog.win) then
    api.nvim_win_set_cursor(self.dialog.win, { 1, 0 })
  end
  if message then
    require('tideate.ui.notify').when_expired(function()
      if self.message == message and not self.dialog.closed then
        self:redraw()
      end
    end)
  end
end

---@param in_buffer boolean
---@param prompt string
---@param about tideate.PlaceAbout
function Proposal:ask(in_buffer, prompt, about)
  self.texts:ask(in_buffer, prompt, about, function(said)
    about.comment = texts.comment(said)
    self:keep()
    if self.send_key then
      self.send_key.word = #self:comments() > 0 and 'send' or nil
    end
    self:redraw()
  end)
end

---@param in_buffer boolean the comment may have several lines
function Proposal:comment_here(in_buffer)
  local place = self.subject:place_at(api.nvim_win_get_cursor(self.dialog.win)[1])
  if place == nil then
    return self:comment_on_all()
  end
  self:ask(in_buffer, ('Comment on this %s'):format(self.subject.noun), self:about(place))
end

function Proposal:comment_on_all()
  self:ask(true, 'What is to change?', self.all)
end

--- Warn once about unsent work that an answer would leave out.
---@param key string answering key
---@param with_comments boolean warn about comments, too
---@return boolean warned
function Proposal:warns(key, with_comments)
  local untaken, unsent = self.editor:unfinished(), with_comments and #self:comments() > 0
  local words ---@type string?
  if untaken and unsent then
    words = 'your edits are not taken, and your comments not sent: e goes back to the edits, g<CR> sends, %s again leaves them out'
  elseif untaken then
    words = 'your edits are not taken: e goes back to them, %s again leaves them out'
  elseif unsent then
    words = 'your comments are not sent: g<CR> sends them, %s again leaves them out'
  end
  words = words and words:format(key)
  local warned = words ~= nil and self.message ~= words
  if warned then
    self:redraw(words)
  end
  return warned
end

---@param result table<string, any>
function Proposal:answer(result)
  if self.subject.on_answer then
    self.subject:on_answer()
  end
  self:close(true)
  self.respond(result)
end

function Proposal:accept()
  if not self:warns('y', true) then
    local value, refusal = self.subject:value()
    if refusal then
      return self:redraw(refusal)
    end
    self:answer({ accepted = true, value = value })
  end
end

--- Send the comments: the model revises the current state.
function Proposal:send()
  local comments = self:comments()
  if #comments == 0 then
    return self:redraw('you have not said anything: gs comments on a ' .. self.subject.noun)
  elseif not self:warns('g<CR>', false) then
    local value = vim.tbl_extend('error', self.subject:value() or {}, { comments = comments })
    self:answer({ accepted = false, value = value, reason = 'comments were sent to the model' })
  end
end

--- Decline; after changes or comments only with a confirmation.
function Proposal:decline()
  local subject = self.subject
  require('tideate.ui.questions.confirm_action').decline({
    about = subject:summary(),
    back = subject.answers.back,
    decline = subject.answers.decline,
    unchanged = not (subject:is_changed() or self.editor:unfinished() or #self:comments() > 0),
  }, function()
    return not self.dialog.closed
  end, function(reason)
    self:close()
    self.respond({ accepted = false, reason = reason })
  end)
end

--- Leave it: its run waits.
function Proposal:leave()
  self:close()
  self.on_left()
end

--- Close it. Unfinished edits are kept in their buffer, except those of a plan that is answered without them.
---@param answered? boolean
function Proposal:close(answered)
  if not self.texts.closed then
    self.texts:keep()
  end
  local kept = self.editor:unfinished() or self.subject.written
  if kept and not (answered and self.subject.kind == 'plan') then
    self.editor:keep(self:key(), 'what you wrote')
  else
    self.editor:close()
  end
  self.dialog:close()
end

function Proposal:focus()
  if self.editor:visible() then
    api.nvim_set_current_win(self.editor.win)
  else
    self.dialog:focus()
  end
end

---@return boolean
function Proposal:focused()
  return self.dialog:focused()
end

---@return boolean
function Proposal:in_code()
  local visible = window.visible(self.dialog.win) or self.editor:visible()
  return self.subject.kind == 'document' and visible
end

---@return boolean
function Proposal:ready()
  return self.dialog:ready()
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
function Proposal:follow(before, after)
  local hunks = vim.diff(before, after, { result_type = 'indices' }) --[[@as integer[][] ]]
  local places = self.places
  self.places = {}
  for line, about in pairs(places) do
    if about.comment then
      add(self:about(line_now(line --[[@as integer]], hunks)), about.comment.text)
    end
  end
end

return M
