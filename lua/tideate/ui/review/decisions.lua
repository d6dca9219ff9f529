--- Decisions in a review: accept, reject, finish.

local ui = require('tideate.ui')

---@class tideate.ReviewDecisions: tideate.ReviewNavigation
---@field write_decisions fun(self, decisions: tideate.ReviewDecision[])
---@field write_down fun(self, step: table)
local Decisions = setmetatable({}, { __index = require('tideate.ui.review.navigation') })

---@class tideate.ReviewDecision
---@field unit tideate.ReviewUnit|tideate.ReviewModel the model: a comment on the whole change
---@field state? 'open'|'accepted'|'rejected' of a hunk
---@field comment? tideate.ReviewComment
---@field variant? integer shown variant
---@field edit? tideate.Hunk|false the user's version of the hunk; false: as proposed

---@param model tideate.ReviewModel
---@param decisions tideate.ReviewDecision[]
---@return tideate.ReviewDecision[] before
local function carry_out(model, decisions)
  local before = {}
  for _, one in ipairs(decisions) do
    local unit = one.unit
    local was = { unit = unit, state = unit.state, comment = unit.comment }
    local variant = one.variant ~= unit.variant and one.variant or nil
    if variant then
      was.variant = unit.variant
    end
    if variant or one.edit ~= nil then
      was.edit = unit.edit or false
    end
    table.insert(before, was)
    if one.unit == model then
      model.comment = one.comment
    else
      model:set(one.unit --[[@as tideate.ReviewUnit]], one.state, one.comment)
    end
    if variant then
      require('tideate.ui.review.alternatives').show(one.unit --[[@as tideate.ReviewUnit]], variant)
    end
    if one.edit ~= nil then
      require('tideate.ui.review.model').edit(one.unit --[[@as tideate.ReviewUnit]], one.edit)
    end
  end
  return before
end

--- Make decisions as one step that `gu` undoes.
---@param decisions tideate.ReviewDecision[]
function Decisions:make(decisions)
  table.insert(self.past, carry_out(self.model, decisions))
  self.future = {}
end

--- Undo or redo a step.
---@param from 'past'|'future'
---@return tideate.ReviewDecision[]? decisions nil without such a step
function Decisions:move(from)
  local decisions = table.remove(self[from])
  if decisions then
    table.insert(from == 'past' and self.future or self.past, carry_out(self.model, decisions))
  end
  return decisions
end

--- Make decisions and store them.
---@param decisions tideate.ReviewDecision[]
function Decisions:change(decisions)
  self:make(decisions)
  self:write_decisions(decisions)
end

--- Undo or redo a step and go to its hunk.
---@param from 'past'|'future'
function Decisions:travel(from)
  local decisions ---@type tideate.ReviewDecision[]?
  repeat
    decisions = self:move(from)
    if not decisions then
      return ui.notify(from == 'past' and 'there is no earlier decision' or 'there is no later decision')
    end
    self:write_down({ again = from })
  until #decisions > 0 -- an unreadable step has no decisions
  local unit = decisions[1].unit
  if unit == self.model then
    ui.notify(('%s: %s'):format('comment on all of it', unit.comment and unit.comment.text or 'none'))
    return self:draw()
  end
  self:anchor(decisions)
  self:go_to(unit --[[@as tideate.ReviewUnit]])
end

--- Anchor hunks that replaced others, once a file.
---@param decisions tideate.ReviewDecision[]
function Decisions:anchor(decisions)
  local anew = false
  for _, one in ipairs(decisions) do
    local unit = one.unit
    -- a file without a buffer is anchored when it is opened
    local made = unit ~= self.model and self.buffers[unit.entry.index]
    if made and not made.overlay:holds(unit) then
      if made.overlay.creates then
        require('tideate.ui.review.scratch_buffer').fill(made.buf, unit.hunks[1].new)
      end
      made.overlay:anchor()
      anew = true
    end
  end
  if anew then
    self.side:write_anew()
  end
end

