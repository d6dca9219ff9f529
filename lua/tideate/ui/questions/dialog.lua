--- Floating window of a question, used by all kinds of questions.
--- It never takes typed keys: it opens without focus, and gets the focus when the user is in plain normal mode and
--- stopped typing, or asks for it.
local M = {}

local api = vim.api
local code_in_question = require('tideate.ui.questions.code_in_question')
local text = require('tideate.ui.text')
local window = require('tideate.ui.window')
local place = require('tideate.ui.window.float_layout')

local ns = api.nvim_create_namespace('tideate.dialog')

---@class tideate.DialogSpec
---@field title fun(): tideate.Chunk[]
---@field keys tideate.Key[]
---@field lines fun(width: integer): tideate.Chunk[][] text, drawn again when it changes
---@field width? integer preferred width of the text
---@field cursor_from? integer first row, 0-based, for the cursor; shows a cursor line
---@field leaves? integer rows at the bottom left visible when it covers the output
---@field at_top? boolean its subject is at the bottom
---@field markdown? boolean highlight the text as markdown
---@field about? string run; its lines stay visible
---@field on_closed fun() the user closed the window

---@class tideate.Dialog
---@field buf integer
---@field win integer?
---@field spec tideate.DialogSpec
---@field group integer
---@field back integer? window that had the focus before
---@field stop_waiting fun()?
---@field guard tideate.Guard
---@field closed boolean
---@field at_top boolean?
---@field called boolean? the user entered it before
---@field newest integer? highest window id when it last had the focus
---@field home integer? tab page in which it last had the focus
---@field trip integer? current window, opened from the dialog
---@field aside boolean? small, beside the line that the user writes
---@field restore_view fun()? restores the scrolled view of the code
local Dialog = {}
Dialog.__index = Dialog

local LEAST = 6 -- rows of a readable long text

--- Return the number of rows that wrapped lines take.
---@param lines tideate.Chunk[][]
---@param width integer
---@return integer
local function rows_of(lines, width)
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(text.width(line) / width))
  end
  return rows
end

--- Return the code that a dialog asks about, if it is visible.
---@param dialog tideate.Dialog
---@return tideate.ui.CodeInQuestion?
local function code_of(dialog)
  return code_in_question.of(dialog.spec.about)
end

--- Return whether a dialog leaves the code visible.
---@param code tideate.ui.CodeInQuestion
---@param height integer
---@param at_top boolean
---@param free? tideate.Place
---@return boolean
local function leaves_code(code, height, at_top, free)
  free = free or place.free()
  local top, bottom = free.row, free.row + free.rows
  top, bottom = at_top and top + height + 2 or top, at_top and bottom or bottom - height - 2
  return code_in_question.shows(code, top, bottom)
end

--- Return whether a dialog belongs at the top: the bottom has the code or the line that the user writes.
---@param dialog tideate.Dialog
---@param height integer
---@param free tideate.Place
---@return boolean
local function belongs_at_top(dialog, height, free)
  local code = code_of(dialog)
  if code then
    local seen_above = leaves_code(code, height, false, free)
    if not seen_above or not leaves_code(code, height, true, free) then
      return not seen_above and leaves_code(code, height, true, free)
    end
  end
  local line = vim.fn.screenrow() - free.row
  return line > free.rows - height - 2 and line <= free.rows and line > height + 3
end

--- Return a lower height that leaves the code visible; nil if the code is visible already or never fits.
---@param dialog tideate.Dialog
---@param height integer
---@param at_top boolean
---@return integer?
local function height_beside_code(dialog, height, at_top)
  local code, free = code_of(dialog), place.free()
  if not code or free.rows > height + 2 and leaves_code(code, height, at_top, free) then
    return nil
  end
  for lower = math.min(height, free.rows - 2) - 1, LEAST, -1 do
    if leaves_code(code, lower, at_top, free) then
      return lower
    end
  end
end

---@param wanted integer columns of the text
---@param free tideate.Place
---@return integer
local function fitting(wanted, free)
  local most = free.columns - 2
  return most - wanted <= window.EDGE and most or wanted
end

--- Compute the float's configuration and lines of a dialog.
---@param dialog tideate.Dialog
---@return table<string, any> config, tideate.Chunk[][] lines
local function layout(dialog)
  local wanted = dialog.spec.width or 64
  local free = place.free()
  local width = fitting(wanted, free)
  local lines = dialog.spec.lines(width)
  local crowded = rows_of(lines, width) + 2 > free.rows
  if crowded then
    free = place.whole()
    free.rows = math.max(8, free.rows - (dialog.spec.leaves or 0))
    width = fitting(wanted, free)
    lines = dialog.spec.lines(width)
  end
  local height = math.max(1, math.min(rows_of(lines, width), free.rows - 2))
  if not dialog.win or dialog.at_top == nil then
    dialog.at_top = dialog.spec.at_top or belongs_at_top(dialog, height, free)
  end
  local lower = dialog.win and height_beside_code(dialog, height, dialog.at_top)
  if lower then
    height, free, crowded = lower, place.free(), false
  end
  local row = free.row + ((dialog.at_top or crowded) and 0 or math.max(0, free.rows - height - 2))
  dialog.aside = not dialog.called and not dialog:focused() and (dialog.aside or place.covers_cursor(row, height))
  if dialog.aside then
    row, height = place.beside_cursor(height)
  end
  return {
    relative = 'editor',
    width = width,
    height = height,
    row = row,
    col = free.col + math.max(0, math.floor((free.columns - width - 2) / 2)),
  },
    lines
