--- A floating question. It never takes typed keys: it is drawn without focus, and gets the focus when
--- the person is in plain normal mode and has stopped typing, or asks for it.
local M = {}

local ns = vim.api.nvim_create_namespace('tideate.dialog')

---@class tideate.DialogSpec
---@field title fun(): tideate.Chunk[]
---@field keys tideate.Key[]
---@field lines fun(width: integer): tideate.Chunk[][] what it says, drawn again when it changes
---@field width? integer wanted width of the text
---@field cursor_from? integer first row, 0-based, that the cursor may stand on; shows a cursor line
---@field leaves? integer rows at the bottom that it leaves in sight when it lies over the output
---@field at_top? boolean what it asks about stands at the bottom
---@field markdown? boolean highlight the text as markdown
---@field about? string run whose lines it leaves in sight
---@field on_closed fun() the person closed the window

---@class tideate.Dialog
---@field buf integer
---@field win integer?
---@field spec tideate.DialogSpec
---@field group integer
---@field back integer? the window the person came from
---@field stop_waiting fun()?
---@field guard tideate.Guard
---@field closed boolean
---@field at_top boolean?
---@field called boolean? the person has been here
---@field newest integer? highest window id when it had the focus last
---@field home integer? tab page in which it had the focus last
---@field trip integer? window that the person opened from it, and is in
---@field aside boolean? it is small, beside the line that the person writes
---@field restore_view fun()? shows again what the person saw before
local Dialog = {}
Dialog.__index = Dialog

---@type table<tideate.Dialog, true>
local open_ones = {}

--- Whether a dialog is open beside which code has to be seen.
---@return boolean
function M.shows_code()
  return vim.iter(pairs(open_ones)):any(function(one)
    return require('tideate.ui.dialog_layout').code(one) ~= nil
  end)
end

--- Lay the dialogs out again: something else that lies over the code came, went or changed its size.
function M.arrange()
  for one in pairs(open_ones) do
    one:arrange()
  end
end

