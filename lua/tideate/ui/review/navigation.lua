--- Navigation in a review: between hunks, between files, to an open hunk.

local api = vim.api
local ui = require('tideate.ui')

---@class tideate.ReviewNavigation: tideate.Review
local Moves = {}

local MOST_HIDDEN = 20 -- hidden scratch buffers

--- Delete hidden scratch buffers if there are many; each is created again when it is shown.
function Moves:forget_hidden()
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
function Moves:go_to_file(index)
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
function Moves:go_to_unit(unit)
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
function Moves:scroll_to(unit)
  local overlay = self.buffers[self.current].overlay
  local row = math.min((overlay:range(unit)), api.nvim_buf_line_count(0) - 1)
  vim.cmd("normal! m'")
  api.nvim_win_set_cursor(0, { row + 1, 0 })
  vim.cmd('normal! zv')
  local hunk = unit.hunks[1]
  self:draw()
  local height = api.nvim_win_get_height(0) - vim.fn.getwininfo(api.nvim_get_current_win())[1].winbar
  local above = require('tideate.ui.review.warning').above(overlay, row, hunk)
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
function Moves:unit_at_cursor()
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
function Moves:unit_to_write_about()
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
function Moves:file_at_cursor()
  return self.files:focused() and self.files:index() or self.current
end

--- Return the hunks in rows of the current window.
---@param first integer 0-based
---@param last integer
---@return tideate.ReviewUnit[]
function Moves:units_between(first, last)
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
function Moves:select_hunk(around)
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
function Moves:unit_beyond(step)
  if self.side:focused() then
    return self.side:beyond_cursor(step)
  end
  return self.buffers[self.current].overlay:beyond(api.nvim_win_get_cursor(0)[1] - 1, step)
end

--- Go to the next or previous hunk of the file.
---@param step 1|-1
function Moves:step(step)
  local unit = self:unit_beyond(step)
  if unit then
    return self:go_to_unit(unit)
  end
  ui.notify(step == 1 and 'no hunk below' or 'no hunk above')
end

--- Go to the first open hunk of the file, or the first one.
function Moves:go_to_first()
  local units = self.model.entries[self.current].units
  self:go_to_unit(self:first_open(self.current, 1) or units[1])
end

--- Return the first open unit of a file, from a number on and around.
---@param index integer
---@param from integer
---@return tideate.ReviewUnit?
function Moves:first_open(index, from)
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
function Moves:go_to(unit)
  if self.files:focused() then
    return self.files:go_to(unit.entry.index)
  end
  self:go_to_file(unit.entry.index)
  self:go_to_unit(unit)
end

--- Tell the user that everything is decided and which key finishes.
function Moves:say_decided()
  local said = self.model:said()
  local words = said == 0 and 'finishes' or ('sends %s'):format(said == 1 and '1 comment' or said .. ' comments')
  local revision = #self.past == 0 and self.model.revision > 1 and self.model.revision
  local why = revision and ('revision %d brings nothing to decide'):format(revision) or 'all is decided'
  words = ('%s: g<CR> %s'):format(why, words)
  ui.notify(#self.past > 0 and words .. ', gu undoes' or words)
end

---@param step 1|-1
function Moves:step_file(step)
  local count = #self.model.entries
  self:go_to_file((self.current - 1 + step) % count + 1)
  self:go_to_first()
end

--- Go to the next open hunk. The last decision does not finish the review, so that it can be undone.
function Moves:advance()
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

return Moves
