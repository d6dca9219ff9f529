--- The proposal beside the buffer, both in Neovim's diff mode.
local M = {}

local api = vim.api
local looks = require('tideate.ui.review.hunk_highlights')
local name_of = require('tideate.ui.review.model').name
local walk = require('tideate.ui.review.walk')
local window = require('tideate.ui.window')

local marks = api.nvim_create_namespace('tideate.review.side')

local MOST_SIGNS = 1000 -- per hunk

---@class tideate.ReviewSideView
---@field review tideate.Review
---@field wanted boolean requested by the user; files without two sides have none
---@field index integer? shown file
---@field left integer? window of the buffer
---@field win integer? window of the proposal
---@field buf integer?
---@field tick integer? changedtick of the buffer at the last refresh
---@field saved table<string, any> options of the buffer's window
---@field scrollopt string
---@field rows integer[] first row of each hunk in the proposal, 0-based
---@field units tideate.ReviewUnit[] of these hunks
---@field sizes integer[] number of lines of each hunk in the proposal
---@field asked table<tideate.ReviewUnit, boolean> stale units that were visible; others are not merged
local View = {}
View.__index = View

---@param review tideate.Review
---@return tideate.ReviewSideView
function M.new(review)
  return setmetatable({ review = review, wanted = false, rows = {}, units = {}, sizes = {}, asked = {} }, View)
end

---@return boolean
function View:visible()
  return window.visible(self.win)
end

---@return boolean whether the cursor is in the proposal
function View:focused()
  return self.buf ~= nil and api.nvim_get_current_buf() == self.buf
end

--- Return whether a file has text on both sides.
---@param file tideate.ReviewFile
---@return boolean
local function has_sides(file)
  return #(file.hunks or {}) > 0 and file.action ~= 'create' and file.action ~= 'delete'
end