end

---@type table<tideate.Dialog, true>
local open_ones = {}

--- Return whether an open dialog asks about visible code.
---@return boolean
function M.shows_code()
  return vim.iter(pairs(open_ones)):any(function(one)
    return code_of(one) ~= nil
  end)
end

--- Lay out the dialogs again after another float over the code opened, closed or changed its size.
function M.arrange()
  for one in pairs(open_ones) do
    one:arrange()
  end
end

---@param spec tideate.DialogSpec
---@return tideate.Dialog
function M.open(spec)
  local buf = window.scratch(nil, { bufhidden = 'hide' })
  local self = setmetatable({ buf = buf, spec = spec, closed = false }, Dialog)
  self.group = api.nvim_create_augroup('tideate.dialog.' .. buf, { clear = true })
  self.guard = require('tideate.ui.questions.key_guard').new(function()
    self:footer()
  end)
  require('tideate.ui.keys').set(buf, self.guard:wrap(spec.keys))
  if spec.markdown then
    pcall(vim.treesitter.start, buf, 'markdown')
    -- indents list items by their markers
    vim.bo[buf].formatlistpat = [[^\s*\%(\d\+[.)]\|[-*+]\)\s\+]]
  end
  self:watch()
  open_ones[self] = true
  require('tideate.ui.output').arrange()
  self:show()
  return self
end

function Dialog:watch()
  local function on(events, callback)
    api.nvim_create_autocmd(events, { group = self.group, callback = callback })
  end
  on('WinClosed', function(event)
    if tonumber(event.match) == self.win then
      self:went_away(api.nvim_get_current_win() == self.win)
    elseif tonumber(event.match) == self.trip then
      self:regain()
    end
  end)
  api.nvim_create_autocmd('CursorMoved', {
    group = self.group,
    buffer = self.buf,
    callback = function()
      self:hold_cursor()
    end,
  })
  on({ 'CursorMoved', 'CursorMovedI', 'WinScrolled' }, function()
    self:uncover_cursor()
  end)
  on('WinScrolled', vim.schedule_wrap(function()
    if not self.closed then
      self:footer()
    end
  end))
  on({ 'VimResized', 'TabEnter' }, vim.schedule_wrap(function()
    if not self.closed then
      self:show()
    end
  end))
  on('WinEnter', function()
    self:follow_person()
  end)
  on({ 'WinEnter', 'WinLeave' }, vim.schedule_wrap(function()
    if not self.closed then
      self:footer()
    end
  end))
end

--- Handle a close of the window that is not an answer.
---@param by_person boolean it had the focus, so the user meant it
function Dialog:went_away(by_person)
  self.win = nil
  if self.closed or vim.v.exiting ~= vim.NIL then
    return
  end
  vim.schedule(function()
    if self.closed then
      return
    elseif by_person then
      self.spec.on_closed()
    else
      self:show()
    end
  end)
end

--- Track whether the user is in the dialog, in a window opened from it, or elsewhere.
function Dialog:follow_person()
  local current = api.nvim_get_current_win()
  if current == self.win then
    self.newest, self.home = math.max(unpack(api.nvim_list_wins())), api.nvim_get_current_tabpage()
    self.trip = nil
  else
    -- window ids only grow
    local opened = self.newest and current > self.newest and not window.is_float(current)
    local trip = self.trip
    self.trip = opened and current or nil
    local left_tab = trip and api.nvim_win_is_valid(trip) and api.nvim_win_get_tabpage(trip) ~= self.home
    if left_tab and api.nvim_get_current_tabpage() == self.home then
      self:regain()
    end
  end
end

--- Take the focus again after the user closed the window or left the tab page that they had opened from here.
function Dialog:regain()
  self.trip = nil
  vim.schedule(function()
    if self.closed or self:focused() then
      return
    elseif require('tideate.ui.typing').plain_normal() then
      self:focus(true)
    elseif not self.stop_waiting then
      self:wait_for_quiet()
    end
  end)
end

---@return boolean
function Dialog:focused()
  return self.win ~= nil and api.nvim_get_current_win() == self.win
end

---@return boolean whether keys answer now
function Dialog:ready()
  return self:focused() and self.guard:ready()
end

