--- The list of a review's files, with the decisions on each.
local M = {}

local api = vim.api
local model = require('tideate.ui.review.model')
local text = require('tideate.ui.text')
local walk = require('tideate.ui.review.walk')
local window = require('tideate.ui.window')

local ns = api.nvim_create_namespace('tideate.review.files')

local WIDE = 120 -- minimum columns to open it by default
local WIDTH = 38 -- columns of it

---@type { [1]: string, [2]: string, [3]: string }[] count, sign and group
local COUNTS = {
  { 'accepted', '✓', 'TideateDone' },
  { 'rejected', '✗', 'TideateHint' },
  { 'open', '○', 'TideateRunning' },
  { 'comments', '»', 'TideateComment' },
}

---@class tideate.ReviewFileList
---@field review tideate.Review
---@field buf integer?
---@field win integer?
---@field unasked boolean opened by default, on a wide screen
---@field shown integer? marked file
local List = {}
List.__index = List

---@param review tideate.Review
---@return tideate.ReviewFileList
function M.new(review)
  return setmetatable({ review = review, unasked = false }, List)
end

---@return boolean
function List:visible()
  return window.visible(self.win)
end

---@return boolean whether the cursor is in it
function List:focused()
  return self.buf ~= nil and api.nvim_get_current_buf() == self.buf
end

---@param entry tideate.ReviewEntry
---@return tideate.Chunk[]
local function counts(entry)
  local chunks = {} ---@type tideate.Chunk[]
  for _, one in ipairs(COUNTS) do
    local count = entry.count[one[1]]
    if count > 0 then
      table.insert(chunks, { (' %s%s'):format(one[2], entry.count.total > 1 and count or ''), one[3] })
    end
  end
  return chunks
end

---@param entry tideate.ReviewEntry
---@return tideate.Chunk[]
local function line(entry)
  local file, sign = entry.file, entry.sign
  local kind = model.kind_sign(file)
  local more, group = kind ~= sign[1] and kind or ' ', 'TideateChangeSign'
  if entry.danger then
    more, group = '!', require('tideate.ui.questions.executed_files').GROUP
  elseif file.marks then
    more, group = '?', 'TideateWarning'
  end
  local chunks = { { ' ' .. sign[1], sign[2] }, { more .. ' ', group } }
  local numbers = counts(entry)
  local room = WIDTH - text.width(chunks) - text.width(numbers) - 1
  local name = model.short(model.name(file), room)
  table.insert(chunks, { text.pad(name, room), entry.count.open > 0 and 'TideatePath' or 'TideateOut' })
  return vim.list_extend(chunks, numbers)
end

--- Draw the lines of changed files.
function List:draw()
  if not self:visible() then
    return
  end
  local current = self.review.current
  for entry in pairs(self.review.model.touched) do
    text.splice(self.buf, ns, entry.index - 1, entry.index, { line(entry) })
  end
  self.review.model.touched = {}
  if not self:focused() and self.shown ~= current then
    self.shown = current
    api.nvim_win_set_cursor(self.win, { current, 0 })
  end
end

--- Return the first file of the fold at the end, which only moves or formats; nil without one.
---@return integer?
function List:first_folded()
  local entries = self.review.model.entries
  local first = #entries + 1
  while first > 1 and entries[first - 1].file.folded do
    first = first - 1
  end
  return first <= #entries and first or nil
end

--- Return the text of the fold.
---@return string
function M.fold_text()
  local count = vim.v.foldend - vim.v.foldstart + 1
  return (' + %s: only moved or formatted'):format(text.counted(count, 'file'))
end

---@return integer index of the file under the cursor
function List:index()
  return api.nvim_win_get_cursor(self.win)[1]
end

--- Return no hunk: a line is a file.
function List:unit_at() end

--- Return the hunks of the files in some lines.
---@param first integer 0-based
---@param last integer
---@return tideate.ReviewUnit[]
function List:units_between(first, last)
  return vim.iter(vim.list_slice(self.review.model.entries, first + 1, last + 1)):map(function(entry)
    return entry.units
  end):flatten():totable()
end

--- Put the cursor on a file without leaving the list.
---@param index integer
function List:go_to(index)
  api.nvim_win_set_cursor(self.win, { index, 0 })
  self.review:draw()
