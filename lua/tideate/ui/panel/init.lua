--- Window of the panel of runs: opens and closes it, keeps the cursor, rebuilds it on events.
local M = {}

local api = vim.api
local panel_list = require('tideate.ui.panel.list')
local window = require('tideate.ui.window')

local DELAY = 50 -- milliseconds between an event and its drawing
local SECOND = 1000

---@class tideate.ui.Panel
---@field buf integer
---@field win integer
---@field back integer window that had the focus before
---@field runs tideate.ui.PanelRuns
---@field view tideate.ui.PanelView
---@field at? string node key that gets the cursor once it exists
---@field due? boolean a drawing is scheduled
---@field stop? fun() stops the clock

---@type tideate.ui.Panel?
local shown

local draw

---@return boolean
function M.is_visible()
  return shown ~= nil and window.visible(shown.win)
end

local WIDE = 160 -- minimum columns for the side
local WIDEST = 100

---@return boolean
local function at_side()
  local kind = require('tideate.config').get('ui.panel')
  return kind == 'right' or kind ~= 'below' and vim.o.columns >= WIDE
end

---@param buf integer
---@return integer win entered only in plain normal mode
local function open_window(buf)
  local columns, rows = window.room()
  local config = { split = 'below', win = -1, height = math.max(6, math.floor(rows * 0.45)) }
  if at_side() then
    config = { split = 'right', win = -1, width = math.min(WIDEST, math.floor(columns * 0.45)) }
  end
  require('tideate.ui.highlights').define()
  local win = api.nvim_open_win(buf, require('tideate.ui.typing').plain_normal(), config)
  window.list_options(win, {
    fillchars = 'eob: ',
    cursorline = true,
    winfixwidth = at_side(),
    winfixheight = not at_side(),
  })
  return win
end

--- Return the screen space that floats must leave to the panel.
---@param win integer?
---@return integer columns, integer rows of the panel
local function taken_by(win)
  if not window.visible(win) then
    return 0, 0
  end
  local height, width = api.nvim_win_get_height(win --[[@as integer]]), api.nvim_win_get_width(win --[[@as integer]])
  local row, col = unpack(api.nvim_win_get_position(win --[[@as integer]]))
  -- a panel that the user moved elsewhere takes no space of floats
  if col > 0 and col + width >= vim.o.columns then
    return width + 1, 0
  end
  return 0, row > 1 and width >= vim.o.columns and height + 1 or 0
end

--- Return the screen space of the panel.
---@return integer columns, integer rows
function M.taken()
  return taken_by(shown and shown.win)
end

--- Schedule one drawing.
local function draw_soon()
  local it = shown
  if it and not it.due then
    it.due = true
    vim.defer_fn(function()
      it.due = false
      if shown == it then
        draw()
      end
    end, DELAY)
  end
end

local function forget()
  if shown then
    shown.runs:close()
    if shown.stop then
      shown.stop()
    end
  end
  shown = nil
  require('tideate.ui.output').arrange()
end

--- Close the panel and return the focus; the runs continue.
function M.close()
  local it = shown
  if not it then
    return
  end
  local wins = vim.fn.win_findbuf(it.buf)
  forget()
  window.leave(it.win, it.back)
  vim.tbl_map(window.close, wins) -- the last window on the buffer wipes it
end

--- Update times every second while a run is active.
---@param active boolean
local function keep_time(active)
  if active and not shown.stop then
    local timer = assert(vim.uv.new_timer())
    timer:start(SECOND, SECOND, vim.schedule_wrap(draw_soon))
    shown.stop = function()
      timer:stop()
      timer:close()
    end
  elseif not active and shown.stop then
    shown.stop()
    shown.stop = nil
  end
end

