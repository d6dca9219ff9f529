--- The review of proposed changes, hunk by hunk, in the buffers themselves.
---
--- It never changes a buffer: the answer lists the wanted hunks, and the engine applies them.
local M = {}

local api = vim.api
local ui = require('tideate.ui')

local MOST_HIDDEN = 20 -- hidden scratch buffers
local to_comment = require('tideate.ui.questions.comment_texts').comment

---@class tideate.ReviewComment
---@field text string
---@field because? boolean whether it is the reason of a rejection

---@class tideate.ReviewBuffer
---@field buf integer
---@field scratch boolean
---@field overlay tideate.Overlay
---@field restore_keys fun()?

---@class tideate.Review
---@field question tideate.Question
---@field respond fun(result: table<string, any>)
---@field model tideate.ReviewModel
---@field windows tideate.ReviewWindows
---@field buffers table<integer, tideate.ReviewBuffer> by file
---@field index_by_buffer table<integer, integer>
---@field pending boolean
---@field hidden boolean the changes are hidden
---@field current integer file
---@field active boolean the keys are set
---@field closed boolean
---@field group integer
---@field stop_waiting fun()?
---@field guard tideate.Guard
---@field files tideate.ReviewFileList
---@field side tideate.ReviewSideView
---@field on_left fun(summary: string) called if the user leaves it: the run waits
---@field history tideate.ReviewHistory decisions with undo and draft
---@field texts tideate.CommentTexts
---@field waits? boolean it cannot be shown now
local Review = {}
Review.__index = Review

--- Return a file's buffer, prepared for the review.
---@param index integer
---@return tideate.ReviewBuffer
function Review:buffer(index)
  local known = self.buffers[index]
  if known then
    return known
  end
  local entry = self.model.entries[index]
  local file = entry.file
  local real = file.action ~= 'create' and file.buffer or nil
  local new = entry.units[1].hunks[1] and entry.units[1].hunks[1].new
  local buf = real or require('tideate.ui.review.scratch_buffer').open(file, new, self.question.execution_id)
  local made = { buf = buf, scratch = real == nil }
  made.overlay = require('tideate.ui.review.overlay').attach(buf, entry, function()
    self.side:refresh()
    self:draw_bars()
  end)
  made.overlay.hidden = self.hidden
  self.buffers[index], self.index_by_buffer[buf] = made, index
  return made
end

--- Load a closed buffer again.
---@param file tideate.ReviewFile with a buffer
---@return string? reason reason that its changes cannot be reviewed
local function load_again(file)
  local reason = require('tideate.edit').load_again(file.buffer)
  if reason then
    local name = file.path ~= '' and file.path or ('buffer %d'):format(file.buffer)
    return ('%s was closed, and %s'):format(name, reason)
  end
end

--- Tell the user that the review is still open after its buffer was closed.
---@param what string closed
function Review:say_open(what)
  ui.notify(('%s was closed; its review is open: :Workflow review'):format(what))
end

--- Reload a buffer that the user closed; if that fails, the review waits.
---@param made tideate.ReviewBuffer
---@param file tideate.ReviewFile
function Review:reopen(made, file)
  if made.scratch then
    made.overlay:close()
    self.buffers[self.index_by_buffer[made.buf]], self.index_by_buffer[made.buf] = nil, nil -- is created anew
    if api.nvim_buf_is_valid(made.buf) then
      api.nvim_buf_delete(made.buf, { force = true }) -- frees its name
    end
    return self:say_open(require('tideate.ui.review.keys').name(file))
  end
  local reason = load_again(file)
  if reason then
    return self.waits or self:put_off(reason)
  end
  made.restore_keys = nil -- deleted with the buffer
  made.overlay:anchor()
  made.overlay:watch()
  made.overlay:draw_soon()
  if #vim.fn.win_findbuf(made.buf) > 0 then
    self:set_keys(made.buf)
  end
  if self.active then
    self:say_open(require('tideate.ui.review.keys').name(file))
  end
end

--- Handle the unload of a buffer.
---@param index integer
function Review:unloaded(index)
  local made = self.buffers[index]
  if not made then
    return
  end
  -- `:edit` unloads a buffer and reads it again
  if not self.closed and not api.nvim_buf_is_loaded(made.buf) then
    self:reopen(made, self.model.entries[index].file)
  elseif not self.closed then
    made.overlay:anchor()
    made.overlay:watch()
    made.overlay:draw_soon()
  end