end

--- Return the hunks of the file under the cursor, or of all files of a closed fold.
---@return tideate.ReviewUnit[]
function List:units()
  local index = self:index()
  local first, last = vim.fn.foldclosed(index), vim.fn.foldclosedend(index)
  if first < 0 then
    first, last = index, index
  end
  return self:units_between(first - 1, last - 1)
end

--- Return the keys of the review; those about a hunk act on the file under the cursor.
---@return tideate.Key[]
function List:keys()
  local review, words = self.review, self.review.model:words()
  local function decide(state)
    return function()
      require('tideate.ui.review.decisions').decide_file(review, state)
    end
  end
  local function step(by)
    return function()
      local at = self:index()
      local edge = by > 0 and vim.fn.foldclosedend(at) or vim.fn.foldclosed(at)
      self:go_to(((edge > 0 and edge or at) - 1 + by) % #review.model.entries + 1)
    end
  end
  local here = { ---@type table<string, { [1]: string, [2]: fun() }>
    ga = { words.accept .. ' the open hunks of the file', decide('accepted') },
    gr = { words.reject .. ' the open hunks of the file', decide('rejected') },
    go = { 'open all of the file again', decide('open') },
    [']c'] = { 'next file', step(1) },
    ['[c'] = { 'previous file', step(-1) },
  }
  local keys = vim.tbl_map(function(key)
    local other = not key.modes and here[key.lhs[1]]
    return other and vim.tbl_extend('force', key, { desc = other[1], run = other[2] }) or key
  end, review:keys())
  table.insert(keys, 1, {
    lhs = { '<CR>', '<2-LeftMouse>' },
    desc = 'go to the file',
    shown = { '<CR>' },
    run = function()
      if vim.fn.foldclosed(self:index()) > 0 then
        return vim.cmd('normal! zo')
      end
      walk.enter_file(review, self:index())
    end,
  })
  return keys
end

---@return integer buf
function List:make()
  local review = self.review
  local buf = window.scratch(('tideate://review-files/%s'):format((review.question.execution_id or ''):sub(1, 8)))
  text.render(buf, ns, vim.tbl_map(line, review.model.entries))
  review.model.touched = {}
  require('tideate.ui.keys').set(buf, review.guard:wrap(self:keys()))
  return buf
end

--- Open the list without entering it.
function List:open()
  if self:visible() then
    return
  end
  self.buf = self.buf or self:make()
  self.shown = nil
  self.win = api.nvim_open_win(self.buf, false, { split = 'left', win = -1, width = WIDTH })
  local title = { { (' %d files '):format(#self.review.model.entries), 'TideateTitle' } }
  vim.list_extend(title, text.keys({ { '<CR>', 'open' }, { 'gl', 'hide' }, { 'g?', 'help' } }))
  window.set_statusline(self.win)
  window.list_options(self.win, {
    cursorline = true,
    winfixwidth = true,
    fillchars = 'eob: ',
    winbar = text.bar(title),
  })
  local first = self:first_folded()
  if first then
    window.options(self.win, {
      foldenable = true,
      foldmethod = 'manual',
      foldtext = "v:lua.require'tideate.ui.review.file_list'.fold_text()",
    })
    api.nvim_win_call(self.win, function()
      vim.cmd(('%d,$fold'):format(first))
    end)
  end
  self:draw()
end

--- Open the list if the screen is wide enough.
function List:open_if_wide()
  if #self.review.model.entries > 1 and vim.o.columns >= WIDE then
    self.unasked = true
    self:open()
  end
end

--- Close the list, if it was opened by default, when the screen gets narrow.
function List:resized()
  if self.unasked and self:visible() and vim.o.columns < WIDE then
    self:close()
  end
end

--- Enter the list; hide it from within.
function List:toggle()
  self.unasked = false
  if self:focused() then
    return self:close()
  end
  self:open()
  api.nvim_set_current_win(self.win)
end

--- Hide the list; a cursor in it returns to the hunks.
function List:close()
  local inside = self:focused()
  window.close(self.win)
  self.win = nil
  if inside and not self.review.closed then
    walk.go_to_file(self.review, self.review.current)
  end
end

--- Delete the list.
function List:delete()
  self:close()
  window.delete(self.buf)
end

return M
