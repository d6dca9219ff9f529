--- The review of an editable document.
local M = {}

local api = vim.api

local MARK = '▌' -- before a line changed by the revision

---@class tideate.DocumentPayload
---@field text string Markdown
---@field filetype? string
---@field title? string
---@field problems? string[] why the accepted text could not be used
---@field revisable? boolean the model can make another revision
---@field revision? integer
---@field changed? integer[] lines changed by the revision, 1-based
---@field comments? { line: integer?, text: string }[] unanswered

---@class tideate.ui.Document
---@field question tideate.Question
---@field proposed string
---@field text string current text
---@field filetype string
---@field problems string[]
---@field message string?
---@field editor tideate.TextEdit its text counts only once it is accepted
---@field dialog tideate.Dialog
---@field comments tideate.PlaceComments
---@field rows table<integer, integer> text lines by buffer row, 1-based
---@field respond fun(result: table<string, any>)
---@field on_left fun()
---@field written? boolean has edits that were not answered
local Document = {}
Document.__index = Document

---@param text string
---@return string[]
local function lines_of(text)
  return vim.split((text:gsub('\n$', '')), '\n', { plain = true })
end

--- Last accepted text, shown again if it could not be used.
---@type { identity: string, text: string }?
local accepted

---@param question tideate.Question
---@return string
local function identity(question)
  return question.execution_id .. ' ' .. question.step
end

---@param width integer
---@return tideate.Chunk[][]
function Document:head(width)
  local wrap = require('tideate.ui.text').wrap
  local lines = require('tideate.ui.questions.executed_files').lines(self.question, width)
  local function say(said, group)
    for _, line in ipairs(wrap(said, width - 2)) do
      table.insert(lines, { { ' ' .. line, group } })
    end
  end
  for _, problem in ipairs(self.problems) do
    say('✗ ' .. problem, 'TideateFailed')
  end
  for _, line in ipairs(vim.split(self.question.message, '\n', { plain = true })) do
    -- the engine repeats the problems in its question
    if not vim.list_contains(self.problems, (line:gsub('%.$', ''))) then
      say(line)
    end
  end
  vim.list_extend(lines, self.comments:shown(nil, width))
  if self.message then
    say(self.message, 'TideateWarning')
  elseif next(self.comments.changed) and self.text == self.proposed then
    say(MARK .. ' changed in this revision', 'TideateHint')
  elseif self.text ~= self.proposed then
    say('as you changed it; d shows the changes', 'TideateHint')
  end
  return lines
end

