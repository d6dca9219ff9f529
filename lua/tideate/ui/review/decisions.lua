--- Actions of the user in a review: accept, reject or reopen a hunk, selection, file or everything; finish.
local M = {}

local ui = require('tideate.ui')
local alternatives = require('tideate.ui.review.alternatives')
local walk = require('tideate.ui.review.walk')
local text = require('tideate.ui.text')

--- Anchor hunks that replaced others, once a file.
---@param review tideate.Review
---@param decisions tideate.ReviewDecision[]
local function anchor(review, decisions)
  local anew = false
  for _, one in ipairs(decisions) do
    local unit = one.unit
    -- a file without a buffer is anchored when it is opened
    local made = unit ~= review.model and review.buffers[unit.entry.index]
    if made and not made.overlay:holds(unit) then
      if made.overlay.creates then
        require('tideate.ui.review.scratch_buffer').fill(made.buf, unit.hunks[1].new)
      end
      made.overlay:anchor()
      anew = true
    end
  end
  if anew then
    review.side:write_anew()
  end
end

--- Make decisions as one step.
---@param review tideate.Review
---@param decisions tideate.ReviewDecision[]
function M.change(review, decisions)
  review.history:change(decisions)
  anchor(review, decisions)
end

--- Decide about the hunk under the cursor.
---@param review tideate.Review
---@param state 'accepted'|'rejected'
function M.decide(review, state)
  review:draw()
  local unit = walk.unit(review)
  if not unit then
    return walk.step(review, 1)
  end
  local decision = { unit = unit, state = state, comment = unit.comment }
  if state == 'accepted' then
    local made = review.buffers[unit.entry.index]
    decision.edit = made and made.overlay:offer(unit)
    if unit.stale and not decision.edit then
      local words = 'you changed these lines, too: ge merges both by hand; or undo that, or %s the hunk'
      return ui.warn(words:format(review.model:words().reject))
    elseif alternatives.conflicts(unit.entry)(unit) then
      return ui.warn('a hunk that you accepted changes these lines, too: reject one of them')
    elseif unit.comment and unit.comment.because then
      decision.comment = nil
    end
  end
  M.change(review, { decision })
  walk.advance(review)
end

--- Return the decisions for several units.
---@param units tideate.ReviewUnit[]
---@param state 'open'|'accepted'|'rejected'
---@return tideate.ReviewDecision[] decisions
---@return integer stale number of units that cannot be accepted
---@return integer conflicts number of units that only a decision of their own accepts
local function decisions_for(units, state)
  local decisions, stale, left = {}, 0, 0 ---@type tideate.ReviewDecision[], integer, integer
  local reopens, accepts = state == 'open', state == 'accepted'
  local conflicts = vim.defaulttable(alternatives.conflicts)
  for _, unit in ipairs(units) do
    local fits = reopens ~= (unit.state == 'open')
    if fits and accepts and unit.stale then
      stale = stale + 1
    elseif fits and accepts and unit.conflict then
      left = left + 1
    elseif fits then
      local clashes = accepts and conflicts[unit.entry](unit)
      local because = reopens and unit.comment and unit.comment.because
      local comment = not because and unit.comment or nil
      table.insert(decisions, { unit = unit, state = clashes and 'rejected' or state, comment = comment })
    end
  end
  return decisions, stale, left
end

--- Update which hunks the user changed, in hidden buffers as well.
---@param review tideate.Review
local function check(review)
  for _, made in pairs(review.buffers) do
    made.overlay:check()
  end
end

--- Decide about several units at once: accept or reject open ones, or reopen decided ones.
---@param review tideate.Review
---@param units tideate.ReviewUnit[]
---@param state 'open'|'accepted'|'rejected'
---@param what string name of the units in messages
local function decide_units(review, units, state, what)
  check(review)
  local decisions, stale, left = decisions_for(units, state)
  if left > 0 then
    ui.warn(('%s left: ga accepts one and replaces your lines'):format(left == 1 and '1 conflict is' or left .. ' conflicts are'))
  end
  if stale > 0 then
    local words = stale == 1 and '1 hunk is left: you changed its lines' or '%d hunks are left: you changed their lines'
    ui.warn(words:format(stale))
  end
  if #decisions > 0 then
    review.history:change(decisions)
  elseif stale + left == 0 and state == 'open' then
    return ui.notify(('nothing of %s is decided'):format(what))
  elseif stale + left == 0 and review.model.counts.open > 0 then
    return ui.notify(('nothing of %s is open: go, gfo and gO reopen decided hunks'):format(what))
  end
  if state == 'open' then
    return review:draw()
  end
  walk.advance(review)
end

--- Decide about everything, in all files.
---@param review tideate.Review
---@param state 'open'|'accepted'|'rejected'
function M.decide_all(review, state)
  decide_units(review, review.model:units(), state, 'the change')
end

--- Accept all open hunks of an `edit` and finish its review, if the cursor is in a hunk.
---@param review tideate.Review
function M.keep(review)
  review:draw()
  if walk.unit(review) then
    return M.decide_all(review, 'accepted')
  end
  vim.api.nvim_feedkeys('\r', 'n', false)
