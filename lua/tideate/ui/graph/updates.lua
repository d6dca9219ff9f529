--- Updates of a drawing after changes of its text or window.
local M = {}

local api = vim.api
local drawing = require('tideate.ui.graph.drawing')

local WAIT = 200 -- milliseconds without a change before a redraw

---@class tideate.ui.GraphActions
---@field draw fun() redraw
---@field leave fun() close the drawing
---@field keys fun(): tideate.Key[]

---@param it tideate.ui.Graph
---@param draw fun()
local function draw_soon(it, draw)
  it.timer:start(WAIT, 0, vim.schedule_wrap(function()
    if not it.left then
      draw()
    end
  end))
end

--- Watch changes of the text, in any window and by anyone.
---@param it tideate.ui.Graph
---@param draw fun()
local function listen(it, draw)
  if it.followed then
    return
  end
  local function changed()
    if it.left then
      return true -- stop watching
    end
    draw_soon(it, draw)
  end
  it.followed = api.nvim_buf_attach(it.source.buf, false, {
    on_lines = changed,
    on_reload = changed,
    on_detach = function()
      it.followed = false
    end,
  })
end

---@param it tideate.ui.Graph
---@param actions tideate.ui.GraphActions
local function follow_text(it, actions)
  it.timer = assert(vim.uv.new_timer())
  listen(it, actions.draw)
  api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
    group = it.group,
    buffer = it.source.buf,
    desc = 'Let the drawing follow a text that is opened again',
    callback = function()
      listen(it, actions.draw)
      draw_soon(it, actions.draw)
    end,
  })
  api.nvim_create_autocmd({ 'BufUnload', 'BufWipeout' }, {
    group = it.group,
    buffer = it.source.buf,
    desc = 'Say that the drawn text is closed',
    -- later: rereading a file unloads it first
    callback = vim.schedule_wrap(function()
      if not it.left and drawing.showing(it) then
        drawing.head(it, actions.keys())
      end
    end),
  })
end

---@param it tideate.ui.Graph
---@param actions tideate.ui.GraphActions
local function follow_window(it, actions)
  api.nvim_create_autocmd('WinClosed', {
    group = it.group,
    pattern = tostring(it.win),
    callback = vim.schedule_wrap(function()
      if not it.left then
        actions.leave()
      end
    end),
  })
  api.nvim_create_autocmd({ 'BufEnter', 'BufWinEnter' }, {
    group = it.group,
    desc = 'Leave the window to another buffer that is shown in it',
    callback = vim.schedule_wrap(function()
      if not it.left and not drawing.showing(it) then
        actions.leave()
      end
    end),
  })
  local width = api.nvim_win_get_width(it.win)
  api.nvim_create_autocmd({ 'VimResized', 'WinResized' }, {
    group = it.group,
    callback = vim.schedule_wrap(function()
      if not it.left and drawing.showing(it) and api.nvim_win_get_width(it.win) ~= width then
        width = api.nvim_win_get_width(it.win)
        actions.draw()
      end
    end),
  })
end

--- Follow text and window until the drawing is closed.
---@param it tideate.ui.Graph
---@param actions tideate.ui.GraphActions
function M.start(it, actions)
  it.group = api.nvim_create_augroup('tideate.graph', { clear = true })
  follow_window(it, actions)
  if it.source.buf then
    follow_text(it, actions)
  end
end

return M