end

--- Set the keys in a visible buffer: most buffers of a large review are never shown.
---@param buf integer
function Review:set_keys(buf)
  local made = self.buffers[self.index_by_buffer[buf]]
  if self.active and made and not made.restore_keys then
    local keys = require('tideate.ui.review.keys').keys(self)
    made.restore_keys = require('tideate.ui.keys').set(buf, self.guard:wrap(keys))
  end
end

---@param buf integer
---@param win integer
---@return string? bar, boolean? active
function Review:bar(buf, win)
  local index = self.index_by_buffer[buf] or self.side.buf == buf and self.side.index
  if not index then
    return nil
  end
  return require('tideate.ui.review.keys').bar(self, index, win)
end

function Review:draw_bars()
  if self.closed then
    return
  end
  self.current = self.index_by_buffer[api.nvim_get_current_buf()] or self.current
  self.windows:bars_from(function(buf, win)
    return self:bar(buf, win)
  end)
end

--- Draw the visible buffers.
function Review:draw()
  for _, win in ipairs(api.nvim_list_wins()) do
    local index = self.index_by_buffer[api.nvim_win_get_buf(win)]
    if index then
      self.buffers[index].overlay:draw()
    end
  end
  self.side:check()
  self.files:draw()
  self:draw_bars()
end

--- Schedule one drawing.
function Review:draw_soon()
  if not self.pending then
    self.pending = true
    vim.schedule(function()
      self.pending = false
      if not self.closed then
        self:draw()
      end
    end)
  end
end

--- Hide or show the changes, the list of files or the proposal.
---@param part? 'files'|'side'
function Review:toggle(part)
  if part then
    return self[part]:toggle()
  end
  self.hidden = not self.hidden
  for _, made in pairs(self.buffers) do
    made.overlay.hidden = self.hidden
  end
  self:draw()
end

function Review:help()
  local keys = self.files:focused() and self.files:keys() or require('tideate.ui.review.keys').keys(self)
  require('tideate.ui.keys').help('review', keys)
end

--- Return the reason that the review cannot be shown.
---@return string?
function Review:obstacle()
  for _, entry in ipairs(self.model.entries) do
    local reason = entry.file.buffer and load_again(entry.file)
    if reason then
      return reason
    end
  end
end

--- Focus the first open hunk and set the keys.
---@param unasked boolean? without a request by the user
function Review:focus(unasked)
  if self.stop_waiting then
    self.stop_waiting()
    self.stop_waiting = nil
  end
  local first = not self.active
  local reason = self:obstacle()
  if reason then
    return self:put_off(reason)
  end
  self.waits = false
  self.active = true
  if unasked then
    self.guard:arm()
  else
    self.guard:release()
  end
  for _, win in ipairs(api.nvim_list_wins()) do
    self:set_keys(api.nvim_win_get_buf(win))
  end
  require('tideate.ui.output').make_room()
  local index = self.model:next_open(self.current)
  self:go_to_file(index or 1)
  if first then
    self.files:open_if_wide()
  end
  self:go_to_first()
  local warnings = self.question.payload.warnings
  if first and warnings then
    ui.warn(table.concat(warnings, '\n'))
  elseif not index then
    self:say_decided()
  end
end

---@return boolean
function Review:focused()
  local inside = self.index_by_buffer[api.nvim_get_current_buf()] or self.side:focused() or self.files:focused()
  return self.active and inside and true or false
end

---@return boolean
function Review:in_code()
  return vim.iter(require('tideate.ui.window').normal_windows()):any(function(win)
    return self.index_by_buffer[api.nvim_win_get_buf(win)] ~= nil
  end)
end

---@return boolean
function Review:ready()
  return self:focused() and self.guard:ready()
end

--- Put the review off: the run waits.
---@param reason string
function Review:put_off(reason)
  self.waits = true
  local words = '%s; the review waits: :Workflow review opens it again'
  local options = { waiting = self.question.execution_id }
  ui.warn(words:format(reason), options)
  require('tideate.run').leave(self.question.execution_id)
end

--- Close the review without an answer.
function Review:close()
  if self.closed then
    return
  end
  self.closed = true
  self.texts:keep()
  self.side:hide()
  self.files:delete()
  if self.stop_waiting then
    self.stop_waiting()
  end
  api.nvim_del_augroup_by_id(self.group)
  self.windows:restore(function(buf)
    return self.index_by_buffer[buf] ~= nil
  end)
  for _, made in pairs(self.buffers) do
    made.overlay:close()
    if made.restore_keys then
      made.restore_keys()
    end
    if made.scratch and api.nvim_buf_is_valid(made.buf) then
      api.nvim_buf_delete(made.buf, { force = true })
    end
  end