--- Show the hunk of the next model at this place; the own one follows the last.
function Decisions:mix()
  self:draw()
  local unit = self:unit_at_cursor()
  local count = unit and #(unit.variants or {}) or 0
  if not unit or count < 2 then
    return ui.notify(count == 1 and 'only this model changes something here: ga accepts it' or 'no other model has a hunk here')
  end
  local decision = { unit = unit, state = 'open', comment = unit.comment, variant = unit.variant % count + 1 }
  if unit.edit then
    decision.edit = false
  end
  self:change({ decision })
  self:anchor({ decision })
  self:go_to(unit)
  local adapter = require('tideate.ui.review.alternatives').adapter(unit)
  ui.notify(("the hunk from the adapter '%s'"):format(require('tideate.ui.text').name(adapter or self.question.payload.adapter)))
end

--- Return a hunk merged with the user's edits of its lines, if possible.
---@param unit tideate.ReviewUnit
---@return tideate.Hunk?
function Decisions:offer(unit)
  local made = self.buffers[unit.entry.index]
  return made and made.overlay:offer(unit)
end

--- Decide about the hunk under the cursor.
---@param state 'accepted'|'rejected'
function Decisions:decide(state)
  self:draw()
  local unit = self:unit_at_cursor()
  if not unit then
    return self:step(1)
  end
  local offer = self:offer(unit)
  if unit.stale and not offer and state == 'accepted' then
    local words = 'you changed these lines, too: ge merges both by hand; or undo that, or %s the hunk'
    return ui.warn(words:format(self.model:words().reject))
  elseif state == 'accepted' and require('tideate.ui.review.alternatives').conflicts(unit.entry)(unit) then
    return ui.warn('a hunk that you accepted changes these lines, too: reject one of them')
  end
  local comment = unit.comment
  if comment and comment.because and state == 'accepted' then
    comment = nil
  end
  local merged = state == 'accepted' and offer or nil
  local decision = { unit = unit, state = state, comment = comment, edit = merged }
  self:change({ decision })
  self:anchor({ decision })
  self:advance()
end

--- Return the decisions for several units.
---@param units tideate.ReviewUnit[]
---@param state 'open'|'accepted'|'rejected'
---@return tideate.ReviewDecision[] decisions
---@return integer stale number of units that cannot be accepted
local function decisions_for(units, state)
  local decisions, stale = {}, 0 ---@type tideate.ReviewDecision[], integer
  local finders = {} ---@type table<tideate.ReviewEntry, fun(unit: tideate.ReviewUnit): boolean>
  local function conflicts(unit)
    finders[unit.entry] = finders[unit.entry] or require('tideate.ui.review.alternatives').conflicts(unit.entry)
    return finders[unit.entry](unit)
  end
  for _, unit in ipairs(units) do
    local because = unit.comment and unit.comment.because
    if state == 'open' and unit.state ~= 'open' then
      table.insert(decisions, { unit = unit, state = state, comment = not because and unit.comment or nil })
    elseif state ~= 'open' and unit.state == 'open' and unit.stale and state == 'accepted' then
      stale = stale + 1
    elseif state == 'accepted' and unit.state == 'open' and conflicts(unit) then
      table.insert(decisions, { unit = unit, state = 'rejected', comment = unit.comment })
    elseif state ~= 'open' and unit.state == 'open' then
      table.insert(decisions, { unit = unit, state = state, comment = unit.comment })
    end
  end
  return decisions, stale
end

--- Update which hunks the user changed, in hidden buffers as well.
function Decisions:check()
  for _, made in pairs(self.buffers) do
    made.overlay:check()
  end
end

--- Decide about several units at once: accept or reject open ones, or reopen decided ones.
---@param units tideate.ReviewUnit[]
---@param state 'open'|'accepted'|'rejected'
---@param what string name of the units in messages
function Decisions:decide_units(units, state, what)
  self:check()
  local decisions, stale = decisions_for(units, state)
  if stale > 0 then
    local words = stale == 1 and '1 hunk is left: you changed its lines' or '%d hunks are left: you changed their lines'
    ui.warn(words:format(stale))
  end
  if #decisions > 0 then
    self:change(decisions)
  elseif stale == 0 and state == 'open' then
    return ui.notify(('nothing of %s is decided'):format(what))
  elseif stale == 0 and self.model:count().open > 0 then
    return ui.notify(('nothing of %s is open: go, gfo and gO open what is decided again'):format(what))
  end
  if state == 'open' then
    return self:draw()
  end
  self:advance()
