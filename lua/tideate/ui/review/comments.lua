--- Reasons and comments of a person in a review. They go to the model that made the edit, in one round.

---@class tideate.ReviewComment
---@field text string
---@field because boolean? the reason of a rejection

---@class tideate.ReviewComments: tideate.ReviewDecisions
local Comments = setmetatable({}, { __index = require('tideate.ui.review.decisions') })

local BLANKS = ' \t\n\v\f\r\xc2\xa0\xe1\x9a\x80\xe3\x80\x80' -- and those of other keyboards: a comment of them says nothing

--- The comment that a text is; none where there is no text.
---@param text string
---@param because boolean?
---@return tideate.ReviewComment?
local function comment(text, because)
  text = vim.fn.trim(vim.trim(text), BLANKS)
  return text ~= '' and { text = text, because = because } or nil
end

--- Ask for a line.
---@param prompt string
---@param before tideate.ReviewComment?
---@param on_text fun(text: string)
function Comments:ask_line(prompt, before, on_text)
  local first = before and before.text or ''
  if first:find('\n') then
    return self:ask_lines(prompt, before, on_text)
  end
  vim.ui.input({ prompt = prompt .. ': ', default = first }, function(text)
    if text and not self.closed then
      on_text(text)
    end
  end)
end

--- Ask for a text of several lines, in a buffer.
---@param title string
---@param before tideate.ReviewComment?
---@param on_text fun(text: string)
function Comments:ask_lines(title, before, on_text)
  local text_edit = require('tideate.ui.text_edit')
  local edit ---@type tideate.TextEdit
  local buf = text_edit.buffer('comment', self.question.execution_id, function()
    local text = table.concat(edit:lines(), '\n')
    edit:taken()
    edit:close()
    if not self.closed then
      on_text(text)
    end
  end)
  edit = text_edit.new(buf)
  edit:fill(vim.split(before and before.text or '', '\n', { plain = true }))
  edit:open(title, 8)
end

--- Reject the hunk under the cursor with a reason.
---@param in_buffer boolean the reason may have several lines
function Comments:reject_because(in_buffer)
  local unit = self:unit_at_cursor()
  if not unit then
    return self:step(1)
  end
  local ask = in_buffer and self.ask_lines or self.ask_line
  ask(self, 'Reject, because', unit.comment, function(text)
    self:change({ { unit = unit, state = 'rejected', comment = comment(text, true) } })
    self:advance()
  end)
end

--- Comment on the hunk under the cursor, whatever is decided of it.
function Comments:comment_on_hunk()
  local unit = self:unit_at_cursor()
  if not unit then
    return self:step(1)
  end
  self:ask_line('Comment', unit.comment, function(text)
    self:change({ { unit = unit, state = unit.state, comment = comment(text) } })
    self:draw()
  end)
end

--- Comment on all of the change.
function Comments:comment_on_all()
  self:ask_lines('What is to change?', self.model.comment, function(text)
    self:change({ { unit = self.model, comment = comment(text) } })
    self:draw_bars()
  end)
end

--- Lines that show a comment below its hunk.
---@param one tideate.ReviewComment?
---@param width integer
---@return tideate.Chunk[][]
function Comments.lines(one, width)
  local text, lines = require('tideate.ui.text'), {} ---@type tideate.Chunk[][]
  for _, line in ipairs(one and vim.split(one.text, '\n', { plain = true }) or {}) do
    for _, part in ipairs(text.wrap(text.plain(line), math.max(20, width - 4))) do
      table.insert(lines, { { (#lines == 0 and ' » ' or '   ') .. part, 'TideateComment' } })
    end
  end
  return lines
end

return Comments
