--- Texts of comments being typed, on a line or in a buffer. They outlive their question.

---@class tideate.CommentEdit: tideate.TextEdit
---@field on_text fun(lines: string[], none: boolean) none: all lines were deleted
---@field refuses? fun(lines: string[]): boolean returns whether the lines are refused, after a message
---@field begun? { base: string[], versions: string[][]? } base: replaced lines; versions: both sides of a conflict

---@class tideate.CommentTexts
---@field question tideate.Question
---@field closed boolean
---@field texts table<string, tideate.CommentEdit> open texts by subject
---@field identity fun(kind: 'comment'|'edit', about: table): string
local Texts = {}
Texts.__index = Texts

local M = {}

---@param question tideate.Question
---@param identity fun(kind: 'comment'|'edit', about: table): string key of a text, for the next question about the same subject
---@return tideate.CommentTexts
function M.new(question, identity)
  return setmetatable({ question = question, identity = identity, closed = false, texts = {} }, Texts)
end

local BLANKS = ' \t\n\v\f\r\xc2\xa0\xe1\x9a\x80\xe3\x80\x80' -- blanks of other keyboards: a comment of blanks is empty

--- Return a comment with a text; nil for a blank text.
---@param text string
---@param because boolean?
---@return tideate.ReviewComment?
function M.comment(text, because)
  text = vim.fn.trim(vim.trim(text), BLANKS)
  return text ~= '' and { text = text, because = because } or nil
end

--- Return the text begun about a subject, in this or an earlier question.
---@param kind 'comment'|'edit'
---@param about table
---@return tideate.CommentEdit
function Texts:text_about(kind, about)
  local text_edit, key = require('tideate.ui.questions.text_edit'), self.identity(kind, about)
  local edit = self.texts[key]
  if edit and vim.api.nvim_buf_is_loaded(edit.buf) then
    return edit
  end
  local function take()
    local lines = edit:lines()
    if edit.refuses and edit.refuses(lines) then
      return
    end
    self.texts[key] = nil
    local none = edit:deleted()
    edit:taken()
    edit:close()
    edit.on_text(lines, none)
  end
  local kept, begun = require('tideate.ui.questions.drafts').take(key)
  if kept then
    text_edit.attach(kept, take)
    vim.bo[kept].modified = true
  end
  edit = text_edit.new(kept or text_edit.buffer(kind, self.question.execution_id, take)) --[[@as tideate.CommentEdit]]
  edit.begun = begun
  edit.win = kept and vim.fn.win_findbuf(kept)[1]
  self.texts[key] = edit
  return edit
end

--- Ask for a line or, in a buffer, for several.
---@param in_buffer boolean
---@param prompt string
---@param about table
---@param on_text fun(text: string)
function Texts:ask(in_buffer, prompt, about, on_text)
  return (in_buffer and self.ask_lines or self.ask_line)(self, prompt, about, on_text)
end

--- Ask for a line.
---@private
---@param prompt string
---@param about table
---@param on_text fun(text: string)
function Texts:ask_line(prompt, about, on_text)
  local first = about.comment and about.comment.text or ''
  if first:find('\n') then
    return self:ask_lines(prompt, about, on_text)
  end
  vim.ui.input({ prompt = prompt .. ': ', default = first }, function(text)
    vim.api.nvim_echo({ { '' } }, false, {}) -- else the typed text stays in the command line
    if text and not self.closed then
      on_text(text)
    elseif text and M.comment(text) then
      local edit = self:text_about('comment', about)
      edit:fill(vim.split(text, '\n', { plain = true }))
      vim.bo[edit.buf].modified = true
      self:keep()
    end
  end)
end

--- Ask for several lines in a buffer. `:q` keeps the text for the next time.
---@param title string
---@param about table
---@param on_text fun(text: string)
function Texts:ask_lines(title, about, on_text)
  local edit = self:text_about('comment', about)
  edit.on_text = function(lines)
    on_text(table.concat(lines, '\n'))
  end
  if edit:visible() then
    return vim.api.nvim_set_current_win(edit.win)
  end
  edit:fill(vim.split(about.comment and about.comment.text or '', '\n', { plain = true }))
  edit:open(title, 8)
end

--- Keep unfinished texts in their buffers after the question ended.
function Texts:keep()
  self.closed = true
  for key, edit in pairs(self.texts) do
    if edit:unfinished() then
      edit:say_kept()
      local name = require('tideate.ui.questions.drafts').keep(key, edit.buf, edit.begun)
      require('tideate.ui').warn(('the %s you began is kept in the buffer %s'):format(key:match('^%a+'), name))
    else
      edit:close()
    end
  end
  self.texts = {}
end

--- Return the lines that show a comment.
---@param one tideate.ReviewComment?
---@param width integer
---@return tideate.Chunk[][]
function M.lines(one, width)
  local text, lines = require('tideate.ui.text'), {} ---@type tideate.Chunk[][]
  for _, line in ipairs(one and vim.split(one.text, '\n', { plain = true }) or {}) do
    for _, part in ipairs(text.wrap(text.plain(line), math.max(20, width - 4))) do
      table.insert(lines, { { (#lines == 0 and ' » ' or '   ') .. part, 'TideateComment' } })
    end
  end
  return lines
end

return M
