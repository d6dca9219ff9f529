--- Records of all runs, built from events, and their lookup. Reading never asks the host.
local M = {}

local run_activity = require('tideate.run_activity')

---@class tideate.Event
---@field name string
---@field execution_id string
---@field at integer milliseconds since the epoch
---@field data table<string, any>

local KEPT = 20 -- ended runs that are kept
local OTHERS = 20 -- columns of a statusline for its other parts
local run_status = require('tideate.run_status')
local ENDED = run_status.ENDED

---@type table<string, tideate.Record>
local records = {}
---@type string[] ids, oldest first
local order = {}

local function evict_old()
  local finished = 0
  for i = #order, 1, -1 do
    if ENDED[records[order[i]].state] then
      finished = finished + 1
      if finished > KEPT then
        records[table.remove(order, i)] = nil
      end
    end
  end
end

--- Drop the record of a run that continues after its process ended.
---@param execution_id string
local function reopen(execution_id)
  records[execution_id] = nil
  for i, id in ipairs(order) do
    if id == execution_id then
      table.remove(order, i)
    end
  end
end

--- Record a requested run; its events follow.
---@param run {execution_id: string, name: string, asked?: string, obfuscate?: boolean, prompt?: string, steps?: string[]}
function M.begin(run)
  order[#order + 1] = run.execution_id
  records[run.execution_id] = {
    execution_id = run.execution_id,
    name = run.name,
    asked = run.asked or run.name,
    obfuscate = run.obfuscate,
    prompt = run.prompt or '',
    steps = require('tideate.run_events').waiting(run.steps or {}),
    step = 0,
    total_steps = #(run.steps or {}),
    current_step = '',
    kind = 'graph',
    state = 'starting',
    elapsed_ms = 0,
    tokens = 0,
    demonstration = false,
    files = {},
    begun = vim.uv.now(),
    started_at = os.time() * 1000,
    used = 0,
    streamed = 0,
    chunks = {},
    pausing = false,
    activity = run_activity.new(),
  }
  evict_old()
end

--- Apply an event. Late events of an ended run change nothing.
---@param event tideate.Event
function M.apply(event)
  local handler = require('tideate.run_events').handlers[event.name]
  if not handler and not run_activity.handlers[event.name] then
    return
  end
  local restored = event.name == 'SD_EVENT_WORKFLOW_RESTORED'
  if restored then
    reopen(event.execution_id)
  end
  if not records[event.execution_id] then
    if event.name ~= 'SD_EVENT_WORKFLOW_STARTED' and not restored then
      return
    end
    M.begin({ execution_id = event.execution_id, name = event.data.name })
  end
  local record = records[event.execution_id]
  if not ENDED[record.state] then
    if handler then
      handler(record, event.data)
    end
    run_activity.apply(record.activity, event)
  end
end

---@return tideate.Record[] top-level runs, newest first
local function top_level()
  local found = {}
  for i = #order, 1, -1 do
    local record = records[order[i]]
    found[#found + 1] = not record.parent and record or nil
  end
  return found
end

---@return tideate.Record[] active top-level runs, newest first
local function active_records()
  return vim.tbl_filter(function(record)
    return not ENDED[record.state]
  end, top_level())
end

--- Store all transitions of a machine; newer known ones stay.
---@param execution_id string
---@param path tideate.Moved[]
function M.set_path(execution_id, path)
  local record = records[execution_id]
  if record and #path >= #(record.path or {}) then
    record.path = path
  end
end

--- Record a requested pause, or its withdrawal; the run pauses before its next step.
---@param execution_id string
---@param wanted boolean
function M.set_pausing(execution_id, wanted)
  local record = records[execution_id]
  if record and not ENDED[record.state] then
    record.pausing = wanted and record.state ~= 'paused'
  end
end

--- Return whether a run has ended or is unknown.
---@param execution_id string
---@return boolean
function M.ended(execution_id)
  local record = records[execution_id]
  return not record or ENDED[record.state] == true
end

--- Return the status of a run; default: the newest active one.
---@param execution_id? string
---@return tideate.Run?
function M.get_status(execution_id)
  local record = execution_id and records[execution_id] or (not execution_id and active_records()[1] or nil)
  return record and run_status.view(record) or nil
end

--- Return all known top-level runs, newest first.
---@return tideate.Run[]
function M.runs()
  return vim.tbl_map(run_status.view, top_level())
end

--- Return the turns and tool calls of a run seen by this Neovim; read-only.
---@param execution_id string
---@return tideate.Activity?
function M.activity(execution_id)
  local record = records[execution_id]
  return record and record.activity
end

--- Return the top-level run of a nested run.
---@param execution_id string
---@return string
function M.root_of(execution_id)
  local record = records[execution_id]
  while record and record.parent and records[record.parent] do
    execution_id = record.parent
    record = records[execution_id]
  end
  return execution_id
end

--- Return the nested runs of a run, oldest first.
---@param execution_id string
---@return tideate.Run[]
function M.within(execution_id)
  local runs = {}
  for _, id in ipairs(order) do
    runs[#runs + 1] = records[id].parent == execution_id and run_status.view(records[id]) or nil
  end
  return runs
end

--- Return the active runs, newest first.
---@return tideate.Run[]
function M.active()
  return vim.tbl_map(run_status.view, active_records())
end

--- Return the streamed text of a run in pieces; read-only.
---@param execution_id string
---@return string[]
function M.text(execution_id)
  local record = records[execution_id]
  return record and record.chunks or {}
end

M.word = run_status.word
M.place = run_status.place

--- Return the statusline text of the active runs.
---@param width? integer columns; default: most of the screen
---@param taken? integer columns of other texts within it
---@return string
function M.statusline(width, taken)
  return run_status.line_of_all(active_records(), (width or vim.o.columns - OTHERS) - (taken or 0))
end

--- Return the winbar text of the runs on a buffer.
---@param buf integer
---@return string
function M.winbar(buf)
  local ranges = require('tideate.ui.ranges')
  return run_status.bar(vim.tbl_filter(function(record)
    return ranges.concerns(record.execution_id, buf)
  end, active_records()))
end

return M