--- Return the text with all hunks at their current places.
---@return string[]
function View:lines()
  local made = self.review.buffers[self.index]
  local plain = require('tideate.ui.text').plain
  local lines, last = {}, 0 ---@type string[], integer
  local old = api.nvim_buf_get_lines(made.buf, 0, -1, true)
  self.rows, self.units, self.sizes = {}, {}, {}
  for _, unit in ipairs(self.review.model.entries[self.index].units) do
    for _, hunk in ipairs(unit.hunks) do
      local row = math.max(last, math.min(made.overlay:row(hunk), #old))
      vim.list_extend(lines, old, last + 1, row)
      table.insert(self.rows, #lines)
      table.insert(self.units, unit)
      local offer = self.asked[unit] and made.overlay:offer(unit) or nil
      local shown, stands = offer or hunk, unit.stale and not offer
      local new = stands and vim.list_slice(old, row + 1, row + #hunk.old) or vim.tbl_map(plain, shown.new)
      table.insert(self.sizes, #new)
      vim.list_extend(lines, new)
      last = math.min(row + #shown.old, #old)
    end
  end
  return vim.list_extend(lines, old, last + 1)
end

--- Return the range of visible hunks of the proposal.
---@return integer first
---@return integer last less than the first if there are none
function View:in_sight()
  local seen = looks.seen(self.buf)[1]
  return self:hunk_at(seen[1]) or 1, self:hunk_at(seen[2]) or 0
end

--- Mark visible stale hunks for merging: typing must not wait for all.
---@return boolean anew whether one is new
function View:ask()
  local first, last = self:in_sight()
  local anew = false
  for index = first, last do
    local unit = self.units[index]
    if unit.stale and not self.asked[unit] then
      self.asked[unit], anew = true, true
    end
  end
  return anew
end

--- Rewrite the proposal after a hunk got another text.
function View:write_anew()
  self.tick = nil
  self:refresh()
end

--- Rewrite the proposal if the buffer changed.
function View:refresh()
  if not self:visible() then
    return
  end
  local buf = self.review.buffers[self.index].buf
  local tick = api.nvim_buf_get_changedtick(buf)
  local changed = self.tick ~= tick
  self.tick, self.asked = tick, changed and {} or self.asked
  self.review.buffers[self.index].overlay:check()
  -- merged lines can bring other hunks into view
  while self:ask() or changed do
    changed = false
    vim.bo[self.buf].modifiable = true
    api.nvim_buf_set_lines(self.buf, 0, -1, true, self:lines())
    vim.bo[self.buf].modifiable = false
  end
  self:draw_labels()
end

--- Draw decisions and signs beside the visible hunks.
function View:draw_labels()
  api.nvim_buf_clear_namespace(self.buf, marks, 0, -1)
  local last_row = api.nvim_buf_line_count(self.buf) - 1
  local function mark(row, options)
    options.strict = false
    api.nvim_buf_set_extmark(self.buf, marks, math.min(row, last_row), 0, options)
  end
  local first, last = self:in_sight()
  for index = first, last do
    local row, unit = self.rows[index], self.units[index]
    local state = looks.state(unit)
    local look = looks.look(state, unit.entry.written)
    mark(row, { sign_text = '  ', priority = 1 }) -- both sides have a sign column
    local signed = look.new and state ~= 'stale' and math.min(self.sizes[index], MOST_SIGNS) or 0
    for line = row, row + signed - 1 do
      mark(line, { sign_text = '+', sign_hl_group = 'TideateAddSign', priority = 200 })
    end
    if look.label then
      mark(row, { virt_text = { { ' ' .. look.label, look.group } } })
    end
  end
end

--- Return the last hunk that begins at or above a row of the proposal.
---@param row integer
---@return integer?
function View:hunk_at(row)
  local first, last = 1, #self.rows
  while first <= last do
    local middle = math.floor((first + last) / 2)
    if self.rows[middle] <= row then
      first = middle + 1
    else
      last = middle - 1
    end
  end
  return last > 0 and last or nil
end

--- Return the unit at a row of the proposal.
---@param row integer
---@return tideate.ReviewUnit?
function View:unit_at(row)
  return self:units_between(row, row)[1]
end

--- Return the units in rows of the proposal.
---@param first integer 0-based
---@param last integer
---@return tideate.ReviewUnit[]
function View:units_between(first, last)
  local entry, units = self.review.model.entries[self.index], {}
  if entry.whole then
    return entry.units
  end
  for index = self:hunk_at(first) or 1, self:hunk_at(last) or 0 do
    if self.rows[index] + math.max(1, self.sizes[index]) > first then
      table.insert(units, self.units[index])
    end
  end
  return units
end

--- Return the rows of a unit in the proposal.
---@param unit tideate.ReviewUnit
---@return integer? first, integer? last 0-based; nil if it only deletes
function View:range(unit)
  local first, last ---@type integer?, integer?
  for index, one in ipairs(self.units) do
    if one == unit and self.sizes[index] > 0 then
      first, last = first or self.rows[index], self.rows[index] + self.sizes[index] - 1
    end
  end
  return first, last
end

--- Return the next unit below or above a row of the proposal.
---@param row integer
---@param step 1|-1
---@return tideate.ReviewUnit?
function View:beyond(row, step)
  return self.units[step == 1 and (self:hunk_at(row) or 0) + 1 or self:hunk_at(row - 1) or 0]
end

--- Move the cursor of the proposal to a unit.
---@param unit tideate.ReviewUnit
function View:follow(unit)
  if not self:visible() or unit.entry.index ~= self.index then
    return
  end
  for index = math.min(unit.number, #self.units), #self.units do
    if self.units[index] == unit then
      local row = math.min(self.rows[index] + 1, api.nvim_buf_line_count(self.buf))
      return api.nvim_win_set_cursor(self.win, { row, 0 })
    end
  end
end

-- options set by `:diffthis`, and the colour of removed lines
local OPTIONS = { 'winhighlight', 'diff', 'scrollbind', 'cursorbind', 'wrap', 'foldmethod', 'foldcolumn', 'foldenable', 'foldlevel' }

---@param win integer
local function diff_this(win)
  api.nvim_win_call(win, function()
    vim.cmd('diffthis')
    vim.wo.foldcolumn = '0'
  end)
end

--- Open the proposal beside the window of a file.
---@param index integer
---@param left integer window
function View:show(index, left)
  if not self.wanted or (self:visible() and self.index == index and self.left == left) then
    return
  end
  self:hide()
  local review = self.review
  local file, id = review.model.entries[index].file, review.question.execution_id or ''
  if not has_sides(file) then
    return
  end
  self.index, self.left, self.tick = index, left, nil
  review.buffers[index].overlay:beside(true)
  self.buf = window.scratch(('tideate://proposal/%s/%s'):format(id:sub(1, 8), name_of(file)))
  vim.bo[self.buf].bufhidden = 'wipe'
  self.win = api.nvim_open_win(self.buf, false, { split = 'right', win = left })
  window.options(self.win, { winfixbuf = true })
  window.set_statusline(self.win)
  self:refresh()
  local scratch = require('tideate.ui.review.scratch_buffer')
  scratch.colour(self.buf, scratch.filetype(file))
  require('tideate.ui.keys').set(self.buf, review.guard:wrap(review:keys()))
  self.saved, self.scrollopt = {}, vim.o.scrollopt
  for _, name in ipairs(OPTIONS) do
    self.saved[name] = vim.wo[left][name]
  end
  diff_this(left)
  diff_this(self.win)
  window.show_as_removed(left)
end

--- Close the proposal after the user closed one of the windows or shows another buffer.
function View:check()
  if not self.index then
    return
  end
  local left, made = self.left, self.review.buffers[self.index]
  local shows = api.nvim_win_is_valid(left) and api.nvim_win_get_buf(left) == made.buf
  if shows and api.nvim_win_is_valid(self.win) then
    return self:refresh()
  end
  self.wanted = false
  self:hide()
end

--- Restore a window's options. Neovim remembers them for each buffer of the window.
---@param buf integer
---@param win integer
---@param saved table<string, any>
local function restore(buf, win, saved)
  api.nvim_win_call(win, function()
    vim.cmd('diffoff')
  end)
  local function set()
    if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf then
      window.options(win, saved)
      if saved.foldmethod == 'manual' then
        -- the diff's folds would stay closed over the user's lines
        api.nvim_win_call(win, function()
          vim.cmd('normal! zE')
        end)
      end
    end
  end
  set()
  window.draw_end(win)
  if api.nvim_win_get_buf(win) ~= buf and api.nvim_buf_is_valid(buf) then
    api.nvim_create_autocmd('BufWinEnter', { buffer = buf, once = true, callback = set })
  end
end

--- Close the proposal and restore the other window.
function View:hide()
  if not self.index then
    return
  end
  local made = self.review.buffers[self.index]
  if self.left and api.nvim_win_is_valid(self.left) then
    restore(made.buf, self.left, self.saved)
  end
  vim.o.scrollopt = self.scrollopt
  if not made.overlay.closed then
    made.overlay:beside(false)
  end
  local inside = self:focused()
  self.index, self.rows, self.units, self.sizes, self.asked = nil, {}, {}, {}, {}
  window.close(self.win)
  self.win, self.buf = nil, nil
  if inside and api.nvim_win_is_valid(self.left) then
    api.nvim_set_current_win(self.left)
  end
end

--- Toggle between inline and side-by-side view.
function View:toggle()
  local review = self.review
  self.wanted = not self.wanted
  if not self.wanted then
    self:hide()
    return review:draw()
  end
  if not has_sides(review.model.entries[review.current].file) then
    require('tideate.ui').notify('this file has one side; others are shown side by side')
  end
  local unit = walk.unit(review)
  walk.go_to_file(review, review.current)
  if unit then
    walk.go_to_unit(review, unit)
  end
end

return M