---@param width integer
---@return tideate.Chunk[][]
function Document:lines(width)
  local lines = self:head(width)
  table.insert(lines, { { (' %s'):format(('─'):rep(width - 2)), 'TideateBorder' } })
  local shown, numbers = require('tideate.ui.text.readable').lines((self.text:gsub('\n$', '')))
  self.rows = {}
  for index, line in ipairs(shown) do
    local number = numbers[index]
    local changed = self.text == self.proposed and self.comments.changed[number]
    table.insert(lines, { { changed and MARK or ' ', changed and 'TideateChangeSign' or nil }, { line } })
    self.rows[#lines] = number
    if numbers[index + 1] ~= number then
      for _, said in ipairs(self.comments:shown(number, width)) do
        table.insert(lines, said)
        self.rows[#lines] = number
      end
    end
  end
  return lines
end

--- Redraw from the top, which has the message.
---@param message string?
function Document:redraw(message)
  self.message = message
  self.dialog:show()
  if require('tideate.ui.window').visible(self.dialog.win) then
    api.nvim_win_set_cursor(self.dialog.win, { 1, 0 })
  end
  self.comments:expire(message, function()
    if self.message == message and not self.dialog.closed then
      self.message = nil
      self.dialog:show()
    end
  end)
end

--- Accept the text of the editor.
function Document:take()
  local text = table.concat(self.editor:lines(), '\n')
  local before = self.text
  self.text = self.proposed:sub(-1) == '\n' and text .. '\n' or text
  self.comments:follow(before, self.text)
  self.comments:keep()
  self.written = self.text ~= self.proposed
  self.editor:taken()
  self:redraw()
  self.dialog:focus()
end

function Document:edit()
  if self.editor:visible() then
    return api.nvim_set_current_win(self.editor.win)
  end
  local lines = lines_of(self.text)
  self.editor:fill(lines)
  self.editor:open('edit: ' .. (self.question.payload.title or 'document'), #lines + 2)
end

--- Show the details and the user's changes.
function Document:details()
  local parts = {} ---@type string[]
  if (self.question.details or '') ~= '' then
    table.insert(parts, self.question.details)
  end
  if self.text ~= self.proposed then
    local changes = vim.diff(self.proposed, self.text, { ctxlen = 2 }) --[[@as string]]
    table.insert(parts, ('What you changed:\n\n```diff\n%s```'):format(changes))
  end
  if #parts == 0 then
    return self:redraw('there are no details; all of it stands here')
  end
  require('tideate.ui.questions.preview').open('details', table.concat(parts, '\n\n---\n\n'), 'markdown')
end

function Document:accept()
  local left_out = self.comments:left_out(self.editor:unfinished(), 'y', true)
  if left_out and self.message ~= left_out then
    return self:redraw(left_out)
  end
  self:answer({ accepted = true, value = self:changed_text() })
end

---@return { text: string, comments: table[]? }? value
function Document:changed_text()
  -- after problems even an unchanged text differs from the first proposal
  local changed = self.text ~= self.proposed or #self.problems > 0
  return changed and { text = self.text } or nil
end

---@param result table<string, any>
function Document:answer(result)
  self.written = false
  accepted = { identity = identity(self.question), text = self.text }
  self:close()
  self.respond(result)
end

--- Send comments: the model revises the current text.
---@param comments table[]
function Document:send(comments)
  local left_out = self.comments:left_out(self.editor:unfinished(), 'g<CR>', false)
  if left_out and self.message ~= left_out then
    return self:redraw(left_out)
  end
  local value = vim.tbl_extend('error', self:changed_text() or {}, { comments = comments })
  self:answer({ accepted = false, value = value, reason = 'comments were sent to the model' })
end

---@return boolean whether the user edited it or wrote comments
function Document:is_changed()
  return self.text ~= self.proposed or self.editor:unfinished() or #self.comments:list() > 0
end

--- Decline the document; a changed one after a confirmation.
function Document:decline()
  local title = self.question.payload.title or ''
  local about = title ~= '' and title or 'document'
  local question = { about = about, back = 'back to it', decline = 'decline it', unchanged = not self:is_changed() }
  require('tideate.ui.questions.confirm_action').decline(question, function()
    return not self.dialog.closed
  end, function(reason)
    self:close()
    self.respond({ accepted = false, reason = reason })
  end)
end

--- Leave the document: its run waits.
function Document:leave()
  self:close()
  self.on_left()
end

function Document:focus()
  if self.editor:visible() then
    api.nvim_set_current_win(self.editor.win)
  else
    self.dialog:focus()
  end
end

---@return boolean
function Document:focused()
  return self.dialog:focused()
end

---@return boolean
function Document:in_code()
  return require('tideate.ui.window').visible(self.dialog.win) or self.editor:visible()
end

---@return boolean
function Document:ready()
  return self.dialog:ready()
end

--- Close the document. Unanswered edits are kept in their buffer.
function Document:close()
  self.comments:close()
  if not self.editor:unfinished() and not self.written then
    self.editor:close()
    return self.dialog:close()
  end
  self.editor:say_kept()
  self.dialog:close()
  local name = require('tideate.ui.questions.drafts').keep(identity(self.question), self.editor.buf)
  require('tideate.ui').warn(('what you wrote is kept in the buffer %s'):format(name))
end

function Document:next_page()
  vim.cmd('normal! ' .. vim.keycode('<C-f>'))
end

---@return tideate.Key[]
function Document:keys()
  local keys = require('tideate.ui.keys').of_methods(self, 'document', {
    { { 'y', '<CR>' }, 'yes', 'continue with the document as it stands here', 'accept' },
    { 'n', 'no', 'decline it; a changed one after a question', 'decline' },
    { 'e', 'edit', 'edit the text', 'edit' },
    { 'd', 'details', 'the details and your changes', 'details' },
    { '<Space>', 'more', 'the next page', 'next_page' },
    { 'q', 'leave', 'leave it: the run waits', 'leave' },
  })
  return self.comments:add_keys(keys, function(problem)
    self:redraw(problem)
  end)
end

---@param buf integer
function Document:set_filetype(buf)
  api.nvim_buf_call(buf, function()
    -- silent: without the markdown parser Neovim 0.12 reports an error
    vim.cmd({ cmd = 'setfiletype', args = { self.filetype }, mods = { emsg_silent = true } })
  end)
  if self.filetype == 'markdown' then
    pcall(vim.treesitter.start, buf, 'markdown')
  end
end

--- Create the editor; earlier edits of the same question return.
function Document:prepare()
  local edit = require('tideate.ui.questions.text_edit')
  local function take()
    self:take()
  end
  local draft = require('tideate.ui.questions.drafts').take(identity(self.question))
  if not draft then
    self.editor = edit.new(edit.buffer('document', self.question.execution_id, take))
    return self:set_filetype(self.editor.buf)
  end
  edit.attach(draft, take)
  self.editor = edit.new(draft)
  self.editor.win = vim.fn.win_findbuf(draft)[1]
  vim.bo[draft].modified = true
  self.message = 'your earlier text is kept: e shows it'
end

--- Open the review of a document.
---@param question tideate.Question payload: `tideate.DocumentPayload`
---@param respond fun(result: table<string, any>) called once, unless `on_left` is called; `value` is `{ text }` if it was changed
---@param on_left fun() the user left it or closed its window: the run waits
---@return tideate.Asked
function M.open(question, respond, on_left)
  local payload = question.payload ---@type tideate.DocumentPayload
  local problems = payload.problems or {}
  local before = accepted and accepted.identity == identity(question) and accepted.text or nil
  local self = setmetatable({
    question = question,
    proposed = payload.text,
    text = #problems > 0 and before or payload.text,
    filetype = (payload.filetype or ''):match('^[%w_.-]+$') or 'markdown',
    problems = problems,
    respond = respond,
    on_left = on_left,
  }, Document)
  self.comments = require('tideate.ui.questions.place_comments').new(question, 'line', {
    at_cursor = function()
      return self.rows[api.nvim_win_get_cursor(self.dialog.win)[1]]
    end,
    on_changed = function()
      self.message = nil
      self.dialog:show()
    end,
    state = function()
      return { text = self.text ~= self.proposed and self.text or nil }
    end,
    respond = function(comments)
      self:send(comments)
    end,
  })
  local found = self.comments.found
  self.text = found and type(found.text) == 'string' and found.text or self.text
  self:prepare()
  self.dialog = require('tideate.ui.questions.dialog').open({
    title = function()
      local title = require('tideate.ui.questions.confirm').title(question)()
      if payload.title and payload.title ~= '' then
        table.insert(title, 2, { ('· %s '):format(payload.title), 'TideateHint' })
      end
      return title
    end,
    keys = self:keys(),
    width = math.min(100, (require('tideate.ui.window').room()) - 4),
    markdown = self.filetype == 'markdown',
    cursor_from = self.comments.revisable and 0 or nil,
    lines = function(width)
      return self:lines(width)
    end,
    on_closed = function()
      self:leave()
    end,
  })
  return self
end

return M