--- Move off the line that the user writes, until they enter the dialog.
function Dialog:uncover_cursor()
  if self.closed or not self.stop_waiting or not window.visible(self.win) then
    return
  end
  local config = api.nvim_win_get_config(self.win)
  if not self:focused() and place.covers_cursor(config.row, config.height) then
    self:show()
  end
end

--- Draw the window; reopen it if needed.
function Dialog:show()
  local config, lines = layout(self)
  text.render(self.buf, ns, lines)
  if self.win and not window.visible(self.win) then
    local stale = self.win
    self.win = nil
    window.close(stale)
  end
  if self.win then
    window.configure(self.win, config)
  else
    config.title, config.footer = ' ', ' '
    self.win = window.float(self.buf, false, vim.tbl_extend('force', config, { zindex = 100 }))
    vim.w[self.win].tideate_dialog = true
    require('tideate.ui.notify').make_room()
    window.options(self.win, {
      cursorline = self.spec.cursor_from ~= nil,
      scrolloff = 0,
      breakindent = self.spec.markdown == true,
      breakindentopt = 'list:-1',
      smoothscroll = true,
    })
    if not self.aside then
      self:hold_cursor()
    end
    if not self.stop_waiting then
      self:wait_for_quiet()
    end
  end
  self:footer()
end

--- Choose the position again.
function Dialog:arrange()
  if window.visible(self.win) then
    self.at_top = nil
    self:show()
  end
end

--- Scroll the code into view if the dialog covers it.
function Dialog:uncover_code()
  local config = api.nvim_win_get_config(self.win)
  local code = code_of(self)
  if code and not self.restore_view and not leaves_code(code, config.height, self.at_top == true) then
    self.restore_view = code_in_question.bring(code, function()
      self.restore_view = nil
    end)
  end
end

--- Keep the cursor on the lines that can be chosen.
function Dialog:hold_cursor()
  local first = (self.spec.cursor_from or 0) + 1
  if window.visible(self.win) and api.nvim_win_get_cursor(self.win)[1] < first then
    api.nvim_win_set_cursor(self.win, { math.min(first, api.nvim_buf_line_count(self.buf)), 0 })
  end
end

--- Return a hint with the number of lines below the window.
---@return tideate.Chunk[]
function Dialog:below()
  local lines = api.nvim_buf_line_count(self.buf) - vim.fn.line('w$', self.win)
  if lines <= 0 then
    return {}
  end
  local words = (' ▼ %s more, <C-D> '):format(require('tideate.ui.text.readable').count(lines))
  return { { words, 'TideateWarning' } }
end

--- Draw the title, and the keys or the command that leads to them.
function Dialog:footer()
  if not self.win or not api.nvim_win_is_valid(self.win) then
    return
  end
  local width = api.nvim_win_get_width(self.win)
  local footer
  if self:focused() and not self.guard:ready() then
    footer = { require('tideate.ui.questions.key_guard').HINT }
  elseif self:focused() or vim.w.tideate_over then
    footer = self:below()
    vim.list_extend(footer, text.keys(require('tideate.ui.keys').words(self.spec.keys), width - text.width(footer)))
  else
    -- <Esc> leads here only until the first focus: it ends the user's typing
    local way = self.stop_waiting and 'press <Esc>, or :Workflow ' or ':Workflow leads back '
    footer = text.fit_chunks({ { ' waits for you: ', 'TideateWarning' }, { way, 'TideateHint' } }, width)
  end
  local title = text.fit_chunks(self.spec.title(), width)
  window.configure(self.win, { title = title, footer = footer, title_pos = 'left', footer_pos = 'left' })
end

--- Give the dialog the focus.
---@param unasked boolean? without a request by the user
function Dialog:focus(unasked)
  self.called = true
  if self.aside or not window.visible(self.win) then
    self:show()
  end
  if self.stop_waiting then
    self.stop_waiting()
    self.stop_waiting = nil
  end
  self:uncover_code()
  local current = api.nvim_get_current_win()
  if current ~= self.win then
    self.back = current
    if unasked then
      self.guard:arm()
    end
    api.nvim_set_current_win(self.win)
  end
  if not unasked then
    self.guard:release()
  end
  self:hold_cursor()
  self:footer()
end

function Dialog:wait_for_quiet()
  self.stop_waiting = require('tideate.ui.typing').when_quiet(function()
    self.stop_waiting = nil
    if not self.closed then
      self:focus(true)
    end
  end)
end

--- Close the window without an answer.
function Dialog:close()
  if self.closed then
    return
  end
  self.closed = true
  open_ones[self] = nil
  if self.stop_waiting then
    self.stop_waiting()
  end
  api.nvim_del_augroup_by_id(self.group)
  if self.restore_view then
    self.restore_view()
  end
  window.leave(self.win, window.visible(self.back) and self.back or nil)
  window.delete(self.buf)
  require('tideate.ui.output').arrange()
end

return M