---@param spec tideate.DialogSpec
---@return tideate.Dialog
function M.open(spec)
  local buf = require('tideate.ui.window').scratch()
  vim.bo[buf].bufhidden = 'hide'
  local self = setmetatable({ buf = buf, spec = spec, closed = false }, Dialog)
  self.group = vim.api.nvim_create_augroup('tideate.dialog.' .. buf, { clear = true })
  self.guard = require('tideate.ui.key_guard').new(function()
    self:footer()
  end)
  require('tideate.ui.keys').set(buf, self.guard:wrap(spec.keys))
  if spec.markdown then
    pcall(vim.treesitter.start, buf, 'markdown')
    -- what a hanging indent goes by
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
    vim.api.nvim_create_autocmd(events, { group = self.group, callback = callback })
  end
  on('WinClosed', function(event)
    if tonumber(event.match) == self.win then
      self:went_away(vim.api.nvim_get_current_win() == self.win)
    elseif tonumber(event.match) == self.trip then
      self:regain()
    end
  end)
  vim.api.nvim_create_autocmd('CursorMoved', {
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

--- The window was closed by something else than an answer.
---@param by_person boolean it had the focus, so they meant it
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

--- Note whether the person is here, in a window that they opened from here, or went to another one.
function Dialog:follow_person()
  local current = vim.api.nvim_get_current_win()
  if current == self.win then
    self.newest, self.home = math.max(unpack(vim.api.nvim_list_wins())), vim.api.nvim_get_current_tabpage()
    self.trip = nil
  else
    -- ids of windows grow
    local opened = self.newest and current > self.newest and not require('tideate.ui.window').is_float(current)
    local trip = self.trip
    self.trip = opened and current or nil
    local left_tab = trip and vim.api.nvim_win_is_valid(trip) and vim.api.nvim_win_get_tabpage(trip) ~= self.home
    if left_tab and vim.api.nvim_get_current_tabpage() == self.home then
      self:regain()
    end
  end
end

--- Take the focus again: the person closed the window, or left the tab page, that they had opened from here.
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
  return self.win ~= nil and vim.api.nvim_get_current_win() == self.win
end

---@return boolean whether the next key is an answer
function Dialog:ready()
  return self:focused() and self.guard:ready()
end

--- Make room for what the person writes, as long as they have not come here.
function Dialog:uncover_cursor()
  if self.closed or not self.stop_waiting or not require('tideate.ui.window').visible(self.win) then
    return
  end
  local config = vim.api.nvim_win_get_config(self.win)
  if not self:focused() and require('tideate.ui.float_layout').covers_cursor(config.row, config.height) then
    self:show()
  end
end

--- Draw the window, opened again if needed.
function Dialog:show()
  local window, text = require('tideate.ui.window'), require('tideate.ui.text')
  local config, lines = require('tideate.ui.dialog_layout').of(self)
  text.render(self.buf, ns, lines)
  if self.win and not window.visible(self.win) then
    local stale = self.win
    self.win = nil
    window.close(stale)
  end
  if self.win then
    require('tideate.ui.window').configure(self.win, config)
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

--- Choose its place again.
function Dialog:arrange()
  if require('tideate.ui.window').visible(self.win) then
    self.at_top = nil
    self:show()
  end
end

--- Scroll to the code that it is about, where it lies over that.
function Dialog:uncover_code()
  local layout, config = require('tideate.ui.dialog_layout'), vim.api.nvim_win_get_config(self.win)
  local code = layout.code(self)
  if code and not self.restore_view and not layout.leaves_code(code, config.height, self.at_top == true) then
    self.restore_view = require('tideate.ui.code_in_question').bring(code, function()
      self.restore_view = nil
    end)
  end
end

--- Keep the cursor on the lines that can be chosen.
function Dialog:hold_cursor()
  local first = (self.spec.cursor_from or 0) + 1
  if require('tideate.ui.window').visible(self.win) and vim.api.nvim_win_get_cursor(self.win)[1] < first then
    vim.api.nvim_win_set_cursor(self.win, { math.min(first, vim.api.nvim_buf_line_count(self.buf)), 0 })
  end
end

--- How much lies below the edge of the window.
---@return tideate.Chunk[]
function Dialog:below()
  local lines = vim.api.nvim_buf_line_count(self.buf) - vim.fn.line('w$', self.win)
  if lines <= 0 then
    return {}
  end
  local words = (' ▼ %s more, <C-D> '):format(require('tideate.ui.readable_text').count(lines))
  return { { words, 'TideateWarning' } }
end

--- What asks, and the keys, or how to get to them.
function Dialog:footer()
  if not self.win or not vim.api.nvim_win_is_valid(self.win) then
    return
  end
  local text = require('tideate.ui.text')
  local width = vim.api.nvim_win_get_width(self.win)
  local footer
  if self:focused() and not self.guard:ready() then
    footer = { require('tideate.ui.key_guard').HINT }
  elseif self:focused() or vim.w.tideate_over then
    footer = self:below()
    vim.list_extend(footer, text.keys(require('tideate.ui.keys').words(self.spec.keys), width - text.width(footer)))
  else
    -- <Esc> leads here only as long as it was never focused: it ends what the person is typing
    local way = self.stop_waiting and 'press <Esc>, or :Workflow ' or ':Workflow leads back '
    footer = text.fit_chunks({ { ' waits for you: ', 'TideateWarning' }, { way, 'TideateHint' } }, width)
  end
  local title = text.fit_chunks(self.spec.title(), width)
  require('tideate.ui.window').configure(self.win, { title = title, footer = footer, title_pos = 'left', footer_pos = 'left' })
end

--- Give the person the window.
---@param unasked boolean? nothing that the person did brings them here
function Dialog:focus(unasked)
  self.called = true
  if self.aside or not require('tideate.ui.window').visible(self.win) then
    self:show()
  end
  if self.stop_waiting then
    self.stop_waiting()
    self.stop_waiting = nil
  end
  self:uncover_code()
  local current = vim.api.nvim_get_current_win()
  if current ~= self.win then
    self.back = current
    if unasked then
      self.guard:arm()
    end
    vim.api.nvim_set_current_win(self.win)
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

--- Close the window; no answer is given.
function Dialog:close()
  if self.closed then
    return
  end
  self.closed = true
  open_ones[self] = nil
  if self.stop_waiting then
    self.stop_waiting()
  end
  vim.api.nvim_del_augroup_by_id(self.group)
  if self.restore_view then
    self.restore_view()
  end
  local window = require('tideate.ui.window')
  local focused = self:focused()
  window.close(self.win)
  if focused and window.visible(self.back) then
    vim.api.nvim_set_current_win(self.back)
  end
  if vim.api.nvim_buf_is_valid(self.buf) then
    vim.api.nvim_buf_delete(self.buf, { force = true })
  end
  require('tideate.ui.output').arrange()
end

return M
