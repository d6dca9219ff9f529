--- Dialog in which the user reviews and edits a document before a run continues.
local M = {}

local api = vim.api
local text = require('tideate.ui.text')
local ui_keys = require('tideate.ui.keys')

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

---@class tideate.ui.Document: tideate.ProposalSubject
---@field question tideate.Question
---@field proposal tideate.Proposal
---@field proposed string
---@field text string current text
---@field filetype string
---@field problems string[]
---@field rows table<integer, integer> text lines by buffer row, 1-based
local Document = {
  kind = 'document',
  unit = 'line',
  noun = 'line',
  message_above = true,
  answers = {
    yes = 'continue with the document as it stands here',
    no = 'decline it; a changed one after a question',
    back = 'back to it',
    decline = 'decline it',
  },
}
Document.__index = Document

--- Last accepted text, shown again if it could not be used.
---@type { key: string, text: string }?
local accepted

---@param content string
---@return string
local function without_end(content)
  return (content:gsub('\n$', ''))
end

---@param width integer
---@return tideate.Chunk[][]
function Document:head(width)
  local lines = require('tideate.ui.questions.executed_files').lines(self.question, width)
  local function say(said, group)
    for _, line in ipairs(text.wrap(said, width - 2)) do
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
  vim.list_extend(lines, self.proposal:comment_lines(nil, width))
  if self.proposal.message then
    say(self.proposal.message, 'TideateWarning')
  elseif self:is_changed() then
    say('as you changed it; d shows the changes', 'TideateHint')
  elseif next(self.proposal.changed) then
    say(MARK .. ' changed in this revision', 'TideateHint')
  end
  return lines
end

---@param width integer
---@return tideate.Chunk[][]
function Document:lines(width)
  local lines = self:head(width)
  table.insert(lines, { { (' %s'):format(('─'):rep(width - 2)), 'TideateBorder' } })
  local shown, numbers = require('tideate.ui.text.readable').lines(without_end(self.text))
  self.rows = {}
  for index, line in ipairs(shown) do
    local number = numbers[index]
    local changed = not self:is_changed() and self.proposal.changed[number]
    local rows = { { { changed and MARK or ' ', changed and 'TideateChangeSign' or nil }, { line } } }
    if numbers[index + 1] ~= number then
      vim.list_extend(rows, self.proposal:comment_lines(number, width))
    end
    for _, row in ipairs(rows) do
      table.insert(lines, row)
      self.rows[#lines] = number
    end
  end
  return lines
end

---@param row integer
---@return integer? line
function Document:place_at(row)
  return self.rows[row]
end

---@return { text: string? }
function Document:state()
  return { text = self:is_changed() and self.text or nil }
end

--- Accept the text of the editor.
function Document:take()
  local before, editor = self.text, self.proposal.editor
  self.text = table.concat(editor:lines(), '\n') .. (self.proposed:sub(-1) == '\n' and '\n' or '')
  self.proposal:follow(before, self.text)
  self.proposal:keep()
  self.written = self:is_changed()
  editor:taken()
  self.proposal:redraw()
  self.proposal.dialog:focus()
end

--- Show the details and the user's changes.
function Document:details()
  local parts = {} ---@type string[]
  if (self.question.details or '') ~= '' then
    table.insert(parts, self.question.details)
  end
  if self:is_changed() then
    local changes = vim.diff(self.proposed, self.text, { ctxlen = 2 }) --[[@as string]]
    table.insert(parts, ('What you changed:\n\n```diff\n%s```'):format(changes))
  end
  if #parts == 0 then
    return self.proposal:redraw('there are no details; all of it stands here')
  end
  require('tideate.ui.questions.preview').open('details', table.concat(parts, '\n\n---\n\n'), 'markdown')
end

---@return { text: string }? value
function Document:value()
  -- after problems even an unchanged text differs from the first proposal
  local changed = self:is_changed() or #self.problems > 0
  return changed and { text = self.text } or nil
end

function Document:on_answer()
  self.written = false
  accepted = { key = self.proposal:key(), text = self.text }
end

---@return boolean
function Document:is_changed()
  return self.text ~= self.proposed
end

---@return string
function Document:summary()
  local title = self.question.payload.title or ''
  return title ~= '' and title or 'document'
end

---@return tideate.Key[]
function Document:keys()
  return {
    ui_keys.key('e', 'edit', 'edit the text', function()
      local lines = vim.split(without_end(self.text), '\n', { plain = true })
      self.proposal.editor:fill(lines)
      self.proposal.editor:open('edit: ' .. self:summary(), #lines + 2)
    end),
    ui_keys.key('d', 'details', 'the details and your changes', function()
      self:details()
    end),
    ui_keys.key('<Space>', 'more', 'the next page', function()
      vim.cmd('normal! ' .. vim.keycode('<C-f>'))
    end),
  }
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

--- Open the review of a document.
---@param question tideate.Question payload: `tideate.DocumentPayload`
---@param respond fun(result: table<string, any>) called once, unless `on_left` is called; `value` is `{ text }` if it was changed
---@param on_left fun() the user left it or closed its window: the run waits
---@return tideate.Asked
function M.open(question, respond, on_left)
  local payload = question.payload ---@type tideate.DocumentPayload
  local self = setmetatable({
    question = question,
    proposed = payload.text,
    text = payload.text,
    filetype = (payload.filetype or ''):match('^[%w_.-]+$') or 'markdown',
    problems = payload.problems or {},
  }, Document)
  local proposal = require('tideate.ui.questions.proposal').new(self, question, respond, on_left)
  self.proposal = proposal
  local found = proposal.found and proposal.found.text
  if type(found) == 'string' then
    self.text = found
  elseif #self.problems > 0 and accepted and accepted.key == proposal:key() then
    self.text = accepted.text
  end
  if not proposal.editor.again then
    self:set_filetype(proposal.editor.buf)
  end
  return proposal:open({
    title = function()
      local title = require('tideate.ui.questions.confirm').title(question)()
      if payload.title and payload.title ~= '' then
        table.insert(title, 2, { ('· %s '):format(payload.title), 'TideateHint' })
      end
      return title
    end,
    markdown = self.filetype == 'markdown',
    cursor_from = proposal.revisable and 0 or nil,
  })
end

return M
