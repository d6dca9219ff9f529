--- Texts that the user writes in a review: comments on hunks, reasons, and other lines for a hunk.
local M = {}

local ui = require('tideate.ui')
local buffers = require('tideate.ui.review.buffers')
local decisions = require('tideate.ui.review.decisions')
local merge = require('tideate.ui.review.merge')
local model = require('tideate.ui.review.model')
local walk = require('tideate.ui.review.walk')
local to_comment = require('tideate.ui.questions.comment_texts').comment

--- Return the changed lines of a unit, independent of its position.
---@param unit tideate.ReviewUnit
---@return string
local function lines_of(unit)
  local hunks = unit.variants and { unit.variants[1].hunk } or unit.proposed
  return vim.json.encode(vim.tbl_map(function(hunk)
    return { hunk.old, hunk.new }
  end, hunks))
end

--- Return the key of a text for the next review of the same change. A unit is named by its lines, and numbered among
--- equal ones.
---@param review tideate.Review
---@param kind 'comment'|'edit'
---@param about tideate.ReviewUnit|tideate.ReviewModel
---@return string
function M.identity(review, kind, about)
  local question, name = review.question, ''
  if about ~= review.model then
    local lines, same = lines_of(about --[[@as tideate.ReviewUnit]]), 1
    for number = 1, about.number - 1 do
      same = same + (lines_of(about.entry.units[number]) == lines and 1 or 0)
    end
    name = ('%s %s %d'):format(about.entry.file.path, vim.fn.sha256(lines), same)
  end
  return ('%s %s %s %d %s'):format(kind, question.execution_id, question.step, review.model.revision, name)
end

--- Reject the hunk under the cursor with a reason.
---@param review tideate.Review
---@param in_buffer boolean the reason may have several lines
function M.reject_because(review, in_buffer)
  local unit = walk.unit_to_write_about(review)
  if unit then
    review.texts:ask(in_buffer, 'Reject, because', unit, function(text)
      decisions.change(review, { { unit = unit, state = 'rejected', comment = to_comment(text, true) } })
      walk.advance(review)
    end)
  end
end

--- Comment on the hunk under the cursor.
---@param review tideate.Review
function M.comment_on_hunk(review)
  local unit = walk.unit_to_write_about(review)
  if unit then
    review.texts:ask(false, 'Comment', unit, function(text)
      decisions.change(review, { { unit = unit, state = unit.state, comment = to_comment(text) } })
      review:draw()
    end)
  end
end

--- Comment on the whole change.
---@param review tideate.Review
function M.comment_on_all(review)
  review.texts:ask(true, 'What is to change?', review.model, function(text)
    decisions.change(review, { { unit = review.model, comment = to_comment(text) } })
    review:draw_bars()
  end)
end

--- Return whether lines are refused, after a message.
---@param lines string[]
---@param versions string[][]? both versions of a conflict
---@return boolean
local function refused(lines, versions)
  local problem ---@type string?
  if merge.has_marks(lines, versions) then
    problem = 'both versions are still there: keep the wanted lines and remove the marks <<<<<<<, ======= and >>>>>>>'
  elseif table.concat(lines):find('\n', 1, true) then -- Neovim's form of NUL
    problem = 'a line with a NUL byte cannot be taken'
  end
  if problem then
    ui.warn(problem)
  end
  return problem ~= nil
end

--- Replace the lines of a hunk.
---@param review tideate.Review
---@param unit tideate.ReviewUnit
---@param base string[] replaced lines
---@param lines string[]
---@param none boolean all lines were deleted
local function take(review, unit, base, lines, none)
  local created = unit.entry.file.action == 'create'
  lines = none and not created and {} or lines
  local proposed, comment = unit.proposed[1], unit.comment
  local decision = { unit = unit, state = 'accepted', comment = comment and not comment.because and comment or nil }
  if vim.deep_equal(lines, base) and not created then
    decision.state, decision.edit, decision.comment = 'rejected', false, comment
    ui.warn('these are the lines as they stand: the hunk is rejected')
  elseif vim.deep_equal({ base, lines }, { proposed.old, proposed.new }) then
    decision.edit = false
  else
    decision.edit = { start = proposed.start, old = base, new = lines }
  end
  decisions.change(review, { decision })
  walk.advance(review)
end

--- Return the current lines at the place of a hunk; nil if they are ambiguous.
---@param review tideate.Review
---@param unit tideate.ReviewUnit
---@return string[]?
local function lines_now(review, unit)
  local overlay = buffers.get(review, unit.entry.index).overlay
  overlay:offer(unit)
  if unit.stale then
    return overlay:present_lines(unit)
  end
  return unit.hunks[1].old
end

--- Set syntax and indentation as in the file.
---@param review tideate.Review
---@param buf integer
---@param unit tideate.ReviewUnit
local function dress(review, buf, unit)
  local from = vim.bo[buffers.get(review, unit.entry.index).buf]
  for _, name in ipairs({ 'expandtab', 'shiftwidth', 'softtabstop', 'tabstop' }) do
    vim.bo[buf][name] = from[name]
  end
  local scratch = require('tideate.ui.review.scratch_buffer')
  scratch.colour(buf, scratch.filetype(unit.entry.file))
end

--- Edit the new lines of the hunk under the cursor, or both versions if the user changed the lines as well. `:w` accepts
--- them, `:q` leaves the hunk as it is.
---@param review tideate.Review
function M.edit_hunk(review)
  review:draw()
  local unit = walk.unit_to_write_about(review)
  if not unit then
    return
  end
  local obstacle = model.obstacle_to_edit(unit)
  local now = not obstacle and lines_now(review, unit)
  if not now then
    return ui.warn(obstacle or 'you changed lines here that reach beyond the hunk: undo that, or reject the hunk')
  end
  local edit, new = review.texts:text_about('edit', unit), unit.hunks[1].new
  local both = unit.stale and not unit.offer or unit.conflict and not unit.edit and #now > 0
  if not (edit:unfinished() and edit.begun) then
    edit.begun = { base = now, versions = both and { now, new } or nil }
  end
  edit.refuses = function(lines)
    return refused(lines, edit.begun.versions)
  end
  edit.on_text = function(lines, none)
    take(review, unit, edit.begun.base, lines, none)
  end
  if both then
    new = merge.conflict(now, new)
  elseif unit.stale then
    new = unit.offer.new
  end
  if not edit:visible() then
    edit:fill(new, true)
    dress(review, edit.buf, unit)
  end
  edit:open(('edit hunk %d of %s'):format(unit.number, model.name(unit.entry.file)), #edit:lines() + 2)
end

return M
