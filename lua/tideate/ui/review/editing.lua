--- Editing of a hunk's new lines in a buffer.

local ui = require('tideate.ui')

---@class tideate.ReviewEditing: tideate.ReviewComments
local Editing = setmetatable({}, { __index = require('tideate.ui.review.comments') })

--- Return the reason that a hunk cannot be edited.
---@param unit tideate.ReviewUnit
---@return string?
function Editing.obstacle_to_edit(unit)
  local file = unit.entry.file
  if unit.entry.whole and (file.action ~= 'create' or file.whole) or #unit.proposed ~= 1 then
    return 'this file is decided about as a whole: there are no lines of it to edit'
  elseif not unit.own or require('tideate.ui.review.alternatives').adapter(unit) then
    return 'this is the hunk of another model: gm leads back to the one that can be edited'
  end
end

--- Return the initial lines: those of the hunk, or both versions if the user changed the lines as well.
---@param unit tideate.ReviewUnit
---@param now string[] current lines of the buffer
---@return string[]
local function first_lines(unit, now)
  if not unit.stale then
    return unit.hunks[1].new
  end
  return unit.offer and unit.offer.new or require('tideate.ui.review.merge').conflict(now, unit.hunks[1].new)
end

--- Return the current lines at the place of a hunk; nil if they are ambiguous.
---@param unit tideate.ReviewUnit
---@return string[]?
function Editing:lines_now(unit)
  local made = self:buffer(unit.entry.index)
  made.overlay:offer(unit)
  if unit.stale then
    return made.overlay:present_lines(unit)
  end
  return unit.hunks[1].old
end

--- Return whether lines are refused, after a message.
---@param lines string[]
---@param versions string[][]? both versions of a conflict
---@return boolean
local function refused(lines, versions)
  if require('tideate.ui.review.merge').has_marks(lines, versions) then
    ui.warn('the lines of both are still there: leave what is to stand, and take the marks <<<<<<<, ======= and >>>>>>> out')
    return true
  end
  local broken = vim.iter(lines):any(function(line)
    return line:find('\n', 1, true) ~= nil -- Neovim's form of NUL
  end)
  if broken then
    ui.warn('a line with a NUL byte cannot be taken')
  end
  return broken
end

--- Replace the lines of a hunk.
---@param unit tideate.ReviewUnit
---@param base string[] replaced lines
---@param lines string[]
---@param none boolean all lines were deleted
function Editing:take_edit(unit, base, lines, none)
  if none and unit.entry.file.action ~= 'create' then
    lines = {}
  end
  local proposed, comment = unit.proposed[1], unit.comment
  local decision = { unit = unit, state = 'accepted', comment = comment and not comment.because and comment or nil }
  if vim.deep_equal(lines, base) and unit.entry.file.action ~= 'create' then
    decision.state, decision.edit, decision.comment = 'rejected', false, comment
    ui.warn('these are the lines as they stand: the hunk is rejected')
  elseif vim.deep_equal({ base, lines }, { proposed.old, proposed.new }) then
    decision.edit = false
  else
    decision.edit = { start = proposed.start, old = base, new = lines }
  end
  self:change({ decision })
  self:anchor({ decision })
  self:advance()
end

--- Edit the new lines of the hunk under the cursor. `:w` accepts them, `:q` leaves the hunk as it is.
function Editing:edit_hunk()
  self:draw()
  local unit = self:unit_to_write_about()
  if not unit then
    return
  end
  local obstacle = Editing.obstacle_to_edit(unit)
  local now = not obstacle and self:lines_now(unit)
  if not now then
    return ui.warn(obstacle or 'you changed lines here that reach beyond the hunk: undo that, or reject the hunk')
  end
  local edit = self:text_about('edit', unit)
  if not (edit:unfinished() and edit.begun) then
    local both = unit.stale and not unit.offer and { now, unit.hunks[1].new } or nil
    edit.begun = { base = now, versions = both }
  end
  edit.refuses = function(lines)
    return refused(lines, edit.begun.versions)
  end
  edit.on_text = function(lines, none)
    self:take_edit(unit, edit.begun.base, lines, none)
  end
  if edit:visible() then
    return vim.api.nvim_set_current_win(edit.win)
  end
  edit:fill(first_lines(unit, now), true)
  self:dress(edit.buf, unit)
  local name = require('tideate.ui.review.keys').name(unit.entry.file)
  edit:open(('edit hunk %d of %s'):format(unit.number, name), #edit:lines() + 2)
end

--- Set syntax and indentation as in the file.
---@param buf integer
---@param unit tideate.ReviewUnit
function Editing:dress(buf, unit)
  local from = vim.bo[self:buffer(unit.entry.index).buf]
  for _, name in ipairs({ 'expandtab', 'shiftwidth', 'softtabstop', 'tabstop' }) do
    vim.bo[buf][name] = from[name]
  end
  local scratch = require('tideate.ui.review.scratch_buffer')
  scratch.colour(buf, scratch.filetype(unit.entry.file))
end

return Editing
