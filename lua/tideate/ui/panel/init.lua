--- The panel of runs: those of this Neovim as they go, and those of the project's store.
local M = {}

local DELAY = 50 -- milliseconds between an event and the drawing that has it
local SECOND = 1000

---@class tideate.ui.Panel
---@field buf integer
---@field win integer
---@field back integer the window the person came from
---@field runs tideate.ui.PanelRuns
---@field folds table<string, boolean>
---@field marks table<string, tideate.ui.Node> by key
---@field rows tideate.ui.Row[]
---@field merged tideate.ui.PanelRun[] the runs that are shown
---@field drawn tideate.ui.Drawn
---@field at? string the key that the cursor goes to once it is there
---@field due? boolean it is going to be drawn
---@field stop? fun() ends the clock

---@type tideate.ui.Panel?
local shown

local draw

---@return boolean
function M.is_visible()
  return shown ~= nil and require('tideate.ui.window').visible(shown.win)
end

--- The columns and rows of the screen that are the panel's.
---@return integer columns, integer rows
function M.taken()
  return require('tideate.ui.panel.window').taken(shown and shown.win)
end

--- Draw soon, whatever happens until then.
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

--- Close the panel and give the focus back; the runs continue.
function M.close()
  local it = shown
  if not it then
    return
  end
  local focused = it.win == vim.api.nvim_get_current_win()
  forget()
  -- the last window on the buffer wipes it
  vim.tbl_map(require('tideate.ui.window').close, vim.fn.win_findbuf(it.buf))
  if focused and vim.api.nvim_win_is_valid(it.back) then
    vim.api.nvim_set_current_win(it.back)
  end
end

--- The rows that are no runs: which model is asked, that there are more runs, or none.
---@param nodes tideate.ui.Node[]
---@return tideate.ui.Node[]
local function framed(nodes)
  local all = {}
  for index, line in ipairs(require('tideate.model_choice').lines()) do
    table.insert(all, { key = 'head' .. index, kind = 'head', label = line, state = 'head' })
  end
  vim.list_extend(all, nodes)
  if #nodes == 0 then
    local filtered = shown.runs.list.filter ~= '' and 'no runs match; F changes the filter'
    local words = shown.runs.loading and 'the runs are read …' or filtered or 'nothing has run in this project yet'
    table.insert(all, { key = 'none', kind = 'empty', label = words, state = 'empty' })
  elseif shown.runs.list.more then
    table.insert(all, { key = 'more', kind = 'more', label = 'more …', state = 'more' })
  end
  return all
end

---@return tideate.ui.TreeSources
local function sources()
  local state = require('tideate.state')
  return { activity = state.activity, within = state.within, details = shown.runs.details, unread = shown.runs.unread }
end

---@param runs tideate.ui.PanelRun[]
local function draw_bar(runs)
  local text, drawing = require('tideate.ui.text'), require('tideate.ui.panel.drawing')
  local running = #vim.tbl_filter(function(run)
    return run.state == 'running'
  end, runs)
  local filter = shown.runs.list.filter
  local chunks = {
    { filter ~= '' and (' runs: %s '):format(filter) or ' runs ', 'TideateTitle' },
    { shown.runs.known and '' or 'reading … ', 'TideateHint' },
    { running > 0 and ('%d running '):format(running) or '', 'TideateRunning' },
  }
  vim.list_extend(chunks, text.keys({ { '?', 'keys' } }))
  local head = drawing.head()
  local room = vim.api.nvim_win_get_width(shown.win) - #head - 1
  local bar = text.bar(text.fit_chunks(chunks, room)) .. '%=' .. text.bar({ { head, 'TideateHint' } })
  if vim.wo[shown.win].winbar ~= bar then
    require('tideate.ui.window').options(shown.win, { winbar = bar })
  end
end

--- Times go on while something runs, also where no event comes.
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

---@param rows tideate.ui.Row[]
---@param key? string
---@return integer?
local function row_of(rows, key)
  for index, row in ipairs(key and rows or {}) do
    if row.node.key == key then
      return index
    end
  end
end

