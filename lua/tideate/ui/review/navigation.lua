--- Navigation in a review: between hunks, between files, to an open hunk.

---@class tideate.ReviewNavigation: tideate.Review
local Moves = {}

---@param index integer
function Moves:go_to_file(index)
  local made = self:buffer(index)
  local win = self.windows:show(made.buf)
  if made.scratch then
    require('tideate.ui.window').options(win, require('tideate.ui.review.scratch_buffer').OPTIONS)
  end
  vim.api.nvim_set_current_win(win)
  self.current = index
  self:draw()
end

--- Put the cursor on a hunk, so that it and what it adds can be seen.
---@param unit tideate.ReviewUnit
function Moves:go_to_unit(unit)
  local overlay = self.buffers[self.current].overlay
  local row = math.min((overlay:range(unit)), vim.api.nvim_buf_line_count(0) - 1)
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { row + 1, 0 })
  vim.cmd('normal! zv')
  local hunk = unit.hunks[1]
  local height = vim.api.nvim_win_get_height(0)
  local size = hunk and #hunk.old + #hunk.new or 0
  self:draw()
  local above = require('tideate.ui.review.warning').above(overlay, row, hunk)
  if above > 0 then
    -- lines above the first one are only seen as filler
    vim.fn.winrestview({ topline = 1, topfill = math.min(above, height - 2) })
  elseif row + size + 1 > vim.fn.line('w0') - 1 + height then
    vim.fn.winrestview({ topline = math.max(1, row + 1 - math.floor(height / 5)) })
  end
end

--- The hunk that the cursor is on.
---@return tideate.ReviewUnit? unit, integer? number
function Moves:unit_at_cursor()
  local made = self.buffers[self.current]
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local near, near_number ---@type tideate.ReviewUnit?, integer?
  for number, unit in ipairs(self.model.entries[self.current].units) do
    local first, last = made.overlay:range(unit)
    if row >= first and row <= last then
      return unit, number
    elseif row == first - 1 and unit.hunks[1] and #unit.hunks[1].old == 0 then
      near, near_number = unit, number
    end
  end
  return near, near_number
end

--- To the next or previous hunk of the file.
---@param step 1|-1
function Moves:step(step)
  local overlay = self.buffers[self.current].overlay
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local units = self.model.entries[self.current].units
  local last = vim.api.nvim_buf_line_count(0) - 1
  for index = step == 1 and 1 or #units, step == 1 and #units or 1, step do
    local first = math.min((overlay:range(units[index])), last)
    if (first - row) * step > 0 then
      return self:go_to_unit(units[index])
    end
  end
  require('tideate.ui').notify(step == 1 and 'no hunk below' or 'no hunk above')
end

---@param step 1|-1
function Moves:step_file(step)
  local count = #self.model.entries
  self:go_to_file((self.current - 1 + step) % count + 1)
end

--- Go on to what is open, or finish.
function Moves:advance()
  self:draw()
  local index = self.model:next_open(self.current)
  if not index then
    return self:finish()
  end
  local same = index == self.current
  if not same then
    self:go_to_file(index)
  end
  local row = same and vim.api.nvim_win_get_cursor(0)[1] - 1 or -1
  local first ---@type tideate.ReviewUnit?
  for _, unit in ipairs(self.model.entries[index].units) do
    if unit.state == 'open' then
      first = first or unit
      if self.buffers[index].overlay:range(unit) >= row then
        return self:go_to_unit(unit)
      end
    end
  end
  self:go_to_unit(assert(first))
end

return Moves
