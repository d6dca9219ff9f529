--- Texts of comments being typed, on a line or in a buffer. They outlive their question.

local text = require('tideate.ui.text')
local text_edit = require('tideate.ui.questions.text_edit')

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
---@param said string
---@param because boolean?
---@return tideate.ReviewComment?
function M.comment(said, because)
  said = vim.fn.trim(vim.trim(said), BLANKS)
  return said ~= '' and { text = said, because = because } or nil
end

--- Return the text begun about a subject, in this or an earlier question.
---@param kind 'comment'|'edit'
---@param about table
---@return tideate.CommentEdit
function Texts:text_about(kind, about)
  local key = self.identity(kind, about)
  local edit = self.texts[key]
  if edit and vim.api.nvim_buf_is_loaded(edit.buf) then
    return edit
  end
  edit = text_edit.resume(key, kind, self.question.execution_id, function()
    local lines = edit:lines()
    if edit.refuses and edit.refuses(lines) then
      return
    end
    self.texts[key] = nil
    local none = edit:deleted()
    edit:taken()
    edit:close()
    edit.on_text(lines, none)
  end) --[[@as tideate.CommentEdit]]
  self.texts[key] = edit
  return edit
end

--- Ask for a line or, in a buffer, for several: `:q` keeps the text for the next time.
---@param in_buffer boolean
---@param prompt string
---@param about table
---@param on_text fun(text: string)
function Texts:ask(in_buffer, prompt, about, on_text)
  local before = about.comment and about.comment.text or ''
  if in_buffer or before:find('\n') then
    local edit = self:text_about('comment', about)
    edit.on_text = function(lines)
      on_text(table.concat(lines, '\n'))
    end
    edit:fill(vim.split(before, '\n', { plain = true }))
    return edit:open(prompt, 8)
  end
  vim.ui.input({ prompt = prompt .. ': ', default = before }, function(said)
    vim.api.nvim_echo({ { '' } }, false, {}) -- else the typed text stays in the command line
    if said and not self.closed then
      on_text(said)
    elseif said and M.comment(said) then
      local edit = self:text_about('comment', about)
      edit:fill({ said })
      vim.bo[edit.buf].modified = true
      self:keep()
    end
  end)
end

--- Keep unfinished texts in their buffers after the question ended.
function Texts:keep()
  self.closed = true
  for key, edit in pairs(self.texts) do
    if edit:unfinished() then
      edit:keep(key, ('the %s you began'):format(key:match('^%a+')))
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
  local lines = {} ---@type tideate.Chunk[][]
  for _, part in ipairs(one and text.wrap(one.text, math.max(20, width - 4)) or {}) do
    table.insert(lines, { { (#lines == 0 and ' » ' or '   ') .. part, 'TideateComment' } })
  end
  return lines
end

return M
