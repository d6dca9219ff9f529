--- Rows of the panel, rebuilt only for changed runs, passed on to the drawing; and the winbar.

---@class tideate.ui.PanelBlock the rows of a run
---@field stored? tideate.StoredRun source of the rows
---@field live boolean
---@field rows tideate.ui.Row[]

---@class tideate.ui.PanelView
---@field rows tideate.ui.Row[]
---@field runs tideate.ui.PanelRun[] shown
---@field folds table<string, boolean> open or closed by the user, by node key
---@field marks table<string, tideate.ui.Node> by key
---@field private drawn tideate.ui.Drawn
---@field private blocks table<string, tideate.ui.PanelBlock> by the run's id
---@field private stale table<string, true> ids of changed runs of this Neovim
---@field private whole boolean rebuild everything
---@field private structure table<tideate.StepActivity, integer> known number of entries of a step
local state = require('tideate.state')
local drawing = require('tideate.ui.panel.drawing')
local tree = require('tideate.ui.panel.tree')

local View = {}
View.__index = View

local M = {}

---@param buf integer
---@return tideate.ui.PanelView
function M.new(buf)
  return setmetatable({
    rows = {},
    runs = {},
    folds = {},
    marks = {},
    drawn = drawing.new(buf),
    blocks = {},
    stale = {},
    whole = true,
    structure = setmetatable({}, { __mode = 'k' }),
  }, View)
end

--- Rebuild a run at the next drawing; all runs without an id.
---@param id? string
function View:invalidate(id)
  if id then
    self.stale[id] = true
  else
    self.whole = true
  end
end

--- Handle an event: growing text needs new rows only when it begins a turn.
---@param event tideate.Event
function View:take(event)
  if require('tideate.run_events').FREQUENT[event.name] then
    local activity = state.activity(event.execution_id)
    local step = activity and activity.steps[event.data.step]
    if not step or self.structure[step] == #step.entries then
      return
    end
    self.structure[step] = #step.entries
  end
  self:invalidate(state.root_of(event.execution_id))
end

--- Return the rows around the runs: the model, more runs, or none.
---@param runs tideate.ui.PanelRuns
---@param count integer of runs
---@param folds table<string, boolean>
---@return tideate.ui.Row[] above, tideate.ui.Row[] below
local function frame(runs, count, folds)
  local above, below = {}, {}
  local function row(rows, key, kind, label)
    table.insert(rows, { node = { key = key, kind = kind, label = label, state = kind }, depth = 0, lead = '' })
  end
  for index, line in ipairs(require('tideate.model_choice').lines()) do
    row(above, 'head' .. index, 'head', line)
  end
  for _, session in ipairs(runs.sessions) do
    table.insert(above, { node = tree.session_node(session), depth = 0, lead = '' })
  end
  tree.rows(require('tideate.ui.panel.inbox').nodes(runs.folder), folds, above)
  if count == 0 then
    local filtered = runs.list.filter ~= '' and 'no runs match; F changes the filter'
    row(below, 'none', 'empty', runs.loading and 'the runs are read …' or filtered or 'nothing has run in this project yet')
  elseif runs.list.more then
    row(below, 'more', 'more', 'more …')
  end
  return above, below
end

---@param run tideate.ui.PanelRun
---@param sources tideate.ui.TreeSources
---@return tideate.ui.PanelBlock
function View:block(run, sources)
  local known = self.blocks[run.id]
  local same = known and known.stored == run.stored and known.live == (run.live ~= nil)
  if same and not self.whole and not self.stale[run.id] then
    return known --[[@as tideate.ui.PanelBlock]]
  end
  local rows = tree.rows({ tree.run_node(run, sources) }, self.folds)
  if run.stored and run.stored.match then
    table.insert(rows, 2, tree.match_row(run))
  end
  for _, row in ipairs(rows) do
    row.marked = self.marks[row.node.key] ~= nil
    if row.node.kind == 'run' and row.node.opens and row.open then
      self.folds[row.node.key] = true -- stays open after the end: the user may be reading it
    end
  end
  return { stored = run.stored, live = run.live ~= nil, rows = rows }
end

--- Rebuild the changed runs; false if none changed.
---@param runs tideate.ui.PanelRuns
---@return boolean
function View:build(runs)
  if not self.whole and next(self.stale) == nil then
    return false
  end
  local sources = {
    activity = state.activity,
    within = state.within,
    status = state.get_status,
    details = runs.details,
    unread = runs.unread,
  }
  self.runs = tree.merge(runs.list.runs, state.runs(), runs.list.filter == '')
  local blocks, rows, below = {}, frame(runs, #self.runs, self.folds)
  for _, run in ipairs(self.runs) do
    blocks[run.id] = self:block(run, sources)
    vim.list_extend(rows, blocks[run.id].rows)
  end
  vim.list_extend(rows, below)
  self.rows, self.blocks, self.stale, self.whole = rows, blocks, {}, false
  return true
end

---@param key? string
---@return integer?
function View:row_of(key)
  for index, row in ipairs(key and self.rows or {}) do
    if row.node.key == key then
      return index
    end
  end
end

--- Write the rows after a build.
---@param win integer
function View:write(win)
  drawing.draw(self.drawn, self.rows, win)
end

--- Update times and growing texts of the visible rows.
---@param win integer
function View:touch(win)
  if self.drawn.width ~= vim.api.nvim_win_get_width(win) then
    return self:write(win)
  end
  drawing.touch(self.drawn, self.rows, win)
end

--- Update the winbar.
---@param win integer
---@param runs tideate.ui.PanelRuns
function View:draw_bar(win, runs)
  local text = require('tideate.ui.text')
  local running = #vim.tbl_filter(function(run)
    return run.state == 'running'
  end, self.runs)
  local filter = runs.list.filter
  local chunks = {
    { filter ~= '' and (' runs: %s '):format(filter) or ' runs ', 'TideateTitle' },
    { runs.known and '' or 'reading … ', 'TideateHint' },
    { running > 0 and ('%d running '):format(running) or '', 'TideateRunning' },
  }
  vim.list_extend(chunks, text.keys({ { '?', 'keys' } }))
  local head = drawing.head()
  local room = vim.api.nvim_win_get_width(win) - #head - 1
  local bar = text.bar(text.fit_chunks(chunks, room)) .. '%=' .. text.bar({ { head, 'TideateHint' } })
  if vim.wo[win].winbar ~= bar then
    require('tideate.ui.window').options(win, { winbar = bar })
  end
end

return M