end

--- Decide about everything, in all files.
---@param state 'open'|'accepted'|'rejected'
function Decisions:decide_all(state)
  local units = {}
  self.model:each(function(unit)
    table.insert(units, unit)
  end)
  self:decide_units(units, state, 'the change')
end

--- Decide about a file.
---@param state 'open'|'accepted'|'rejected'
---@param index integer
function Decisions:decide_file(state, index)
  self:decide_units(self.model.entries[index].units, state, 'this file')
end

--- Decide about the hunks in the selected lines.
---@param state 'open'|'accepted'|'rejected'
function Decisions:decide_selection(state)
  local first, last = vim.fn.line('v'), vim.fn.line('.')
  vim.cmd.normal({ '\27', bang = true })
  self:decide_units(self:units_between(math.min(first, last) - 1, math.max(first, last) - 1), state, 'the selection')
end

--- Reopen the hunk under the cursor.
function Decisions:reopen_hunk()
  local unit = self:unit_at_cursor()
  if not unit then
    return self:step(1)
  end
  self:decide_units({ unit }, 'open', 'this hunk')
end

--- Report the result of the review.
---@param count { open: integer, accepted: integer, rejected: integer, total: integer }
function Decisions:report(count)
  local words = ('review finished: %d of %d accepted'):format(count.accepted, count.total)
  if self.model.written then
    words = ('review finished: %d of %d kept, %d reverted'):format(count.total - count.rejected, count.total, count.rejected)
    return ui.notify(words)
  end
  if count.open > 0 then
    words = ('%s, %s left out'):format(words, count.open == 1 and '1 hunk' or count.open .. ' hunks')
  end
  local said = self.model:said()
  if said > 0 then
    words = ('%s, %s to the model'):format(words, said == 1 and '1 comment' or said .. ' comments')
  end
  ui.notify(words)
end

--- Reopen accepted hunks whose lines the user changed since: they cannot be written, and the user's edits must not be
--- lost.
---@return boolean opened
function Decisions:reopen_changed()
  local decisions = {} ---@type tideate.ReviewDecision[]
  self.model:each(function(unit)
    if unit.stale and unit.state == 'accepted' then
      table.insert(decisions, { unit = unit, state = 'open', comment = unit.comment })
    end
  end)
  if #decisions == 0 or self.model.written then
    return false
  end
  self:change(decisions)
  self:go_to(decisions[1].unit --[[@as tideate.ReviewUnit]])
  local which = #decisions == 1 and '1 hunk that you had accepted: it is open again' or '%d hunks that you had accepted: they are open again'
  local left = self.model:count().open < self.model:count().total and '; g<CR> again leaves out what is open' or ''
  ui.warn(('you changed the lines of %s%s'):format(which:format(#decisions), left))
  return true
end

--- Answer with the decisions; open hunks are left out.
function Decisions:finish()
  self:draw()
  self:check()
  local count = self.model:count()
  if count.open == count.total and count.total > 0 and self.model:said() == 0 then
    local words = self.model:words()
    return ui.notify(('nothing is decided yet: gA to %s all, gR to %s all'):format(words.accept, words.reject))
  end
  if self:reopen_changed() then
    return
  end
  local result = self.model:result()
  if not result.accepted and self.model:said() == 0 then
    return self:ask_to_decline()
  end
  self:close()
  self:report(count)
  self.respond(result)
end

---@param reason string?
function Decisions:decline(reason)
  self:close()
  self.respond({ accepted = false, reason = reason })
end

--- Decline the change after a confirmation.
function Decisions:ask_to_decline()
  local question = { about = self.model:summary(), back = 'back to the review', decline = self.model:words().decline }
  require('tideate.ui.confirm_action').decline(question, function()
    return not self.closed
  end, function(reason)
    self:decline(reason)
  end)
end

--- Leave the review: its run waits with all decisions.
function Decisions:leave()
  if vim.fn.reg_recording() ~= '' then
    return vim.api.nvim_feedkeys('q', 'n', false) -- ends what the person records
  end
  self:close()
  self.on_left(self.model:summary())
end

return Decisions