--- Keep the cursor on its node.
---@param key? string
---@param before integer
local function put_cursor(key, before)
  local view = shown.view
  local at = view:row_of(shown.at)
  if at then
    shown.at = nil
  end
  at = at or view:row_of(key) or before
  at = math.max(1, math.min(at, #view.rows))
  if at ~= api.nvim_win_get_cursor(shown.win)[1] then
    api.nvim_win_set_cursor(shown.win, { at, 0 })
  end
end

function draw()
  if not api.nvim_win_is_valid(shown.win) then
    return
  end
  local view = shown.view
  local before = api.nvim_win_get_cursor(shown.win)[1]
  local key = view.rows[before] and view.rows[before].node.key
  if view:build(shown.runs) then
    view:write(shown.win)
    put_cursor(key, before)
    keep_time(#require('tideate.state').active() > 0)
    for _, row in ipairs(view.rows) do
      if row.open and row.node.wants then
        shown.runs:want(row.node.wants)
      end
    end
  else
    view:touch(shown.win)
  end
  view:draw_bar(shown.win, shown.runs)
end

--- Rebuild soon, after new data arrived.
local function build_soon()
  if shown then
    shown.view:invalidate()
    draw_soon()
  end
end

--- Rebuild now.
local function rebuild()
  shown.view:invalidate()
  draw()
end

--- Reload the runs after one changed.
function M.refresh()
  if shown then
    shown.runs:refresh()
  end
end

--- Reload all runs after an action on one, perhaps an old one.
function M.changed()
  if shown then
    shown.runs:changed()
  end
end

--- Return the row under the cursor.
---@return tideate.ui.Row?
local function current()
  return M.is_visible() and shown.view.rows[api.nvim_win_get_cursor(shown.win)[1]] or nil
end

local function on_moved()
  local row = current()
  if row and row.node.kind == 'more' and not shown.runs.loading then
    shown.runs:read_on()
  end
end

--- Open or close the row under the cursor, or the nearest row above that can fold.
---@param open? boolean nil: toggle
local function fold(open)
  local row = current()
  if not row then
    return
  end
  local at = api.nvim_win_get_cursor(shown.win)[1]
  local depth = row.depth
  while row and (row.open == nil or open == false and not row.open) and row.depth > 0 do
    at = at - 1
    row = shown.view.rows[at] and shown.view.rows[at].depth < depth and shown.view.rows[at] or row
    depth = row.depth
  end
  if row and row.open ~= nil then
    shown.view.folds[row.node.key] = open == nil and not row.open or open == true
    shown.at = row.node.key
    rebuild()
  end
end

--- Open or close all rows read so far.
---@param open boolean
local function fold_all(open)
  local count
  repeat
    count = #shown.view.rows
    for _, row in ipairs(shown.view.rows) do
      -- stored runs without details stay closed
      if row.open ~= nil and (not open or not row.node.wants or shown.runs.details[row.node.wants]) then
        shown.view.folds[row.node.key] = open
      end
    end
    rebuild()
  until not open or #shown.view.rows == count
end

---@type tideate.ui.PanelControls
local controls = {
  node = function()
    local row = current()
    return row and row.node
  end,
  folder = function()
    return shown.runs.folder
  end,
  stored = function(id)
    local runs = shown.runs.list.runs
    return runs[panel_list.place_of(runs, id)]
  end,
  marks = function()
    return shown and shown.view.marks or {}
  end,
  runs = function()
    return shown and shown.view.runs or {}
  end,
  redraw = rebuild,
  fold = fold,
  fold_all = fold_all,
  changed = M.changed,
  filter = function()
    panel_list.ask_filter(shown.runs.list, function(filter)
      M.open({ filter = filter })
    end)
  end,
  close = M.close,
}

---@return tideate.Key[]
function M.keys()
  return require('tideate.ui.panel.keys').keys(controls)
end

---@param it tideate.ui.Panel
local function follow(it)
  local function on(events, callback)
    api.nvim_create_autocmd(events, { buffer = it.buf, callback = callback })
  end
  -- other processes begin and end guarded sessions
  local focused = api.nvim_create_autocmd('FocusGained', {
    callback = function()
      it.runs:refresh()
    end,
  })
  api.nvim_create_autocmd('BufWipeout', {
    buffer = it.buf,
    once = true,
    callback = vim.schedule_wrap(function()
      api.nvim_del_autocmd(focused)
      if shown == it then
        forget()
      end
    end),
  })
  on('WinEnter', function()
    it.win = api.nvim_get_current_win() -- after a `:split` keys belong to the current window
    it.runs:refresh()
  end)
  on('WinClosed', function(args)
    local others = vim.tbl_filter(function(win)
      return win ~= tonumber(args.match)
    end, vim.fn.win_findbuf(it.buf))
    if it.win == tonumber(args.match) and others[1] then
      it.win = others[1]
      draw_soon()
    end
  end)
  on('CursorMoved', on_moved)
  on({ 'WinResized', 'WinScrolled', 'VimResized' }, draw_soon)
end

---@param list tideate.ui.RunsList
local function open(list)
  local buf = window.scratch('tideate://runs', { bufhidden = 'wipe', filetype = 'tideate-panel' })
  local it = {
    buf = buf,
    back = window.origin(),
    runs = require('tideate.ui.panel.runs').new(list, require('tideate.context').folder(), build_soon),
    view = require('tideate.ui.panel.view').new(buf),
  }
  it.win = open_window(buf)
  shown = it
  follow(it)
  require('tideate.ui.keys').set(buf, M.keys())
  require('tideate.ui.output').arrange()
end

--- Show the panel, or other runs in it.
---@param what? {filter?: string, at?: string} filter: part of a workflow's name, a state, or both; at: id of the run
--- that gets the cursor
function M.open(what)
  what = what or {}
  local list = panel_list.new(what.filter)
  if not M.is_visible() then
    M.close() -- in another tab page
    open(list)
  else
    if require('tideate.ui.typing').plain_normal() then
      api.nvim_set_current_win(shown.win)
    end
  end
  shown.at = what.at
  shown.runs:read(list)
  rebuild()
end

--- Toggle the panel.
function M.toggle()
  if M.is_visible() then
    M.close()
  else
    M.open()
  end
end

---@type table<string, true> events after which stored runs differ
local MOVES = {
  SD_EVENT_WORKFLOW_STARTED = true,
  SD_EVENT_WORKFLOW_RESTORED = true,
  SD_EVENT_WORKFLOW_PAUSED = true,
  SD_EVENT_WORKFLOW_RESUMED = true,
}

--- Handle an event; the state has it already.
---@param event tideate.Event
function M.on_event(event)
  if shown then
    shown.view:take(event)
    draw_soon()
    if event.name == 'SD_EVENT_WORKFLOW_STARTED' and not event.data.parent and api.nvim_get_current_win() ~= shown.win then
      shown.at = event.execution_id -- shows the new run to a user who is elsewhere
    end
    if MOVES[event.name] then
      M.refresh()
    end
  end
end

return M
