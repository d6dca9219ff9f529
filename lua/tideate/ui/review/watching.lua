--- Autocommands of a review: windows, buffers, the cursor, `:q`.
local M = {}

local api = vim.api

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
    require('tideate.ui').warn(words:format(self.model:summary()))
  end)
end

--- Watch the editor until the group is deleted.
---@param self tideate.Review
function M.watch(self)
  self.group = api.nvim_create_augroup('tideate.review', { clear = true })
  api.nvim_create_autocmd('QuitPre', {
    group = self.group,
    callback = function()
      hold_back(self)
    end,
  })
  api.nvim_create_autocmd('BufWinEnter', {
    group = self.group,
    callback = function(event)
      self:set_keys(event.buf)
    end,
  })
  api.nvim_create_autocmd({ 'BufUnload', 'BufWipeout' }, {
    group = self.group,
    callback = function(event)
      local index = self:index_of(event.buf)
      if index then
        vim.schedule(function()
          self:unloaded(index)
        end)
      end
    end,
  })
  api.nvim_create_autocmd('CursorMoved', {
    group = self.group,
    callback = function(event)
      if self:index_of(event.buf) or event.buf == self.side.buf then
        self:draw_bars()
      end
    end,
  })
  api.nvim_create_autocmd('VimResized', {
    group = self.group,
    callback = function()
      self.files:resized()
    end,
  })
  api.nvim_create_autocmd({ 'BufWinEnter', 'WinEnter', 'WinNew', 'WinScrolled', 'WinResized', 'VimResized' }, {
    group = self.group,
    callback = function()
      self:draw_soon()
    end,
  })
  api.nvim_create_autocmd('WinClosed', {
    group = self.group,
    callback = function(event)
      local buf = api.nvim_win_get_buf(assert(tonumber(event.match)))
      local index = self:index_of(buf)
      local made = index and self.buffers[index]
      vim.schedule(function()
        local shown = made and api.nvim_buf_is_loaded(buf) and #vim.fn.win_findbuf(buf) == 0
        if not self.closed and made and made.scratch and shown and vim.v.exiting == vim.NIL then
          self:say_open('the window')
        end
      end)
    end,
  })
end

return M
