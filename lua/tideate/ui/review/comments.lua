--- Reasons and comments of a review. They go to the model in one round.

local texts = require('tideate.ui.comment_texts')
local comment = texts.comment

---@class tideate.ReviewComment
---@field text string
---@field because boolean? whether it is the reason of a rejection

---@class tideate.ReviewComments: tideate.ReviewDecisions, tideate.CommentTexts
local decisions = require('tideate.ui.review.decisions')
local Comments = setmetatable({}, {
  __index = function(_, name)
    return texts[name] or decisions[name]
  end,
})

--- Return the changed lines of a unit, independent of its position.
---@param unit tideate.ReviewUnit
---@return string
local function lines_of(unit)
  local hunks = unit.variants and { unit.variants[1].hunk } or unit.proposed
  return vim.json.encode(vim.tbl_map(function(hunk)
    return { hunk.old, hunk.new }
  end, hunks))
end

--- Return a name of a unit by its lines, numbered among equal ones, for the next review.
---@param unit tideate.ReviewUnit
---@return string
local function name_of(unit)
  local lines, same = lines_of(unit), 1
  for number = 1, unit.number - 1 do
    same = same + (lines_of(unit.entry.units[number]) == lines and 1 or 0)
  end
  return ('%s %s %d'):format(unit.entry.file.path, vim.fn.sha256(lines), same)
end

--- Return the key of a text, for the next review of the same change.
---@param kind 'comment'|'edit'
---@param about tideate.ReviewUnit|tideate.ReviewModel
---@return string
function Comments:identity(kind, about)
  local name = about ~= self.model and name_of(about --[[@as tideate.ReviewUnit]]) or ''
  local question = self.question
  return ('%s %s %s %d %s'):format(kind, question.execution_id, question.step, self.model.revision, name)
end

--- Reject the hunk under the cursor with a reason.
---@param in_buffer boolean the reason may have several lines
function Comments:reject_because(in_buffer)
  local unit = self:unit_to_write_about()
  if not unit then
    return
  end
  local ask = in_buffer and self.ask_lines or self.ask_line
  ask(self, 'Reject, because', unit, function(text)
    self:change({ { unit = unit, state = 'rejected', comment = comment(text, true) } })
    self:advance()
  end)
end

--- Comment on the hunk under the cursor.
function Comments:comment_on_hunk()
  local unit = self:unit_to_write_about()
  if not unit then
    return
  end
  self:ask_line('Comment', unit, function(text)
    self:change({ { unit = unit, state = unit.state, comment = comment(text) } })
    self:draw()
  end)
end

--- Comment on the whole change.
function Comments:comment_on_all()
  self:ask_lines('What is to change?', self.model, function(text)
    self:change({ { unit = self.model, comment = comment(text) } })
    self:draw_bars()
  end)
end

return Comments