end

--- Delete hidden scratch buffers if there are many; each is created again when it is shown.
function Review:forget_hidden()
  local hidden = {} ---@type integer[]
  for index, made in pairs(self.buffers) do
    if made.scratch and index ~= self.current and #vim.fn.win_findbuf(made.buf) == 0 then
      table.insert(hidden, index)
    end
  end
  for _, index in ipairs(#hidden > MOST_HIDDEN and hidden or {}) do
    local made = self.buffers[index]
    -- first, or its unload would count as the user's
    self.buffers[index], self.index_by_buffer[made.buf] = nil, nil
    made.overlay:close()
    api.nvim_buf_delete(made.buf, { force = true })
  end
end

---@param index integer
function Review:go_to_file(index)
  self.side:check()
  local beside = self.side:focused()
  if self.side.index ~= index then
    self.side:hide()
  end
  local made = self:buffer(index)
  local win = self.windows:show(made.buf)
  if made.scratch then
    require('tideate.ui.window').options(win, require('tideate.ui.review.scratch_buffer').OPTIONS)
  end
  api.nvim_set_current_win(win)
  self.current = index
  self:forget_hidden()
  self.side:show(index, win)
  if beside and self.side:visible() then
    api.nvim_set_current_win(self.side.win)
  end
  self:draw()
end

--- Return the window rows between two lines, including virtual lines.
---@param first integer 0-based
---@param last integer exclusive
---@return integer
local function rows_between(first, last)
  if last <= first then
    return 0
  end
  return api.nvim_win_text_height(0, { start_row = first, end_row = last - 1 }).all
end

--- Put the cursor on a hunk and scroll its lines into view.
---@param unit tideate.ReviewUnit
function Review:go_to_unit(unit)
  local beside = self.side:focused()
  if beside then
    api.nvim_set_current_win(self.side.left)
  end
  self:scroll_to(unit)
  self.side:follow(unit)
  if beside then
    api.nvim_set_current_win(self.side.win)
  end
end

---@param unit tideate.ReviewUnit in the current window
function Review:scroll_to(unit)
  local overlay = self.buffers[self.current].overlay
  local row = math.min((overlay:range(unit)), api.nvim_buf_line_count(0) - 1)
  vim.cmd("normal! m'")
  api.nvim_win_set_cursor(0, { row + 1, 0 })
  vim.cmd('normal! zv')
  local hunk = unit.hunks[1]
  self:draw()
  local height = api.nvim_win_get_height(0) - vim.fn.getwininfo(api.nvim_get_current_win())[1].winbar
  local above = overlay:lines_above(row, hunk)
  if above > 0 then
    -- lines above the first one are only visible as filler
    vim.fn.winrestview({ topline = 1, topfill = math.min(above, height - 2) })
    return
  end
  local top = vim.fn.line('w0') - 1
  local size = overlay:height(unit)
  if rows_between(top, row) + size > height then
    local above_it = math.max(0, math.min(math.floor(height / 5), height - size))
    top = row
    while top > 0 and rows_between(top - 1, row) <= above_it do
      top = top - 1
    end
    vim.fn.winrestview({ topline = top + 1 })
    self:draw() -- other hunks are visible now
  end
end

--- Return the hunk under the cursor; nil in the list of files.
---@return tideate.ReviewUnit?
function Review:unit_at_cursor()
  if self.files:focused() then
    return nil
  end
  if self.side:focused() then
    return self.side:unit_at_cursor()
  end
  return self.buffers[self.current].overlay:unit_at(api.nvim_win_get_cursor(0)[1] - 1)
end

--- Return the hunk under the cursor for a prompt. Without one, notify the user and discard typed-ahead keys, which were
--- meant for the prompt.
---@return tideate.ReviewUnit?
function Review:unit_to_write_about()
  local unit = self:unit_at_cursor()
  if not unit then
    require('tideate.ui.typing').drop_typed_ahead()
    local way = self.files:focused() and '<CR> goes to the file' or ']c goes to the next one'
    ui.warn('no hunk under the cursor: ' .. way)
  end
  return unit
end

--- Return the file under the cursor.
---@return integer index
function Review:file_at_cursor()
  return self.files:focused() and self.files:index() or self.current
end

--- Return the hunks in rows of the current window.
---@param first integer 0-based
---@param last integer
---@return tideate.ReviewUnit[]
function Review:units_between(first, last)
  if self.files:focused() then
    return vim.iter(vim.list_slice(self.model.entries, first + 1, last + 1)):map(function(entry)
      return entry.units
    end):flatten():totable()
  end
  if self.side:focused() then
    return self.side:units_between(first, last)
  end
  local overlay = self.buffers[self.current].overlay
  if overlay.entry.whole then
    return overlay.entry.units
  end
  return vim.tbl_map(function(found)
    return found[1].unit
  end, overlay:between(first, last))
end

--- Select the lines of the hunk under the cursor.
---@param around boolean include the blank lines below
function Review:select_hunk(around)
  local unit = self:unit_at_cursor()
  local beside = self.side:focused()
  local first, last ---@type integer?, integer?
  if unit and beside then
    first, last = self.side:range(unit)
  elseif unit and (unit.entry.whole or #unit.hunks[1].old > 0) then
    first, last = self.buffers[self.current].overlay:range(unit)
  end
  if api.nvim_get_mode().mode:find('^[vV\22]') then
    vim.cmd.normal({ '\27', bang = true })
  end
  if not first or not last then
    return ui.notify(unit and 'this hunk has no lines here' or 'no hunk under the cursor')
  end
  while around and vim.fn.getline(last + 2):find('^%s*$') and last + 1 < vim.fn.line('$') do
    last = last + 1
  end
  vim.cmd.normal({ ('%dGV%dG'):format(first + 1, last + 1), bang = true })
end

--- Return the next hunk of the file below or above the cursor.
---@param step 1|-1
---@return tideate.ReviewUnit?
function Review:unit_beyond(step)
  if self.side:focused() then
    return self.side:beyond_cursor(step)
  end
  return self.buffers[self.current].overlay:beyond(api.nvim_win_get_cursor(0)[1] - 1, step)
end

--- Go to the next or previous hunk of the file.
---@param step 1|-1
function Review:step(step)
  local unit = self:unit_beyond(step)
  if unit then
    return self:go_to_unit(unit)
  end
  ui.notify(step == 1 and 'no hunk below' or 'no hunk above')
end

--- Go to the first open hunk of the file, or the first one.
function Review:go_to_first()
  local units = self.model.entries[self.current].units
  self:go_to_unit(self:first_open(self.current, 1) or units[1])
end

--- Return the first open unit of a file, from a number on and around.
---@param index integer
---@param from integer
---@return tideate.ReviewUnit?
function Review:first_open(index, from)
  local entry = self.model.entries[index]
  if entry.count.open == 0 then
    return nil
  end
  for step = 0, #entry.units - 1 do
    local unit = entry.units[(from - 1 + step) % #entry.units + 1]
    if unit.state == 'open' then
      return unit
    end
  end
end

--- Go to a hunk in any file.
---@param unit tideate.ReviewUnit
function Review:go_to(unit)
  if self.files:focused() then
    return self.files:go_to(unit.entry.index)
  end
  self:go_to_file(unit.entry.index)
  self:go_to_unit(unit)
end

--- Tell the user that everything is decided and which key finishes.
function Review:say_decided()
  local said = self.model:said()
  local words = said == 0 and 'finishes' or ('sends %s'):format(require('tideate.ui.text').counted(said, 'comment'))
  local revision = #self.history.past == 0 and self.model.revision > 1 and self.model.revision
  local why = revision and ('revision %d brings nothing to decide'):format(revision) or 'all is decided'
  words = ('%s: g<CR> %s'):format(why, words)
  ui.notify(#self.history.past > 0 and words .. ', gu undoes' or words)
end

---@param step 1|-1
function Review:step_file(step)
  local count = #self.model.entries
  self:go_to_file((self.current - 1 + step) % count + 1)
  self:go_to_first()
end

--- Go to the next open hunk. The last decision does not finish the review, so that it can be undone.
function Review:advance()
  self:draw()
  local index = self.model:next_open(self.current)
  if not index then
    return self:say_decided()
  end
  if self.files:focused() then
    return self.files:go_to(assert(self.model:next_open(self.files:index())))
  elseif index ~= self.current then
    self:go_to_file(index)
    return self:go_to_first()
  end
  local from = self:unit_at_cursor() or self:unit_beyond(1)
  self:go_to_unit(assert(self:first_open(index, from and from.number or 1)))
end

--- Undo or redo a step and go to its hunk.
---@param from 'past'|'future'
function Review:travel(from)
  local decisions ---@type tideate.ReviewDecision[]?
  repeat
    decisions = self.history:move(from)
    if not decisions then
      return ui.notify(from == 'past' and 'there is no earlier decision' or 'there is no later decision')
    end
    self.history:write({ again = from })
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
function Review:anchor(decisions)
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
function Review:mix()
  self:draw()
  local unit = self:unit_at_cursor()
  local count = unit and #(unit.variants or {}) or 0
  if not unit or count < 2 then
    return ui.notify(count == 1 and 'only this model changes these lines; ga accepts the hunk' or 'no other model has a hunk here')
  end
  local decision = { unit = unit, state = 'open', comment = unit.comment, variant = unit.variant % count + 1 }
  if unit.edit then
    decision.edit = false
  end
  self.history:change({ decision })
  self:anchor({ decision })
  self:go_to(unit)
  local adapter = require('tideate.ui.review.alternatives').adapter(unit)
  ui.notify(("showing the hunk from the adapter '%s'"):format(require('tideate.ui.text').name(adapter or self.question.payload.adapter)))
end

--- Return a hunk merged with the user's edits of its lines, if possible.
---@param unit tideate.ReviewUnit
---@return tideate.Hunk?
function Review:offer(unit)
  local made = self.buffers[unit.entry.index]
  return made and made.overlay:offer(unit)
end

--- Decide about the hunk under the cursor.
---@param state 'accepted'|'rejected'
function Review:decide(state)
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
  self.history:change({ decision })
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
function Review:check()
  for _, made in pairs(self.buffers) do
    made.overlay:check()
  end
end

--- Decide about several units at once: accept or reject open ones, or reopen decided ones.
---@param units tideate.ReviewUnit[]
---@param state 'open'|'accepted'|'rejected'
---@param what string name of the units in messages
function Review:decide_units(units, state, what)
  self:check()
  local decisions, stale = decisions_for(units, state)
  if stale > 0 then
    local words = stale == 1 and '1 hunk is left: you changed its lines' or '%d hunks are left: you changed their lines'
    ui.warn(words:format(stale))
  end
  if #decisions > 0 then
    self.history:change(decisions)
  elseif stale == 0 and state == 'open' then
    return ui.notify(('nothing of %s is decided'):format(what))
  elseif stale == 0 and self.model:count().open > 0 then
    return ui.notify(('nothing of %s is open: go, gfo and gO reopen decided hunks'):format(what))
  end
  if state == 'open' then
    return self:draw()
  end
  self:advance()
end

--- Decide about everything, in all files.
---@param state 'open'|'accepted'|'rejected'
function Review:decide_all(state)
  local units = {}
  self.model:each(function(unit)
    table.insert(units, unit)
  end)
  self:decide_units(units, state, 'the change')
end

--- Decide about a file.
---@param state 'open'|'accepted'|'rejected'
---@param index? integer default: the file at the cursor
function Review:decide_file(state, index)
  self:decide_units(self.model.entries[index or self:file_at_cursor()].units, state, 'this file')
end

--- Decide about the hunks in the selected lines.
---@param state 'open'|'accepted'|'rejected'
function Review:decide_selection(state)
  local first, last = vim.fn.line('v'), vim.fn.line('.')
  vim.cmd.normal({ '\27', bang = true })
  self:decide_units(self:units_between(math.min(first, last) - 1, math.max(first, last) - 1), state, 'the selection')
end

--- Reopen the hunk under the cursor.
function Review:reopen_hunk()
  local unit = self:unit_at_cursor()
  if not unit then
    return self:step(1)
  end
  self:decide_units({ unit }, 'open', 'this hunk')
end

--- Report the result of the review.
---@param count { open: integer, accepted: integer, rejected: integer, total: integer }
function Review:report(count)
  local counted = require('tideate.ui.text').counted
  local words = ('review finished: %d of %d accepted'):format(count.accepted, count.total)
  if self.model.written then
    words = ('review finished: %d of %d kept, %d reverted'):format(count.total - count.rejected, count.total, count.rejected)
    return ui.notify(words)
  end
  if count.open > 0 then
    words = ('%s, %s left out'):format(words, counted(count.open, 'hunk'))
  end
  local said = self.model:said()
  if said > 0 then
    words = ('%s, %s to the model'):format(words, counted(said, 'comment'))
  end
  ui.notify(words)
end

--- Reopen accepted hunks whose lines the user changed since: they cannot be written, and the user's edits must not be
--- lost.
---@return boolean opened
function Review:reopen_changed()
  local decisions = {} ---@type tideate.ReviewDecision[]
  self.model:each(function(unit)
    if unit.stale and unit.state == 'accepted' then
      table.insert(decisions, { unit = unit, state = 'open', comment = unit.comment })
    end
  end)
  if #decisions == 0 or self.model.written then
    return false
  end
  self.history:change(decisions)
  self:go_to(decisions[1].unit --[[@as tideate.ReviewUnit]])
  local which = #decisions == 1 and '1 hunk that you had accepted: it is open again' or '%d hunks that you had accepted: they are open again'
  local left = self.model:count().open < self.model:count().total and '; g<CR> again leaves out open hunks' or ''
  ui.warn(('you changed the lines of %s%s'):format(which:format(#decisions), left))
  return true
end

--- Answer with the decisions; open hunks are left out.
function Review:finish()
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
function Review:decline(reason)
  self:close()
  self.respond({ accepted = false, reason = reason })
end

--- Decline the change after a confirmation.
function Review:ask_to_decline()
  local question = { about = self.model:summary(), back = 'back to the review', decline = self.model:words().decline }
  require('tideate.ui.questions.confirm_action').decline(question, function()
    return not self.closed
  end, function(reason)
    self:decline(reason)
  end)
end

--- Leave the review: its run waits with all decisions.
function Review:leave()
  if vim.fn.reg_recording() ~= '' then
    return vim.api.nvim_feedkeys('q', 'n', false) -- ends what the person records
  end
  self:close()
  self.on_left(self.model:summary())
end

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
function Review:identity(kind, about)
  local name = about ~= self.model and name_of(about --[[@as tideate.ReviewUnit]]) or ''
  local question = self.question
  return ('%s %s %s %d %s'):format(kind, question.execution_id, question.step, self.model.revision, name)
end

--- Reject the hunk under the cursor with a reason.
---@param in_buffer boolean the reason may have several lines
function Review:reject_because(in_buffer)
  local unit = self:unit_to_write_about()
  if not unit then
    return
  end
  self.texts:ask(in_buffer, 'Reject, because', unit, function(text)
    self.history:change({ { unit = unit, state = 'rejected', comment = to_comment(text, true) } })
    self:advance()
  end)
end

--- Comment on the hunk under the cursor.
function Review:comment_on_hunk()
  local unit = self:unit_to_write_about()
  if not unit then
    return
  end
  self.texts:ask(false, 'Comment', unit, function(text)
    self.history:change({ { unit = unit, state = unit.state, comment = to_comment(text) } })
    self:draw()
  end)
end

--- Comment on the whole change.
function Review:comment_on_all()
  self.texts:ask(true, 'What is to change?', self.model, function(text)
    self.history:change({ { unit = self.model, comment = to_comment(text) } })
    self:draw_bars()
  end)
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
function Review:lines_now(unit)
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
    ui.warn('both versions are still there: keep the wanted lines and remove the marks <<<<<<<, ======= and >>>>>>>')
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
function Review:take_edit(unit, base, lines, none)
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
  self.history:change({ decision })
  self:anchor({ decision })
  self:advance()
end

--- Edit the new lines of the hunk under the cursor. `:w` accepts them, `:q` leaves the hunk as it is.
function Review:edit_hunk()
  self:draw()
  local unit = self:unit_to_write_about()
  if not unit then
    return
  end
  local obstacle = require('tideate.ui.review.model').obstacle_to_edit(unit)
  local now = not obstacle and self:lines_now(unit)
  if not now then
    return ui.warn(obstacle or 'you changed lines here that reach beyond the hunk: undo that, or reject the hunk')
  end
  local edit = self.texts:text_about('edit', unit)
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
function Review:dress(buf, unit)
  local from = vim.bo[self:buffer(unit.entry.index).buf]
  for _, name in ipairs({ 'expandtab', 'shiftwidth', 'softtabstop', 'tabstop' }) do
    vim.bo[buf][name] = from[name]
  end
  local scratch = require('tideate.ui.review.scratch_buffer')
  scratch.colour(buf, scratch.filetype(unit.entry.file))
end

--- Keep `:q` in the last window from leaving Neovim with an open review: split it first.
---@param self tideate.Review
local function hold_back(self)
  local window, win = require('tideate.ui.window'), api.nvim_get_current_win()
  local others = (self.files:visible() and 1 or 0) + (self.side:visible() and 1 or 0)
  local is_last = #window.normal_windows() - others <= 1 and win ~= self.files.win and win ~= self.side.win and #api.nvim_list_tabpages() == 1
  if window.is_float(win) or not is_last then
    return
  end
  local kept = window.split(api.nvim_win_get_buf(win), 'above')
  vim.schedule(function()
    if api.nvim_win_is_valid(win) then
      return window.close(kept) -- it was not closed
    end
    local words = 'the review is still open (%s): :Workflow review goes to it; :qa leaves, and it waits for the next Neovim'
    ui.warn(words:format(self.model:summary()))
  end)
end

--- Watch the editor until the group is deleted.
---@param self tideate.Review
local function watch(self)
  self.group = api.nvim_create_augroup('tideate.review', { clear = true })
  local function on(events, callback)
    api.nvim_create_autocmd(events, { group = self.group, callback = callback })
  end
  on('QuitPre', function()
    hold_back(self)
  end)
  on('BufWinEnter', function(event)
    self:set_keys(event.buf)
  end)
  on({ 'BufUnload', 'BufWipeout' }, function(event)
    local index = self.index_by_buffer[event.buf]
    if index then
      vim.schedule(function()
        self:unloaded(index)
      end)
    end
  end)
  on('CursorMoved', function(event)
    if self.index_by_buffer[event.buf] or event.buf == self.side.buf then
      self:draw_bars()
    end
  end)
  on('VimResized', function()
    self.files:resized()
  end)
  on({ 'BufWinEnter', 'WinEnter', 'WinNew', 'WinScrolled', 'WinResized', 'VimResized' }, function()
    self:draw_soon()
  end)
  on('WinClosed', function(event)
    local buf = api.nvim_win_get_buf(assert(tonumber(event.match)))
    local made = self.buffers[self.index_by_buffer[buf]]
    vim.schedule(function()
      local shown = made and api.nvim_buf_is_loaded(buf) and #vim.fn.win_findbuf(buf) == 0
      if not self.closed and made and made.scratch and shown and vim.v.exiting == vim.NIL then
        self:say_open('the window')
      end
    end)
  end)
end

--- Open the review of changes.
---@param question tideate.Question payload: { files: tideate.ReviewFile[], demonstration: boolean }
---@param respond fun(result: table<string, any>) called once, unless `on_left` is called
---@param on_left fun(summary: string)
---@return tideate.Asked
function M.open(question, respond, on_left)
  require('tideate.ui.highlights').define()
  local self = setmetatable({
    question = question,
    respond = respond,
    on_left = on_left,
    model = require('tideate.ui.review.model').new(question),
    windows = require('tideate.ui.review.windows').new(),
    buffers = {},
    index_by_buffer = {},
    pending = false,
    hidden = false,
    current = 1,
    active = false,
    closed = false,
  }, Review)
  self.history = require('tideate.ui.review.history').new(question, self.model)
  self.texts = require('tideate.ui.questions.comment_texts').new(question, function(kind, about)
    return self:identity(kind, about)
  end)
  self.guard = require('tideate.ui.questions.key_guard').new(function()
    self:draw_bars()
  end)
  self.files = require('tideate.ui.review.file_list').new(self)
  self.side = require('tideate.ui.review.side_view').new(self)
  self.history:restore()
  watch(self)
  local reason = self:obstacle()
  if #self.model.entries == 0 then
    vim.schedule(function()
      self:decline('there is nothing to review')
    end)
    return self
  elseif reason then
    self:put_off(reason)
    return self
  end
  for index, entry in ipairs(self.model.entries) do
    if entry.file.buffer and entry.file.action ~= 'create' then
      self:buffer(index)
    end
  end
  self:draw_bars()
  if not require('tideate.ui.typing').plain_normal() then
    local words = '%s: %s to review; press <Esc>, or :Workflow'
    ui.notify(words:format(question.workflow, self.model:counted()))
  end
  self.stop_waiting = require('tideate.ui.typing').when_quiet(function()
    self.stop_waiting = nil
    if not self.closed then
      self:focus(true)
    end
  end)
  return self
end

return M
