--- Show a review's buffers and bars in windows, and restore the windows at its end.
local M = {}

local api = vim.api
local window = require('tideate.ui.window')

local ACTIVE = '%#TideateTitle# review '
local INACTIVE = '%#TideateOut# review '

---@class tideate.ReviewWindows
---@field replaced table<integer, { buf: integer, view: table }> windows with another buffer now
---@field bars table<integer, string> replaced winbars
---@field seen table<integer, integer> buffer → a window that showed it with the review's bar
---@field home integer? window for the files of the review
local Windows = {}
Windows.__index = Windows

---@return tideate.ReviewWindows
function M.new()
  return setmetatable({ replaced = {}, bars = {}, seen = {} }, Windows)
end

---@param buf integer
---@return integer? win of this tab page
local function showing(buf)
  local current = api.nvim_get_current_win()
  if api.nvim_win_get_buf(current) == buf and not window.is_float(current) then
    return current
  end
  return vim.iter(window.normal_windows()):find(function(win)
    return api.nvim_win_get_buf(win) == buf
  end)
end

--- Return whether a window can show another buffer now.
---@param win integer
---@return boolean
local function can_change(win)
  local buf = api.nvim_win_get_buf(win)
  return not vim.wo[win].winfixbuf and (vim.o.hidden or not vim.bo[buf].modified or #vim.fn.win_findbuf(buf) > 1)
end

--- Show a buffer: the first one in its own window, later ones in the same, so that the user's window never changes
--- unexpectedly.
---@param buf integer
---@return integer win
function Windows:show(buf)
  local home = window.visible(self.home) and can_change(self.home) and self.home or nil
  local found = home and api.nvim_win_get_buf(home) == buf and home or (not home and showing(buf))
  if found then
    if not self.home then
      window.draw_end(found) -- the user may have had a diff in it
    end
    self.home = found
    return found
  end
  local win = home or window.for_files()
  if not win or not can_change(win) then
    self.home = window.split(buf, 'above')
    return self.home
  end
  self.home = win
  if not self.replaced[win] then
    self.replaced[win] = {
      buf = api.nvim_win_get_buf(win),
      view = api.nvim_win_call(win, vim.fn.winsaveview),
    }
  end
  self:bar(win, nil) -- a window remembers its options per buffer
  api.nvim_win_set_buf(win, buf)
  window.draw_end(win)
  return win
end

--- Set a window's bar, or restore its own.
---@param win integer
---@param bar string?
---@param active boolean?
function Windows:bar(win, bar, active)
  local now = api.nvim_get_option_value('winbar', { win = win, scope = 'local' })
  local ours = vim.startswith(now, ACTIVE) or vim.startswith(now, INACTIVE)
  if bar then
    bar = (active and ACTIVE or INACTIVE) .. '%*' .. bar
    self.bars[win] = ours and self.bars[win] or not ours and now or ''
    self.seen[api.nvim_win_get_buf(win)] = win
  elseif ours then
    bar = self.bars[win] or ''
  end
  if bar and bar ~= now then
    window.options(win, { winbar = bar })
  end
end

--- Show the bars in the windows of the review, and in no others.
---@param bar_of? fun(buf: integer, win: integer): string?, boolean? bar, and whether it is the active one; nil for other buffers
function Windows:draw_bars(bar_of)
  for _, win in ipairs(api.nvim_list_wins()) do
    local bar, active ---@type string?, boolean?
    if bar_of and not window.is_float(win) then
      bar, active = bar_of(api.nvim_win_get_buf(win), win)
    end
    self:bar(win, bar, active)
  end
end

--- Restore every window.
---@param ours table<integer, any> buffers of the review
function Windows:restore(ours)
  self:draw_bars()
  for win, saved in pairs(self.replaced) do
    local valid = api.nvim_win_is_valid(win) and api.nvim_buf_is_valid(saved.buf)
    if valid and ours[api.nvim_win_get_buf(win)] then
      api.nvim_win_set_buf(win, saved.buf)
      api.nvim_win_call(win, function()
        vim.fn.winrestview(saved.view)
      end)
    end
  end
  self:draw_bars()
  -- Neovim remembers the bar of a buffer and shows it again when the buffer returns to a window
  for buf, win in pairs(self.seen) do
    if api.nvim_buf_is_valid(buf) and api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) ~= buf then
      api.nvim_create_autocmd('BufWinEnter', {
        buffer = buf,
        once = true,
        callback = function()
          self:bar(0, nil)
        end,
      })
    end
  end
end

return M