--- Keep the cursor on what it was on.
---@param rows tideate.ui.Row[]
---@param key? string
---@param before integer
local function put_cursor(rows, key, before)
  local at = row_of(rows, shown.at)
  if at then
    shown.at = nil
  end
  at = at or row_of(rows, key) or before
  at = math.max(1, math.min(at, #rows))
  if at ~= vim.api.nvim_win_get_cursor(shown.win)[1] then
    vim.api.nvim_win_set_cursor(shown.win, { at, 0 })
  end
end

function draw()
  if not vim.api.nvim_win_is_valid(shown.win) then
    return
  end
  local state, tree = require('tideate.state'), require('tideate.ui.panel.tree')
  local before = vim.api.nvim_win_get_cursor(shown.win)[1]
  local key = shown.rows[before] and shown.rows[before].node.key
  local runs = tree.merge(shown.runs.list.runs, state.runs(), shown.runs.list.filter == '')
  local rows = tree.rows(framed(tree.nodes(runs, sources())), shown.folds)
  shown.rows, shown.merged = rows, runs
  for _, row in ipairs(rows) do
    row.marked = shown.marks[row.node.key] ~= nil
  end
  require('tideate.ui.panel.drawing').draw(shown.drawn, rows, shown.win)
  put_cursor(rows, key, before)
  draw_bar(runs)
  keep_time(#state.active() > 0)
  for _, row in ipairs(rows) do
    if row.node.kind == 'run' and row.node.opens and row.open then
      shown.folds[row.node.key] = true -- also when it has ended: what somebody reads stays
    end
    if row.open and row.node.wants then
      shown.runs:want(row.node.wants)
    end
  end
end

--- Read the runs again: something happened to one.
function M.refresh()
  if shown then
    shown.runs:refresh()
  end
end

--- Something was done to a run of the list, perhaps an old one.
function M.changed()
  if shown then
    shown.runs:changed()
  end
end

--- The row under the cursor.
---@return tideate.ui.Row?
local function current()
  return M.is_visible() and shown.rows[vim.api.nvim_win_get_cursor(shown.win)[1]] or nil
end

local function on_moved()
  local row = current()
  if row and row.node.kind == 'more' and not shown.runs.loading then
    shown.runs:read_on()
  end
end

--- Open or close what is under the cursor; of what cannot be opened, that which it is part of.
---@param open? boolean nil: the other way
local function fold(open)
  local row = current()
  if not row then
    return
  end
  local at = vim.api.nvim_win_get_cursor(shown.win)[1]
  local depth = row.depth
  while row and (row.open == nil or open == false and not row.open) and row.depth > 0 do
    at = at - 1
    row = shown.rows[at] and shown.rows[at].depth < depth and shown.rows[at] or row
    depth = row.depth
  end
  if row and row.open ~= nil then
    shown.folds[row.node.key] = open == nil and not row.open or open == true
    shown.at = row.node.key
    draw()
  end
end

--- Open or close all that is there now.
---@param open boolean
local function fold_all(open)
  local count
  repeat
    count = #shown.rows
    for _, row in ipairs(shown.rows) do
      -- runs of the store whose details nobody wanted stay closed
      if row.open ~= nil and (not open or not row.node.wants or shown.runs.details[row.node.wants]) then
        shown.folds[row.node.key] = open
      end
    end
    draw()
  until not open or #shown.rows == count
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
    return runs[require('tideate.ui.panel.list').place_of(runs, id)]
  end,
  marks = function()
    return shown and shown.marks or {}
  end,
  runs = function()
    return shown and shown.merged or {}
  end,
  redraw = function()
    draw()
  end,
  fold = fold,
  fold_all = fold_all,
  changed = M.changed,
  filter = function()
    require('tideate.ui.panel.list').ask_filter(shown.runs.list, function(filter)
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
    vim.api.nvim_create_autocmd(events, { buffer = it.buf, callback = callback })
  end
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = it.buf,
    once = true,
    callback = vim.schedule_wrap(function()
      if shown == it then
        forget()
      end
    end),
  })
  on('WinEnter', function()
    it.win = vim.api.nvim_get_current_win() -- after a `:split` the keys are those of the window they are typed in
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
  local window = require('tideate.ui.window')
  local buf = window.scratch('tideate://runs')
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].filetype = 'tideate-panel'
  local back = vim.api.nvim_get_current_win()
  if window.is_float(back) then
    back = window.for_files() or window.normal_windows()[1]
  end
  local it = {
    buf = buf,
    back = back,
    runs = require('tideate.ui.panel.runs').new(list, require('tideate.context').folder(), draw_soon),
    folds = {},
    marks = {},
    merged = {},
    rows = {},
    drawn = require('tideate.ui.panel.drawing').new(buf),
  }
  it.win = require('tideate.ui.panel.window').open(buf)
  shown = it
  follow(it)
  require('tideate.ui.keys').set(buf, M.keys())
  require('tideate.ui.output').arrange()
end

--- Show the panel, or other runs in it.
---@param what? {filter?: string, at?: string} a part of a workflow's name, a state, or both; id of the run that the
--- cursor goes to
function M.open(what)
  what = what or {}
  local list = require('tideate.ui.panel.list').new(what.filter)
  if not M.is_visible() then
    M.close() -- in another tab page
    open(list)
  else
    if require('tideate.ui.typing').plain_normal() then
      vim.api.nvim_set_current_win(shown.win)
    end
  end
  shown.at = what.at
  shown.runs:read(list)
  draw()
end

--- Show the panel, or close it.
function M.toggle()
  if M.is_visible() then
    M.close()
  else
    M.open()
  end
end

---@type table<string, true> events after which the runs of the store stand elsewhere
local MOVES = {
  SD_EVENT_WORKFLOW_STARTED = true,
  SD_EVENT_WORKFLOW_RESTORED = true,
  SD_EVENT_WORKFLOW_PAUSED = true,
  SD_EVENT_WORKFLOW_RESUMED = true,
}

--- Take an event; the state has it already.
---@param event tideate.Event
function M.on_event(event)
  if shown then
    draw_soon()
    if event.name == 'SD_EVENT_WORKFLOW_STARTED' and not event.data.parent and vim.api.nvim_get_current_win() ~= shown.win then
      shown.at = event.execution_id -- who works elsewhere sees what they just began
    end
    if MOVES[event.name] then
      M.refresh()
    end
  end
end

return M