end

--- Decide about a file.
---@param review tideate.Review
---@param state 'open'|'accepted'|'rejected'
function M.decide_file(review, state)
  local files = review.files
  local units = files:focused() and files:units() or review.model.entries[review.current].units
  decide_units(review, units, state, 'this file')
end

--- Decide about the hunks in the selected lines.
---@param review tideate.Review
---@param state 'open'|'accepted'|'rejected'
function M.decide_selection(review, state)
  local first, last = vim.fn.line('v'), vim.fn.line('.')
  vim.cmd.normal({ '\27', bang = true })
  local units = walk.units_between(review, math.min(first, last) - 1, math.max(first, last) - 1)
  decide_units(review, units, state, 'the selection')
end

--- Reopen the hunk under the cursor.
---@param review tideate.Review
function M.reopen(review)
  local unit = walk.unit(review)
  if not unit then
    return walk.step(review, 1)
  end
  decide_units(review, { unit }, 'open', 'this hunk')
end

--- Show the hunk of the next model at this place; the own one follows the last.
---@param review tideate.Review
function M.mix(review)
  review:draw()
  local unit = walk.unit(review)
  local count = unit and #(unit.variants or {}) or 0
  if not unit or count < 2 then
    return ui.notify(count == 1 and 'only this model changes these lines; ga accepts the hunk' or 'no other model has a hunk here')
  end
  local decision = { unit = unit, state = 'open', comment = unit.comment, variant = unit.variant % count + 1 }
  if unit.edit then
    decision.edit = false
  end
  M.change(review, { decision })
  walk.go_to(review, unit)
  local adapter = alternatives.adapter(unit) or review.question.payload.adapter
  ui.notify(("showing the hunk from the adapter '%s'"):format(text.name(adapter)))
end

--- Undo or redo a step and go to its hunk.
---@param review tideate.Review
---@param from 'past'|'future'
function M.travel(review, from)
  local decisions ---@type tideate.ReviewDecision[]?
  repeat
    decisions = review.history:move(from)
    if not decisions then
      return ui.notify(from == 'past' and 'there is no earlier decision' or 'there is no later decision')
    end
    review.history:write({ again = from })
  until #decisions > 0 -- an unreadable step has no decisions
  local unit = decisions[1].unit
  if unit == review.model then
    ui.notify(('comment on all of it: %s'):format(unit.comment and unit.comment.text or 'none'))
    return review:draw()
  end
  anchor(review, decisions)
  walk.go_to(review, unit --[[@as tideate.ReviewUnit]])
end

--- Report the result of the review.
---@param model tideate.ReviewModel
local function report(model)
  local count, said = model.counts, model:said()
  if model.written then
    local words = 'review finished: %d of %d kept, %d reverted'
    return ui.notify(words:format(count.total - count.rejected, count.total, count.rejected))
  end
  local words = ('review finished: %d of %d accepted'):format(count.accepted, count.total)
  if count.open > 0 then
    words = ('%s, %s left out'):format(words, text.counted(count.open, 'hunk'))
  end
  if said > 0 then
    words = ('%s, %s to the %s'):format(words, text.counted(said, 'comment'), model.collects and 'agent' or 'model')
  end
  ui.notify(words)
end

--- Reopen accepted hunks whose lines the user changed since: they cannot be written, and the user's edits must not be
--- lost.
---@param review tideate.Review
---@return boolean opened
local function reopen_changed(review)
  local changed = vim.tbl_filter(function(unit)
    return unit.stale and unit.state == 'accepted'
  end, review.model:units())
  if #changed == 0 or review.model.written then
    return false
  end
  review.history:change(vim.tbl_map(function(unit)
    return { unit = unit, state = 'open', comment = unit.comment }
  end, changed))
  walk.go_to(review, changed[1])
  local which = #changed == 1 and '1 hunk that you had accepted: it is open again' or '%d hunks that you had accepted: they are open again'
  local count = review.model.counts
  local left = count.open < count.total and '; g<CR> again leaves out open hunks' or ''
  ui.warn(('you changed the lines of %s%s'):format(which:format(#changed), left))
  return true
end

--- Decline the change after a confirmation.
---@param review tideate.Review
function M.ask_to_decline(review)
  local model = review.model
  local question = { about = model:summary(), back = 'back to the review', decline = model:words().decline }
  require('tideate.ui.questions.confirm_action').decline(question, function()
    return not review.closed
  end, function(reason)
    review:decline(reason)
  end)
end

--- Answer with the decisions; open hunks are left out.
---@param review tideate.Review
function M.finish(review)
  review:draw()
  check(review)
  local model = review.model
  local count, silent = model.counts, model:said() == 0
  if count.open == count.total and count.total > 0 and silent then
    local words = model:words()
    return ui.notify(('nothing is decided yet: gA to %s all, gR to %s all'):format(words.accept, words.reject))
  elseif reopen_changed(review) then
    return
  end
  local result = model:result()
  if not result.accepted and silent and not (model.collects and count.rejected > 0) then
    return M.ask_to_decline(review)
  end
  review:close()
  report(model)
  review.respond(result)
end

return M
