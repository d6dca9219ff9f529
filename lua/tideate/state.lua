--- What the events said: the runs and where they stand. Reading it never asks the host.
local M = {}

---@class tideate.RunStep
---@field name string of a machine the state, with `#2` at its second visit
---@field label string what is shown of it
---@field state tideate.StepState
---@field order? integer of its start among the starts
---@field index? integer its place among the steps
---@field attempt? integer of one that is tried again
---@field started? integer milliseconds of `vim.uv.now()`
---@field duration_ms? integer

---@alias tideate.StepState 'waiting'|'running'|'retrying'|'completed'|'failed'|'skipped'

---@alias tideate.RunState 'starting'|'running'|'pausing'|'confirming'|'paused'|'completed'|'failed'|'cancelled'

---@class tideate.Moved
---@field from string `*` at the entry
---@field to string `*` at the exit
---@field when string
---@field by 'only'|'model'

---@class tideate.Run
---@field execution_id string
---@field name string
---@field asked string what was asked for: a name or a file
---@field obfuscate? boolean
---@field prompt string
---@field steps tideate.RunStep[]
---@field step integer 1-based; 0 before the first step
---@field total_steps integer 0: nobody knows, as of a machine
---@field current_step string of several that run at the same time the one that started last
---@field running string[] the steps that are running, that one last
---@field resumed? boolean whether an earlier process began it
---@field parent? string the run whose step it is
---@field checkpoint? string the newest one
---@field kind 'graph'|'machine'
---@field current_state? string where a machine is
---@field states? string[] of a machine
---@field path? tideate.Moved[] of a machine: its moves so far
---@field state tideate.RunState
---@field pausing boolean whether it is to pause before its next step, also while it asks something
---@field elapsed_ms integer
---@field tokens integer as the models reported; an estimate while an answer is streamed
---@field adapter? string
---@field demonstration boolean whether the adapter's answers are not to be relied on
---@field declined? boolean whether it was cancelled by a no
---@field error? string
---@field files string[] what the run changed

---@class tideate.Record: tideate.Run
---@field begun integer milliseconds of `vim.uv.now()`
---@field used integer tokens that the models reported
---@field starts? integer how many steps have started
---@field streamed integer bytes since the last report
---@field chunks string[]

---@class tideate.Event
---@field name string
---@field execution_id string
---@field at integer milliseconds since the epoch
---@field data table<string, any>

local KEPT = 20 -- finished runs that can still be looked at
local BYTES_PER_TOKEN = 4 -- a rule of thumb, until the model reports
local ENDED = { completed = true, failed = true, cancelled = true }

---@type table<string, tideate.Record>
local records = {}
---@type string[] ids, oldest first
local order = {}

---@return integer milliseconds
local function now()
  return vim.uv.now()
end

local function forget_old()
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

--- Make room for a run that goes on although it was seen to end: its process had.
---@param execution_id string
local function reopen(execution_id)
  records[execution_id] = nil
  for i, id in ipairs(order) do
    if id == execution_id then
      table.remove(order, i)
    end
  end
end

--- A run was asked for; its events come later.
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
    begun = now(),
    used = 0,
    streamed = 0,
    chunks = {},
    pausing = false,
  }
  forget_old()
end

--- Take an event. Late ones of a run that ended change nothing.
---@param event tideate.Event
function M.apply(event)
  local handler = require('tideate.run_events').handlers[event.name]
  if not handler then
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
    handler(record, event.data)
  end
end

---@return tideate.Record? newest run that has not ended
local function newest_active()
  for i = #order, 1, -1 do
    local record = records[order[i]]
    if not ENDED[record.state] and not record.parent then
      return record
    end
  end
end

--- The host told all moves of a machine; what is known already of later ones stays.
---@param execution_id string
---@param path tideate.Moved[]
function M.set_path(execution_id, path)
  local record = records[execution_id]
  if record and #path >= #(record.path or {}) then
    record.path = path
  end
end

--- A pause was asked for, or the wish taken back; the run pauses before its next step.
---@param execution_id string
---@param wanted boolean
function M.set_pausing(execution_id, wanted)
  local record = records[execution_id]
  if record and not ENDED[record.state] then
    record.pausing = wanted and record.state ~= 'paused'
  end
end

--- Whether a run has ended, or is not known at all.
---@param execution_id string
---@return boolean
function M.ended(execution_id)
  local record = records[execution_id]
  return not record or ENDED[record.state] == true
end

---@param record tideate.Record
---@return tideate.Run
local function view(record)
  local over = ENDED[record.state]
  return {
    execution_id = record.execution_id,
    name = record.name,
    asked = record.asked,
    obfuscate = record.obfuscate,
    prompt = record.prompt,
    steps = record.steps,
    step = record.step,
    total_steps = record.total_steps,
    current_step = record.current_step,
    running = vim.tbl_map(function(step)
      return step.name
    end, over and {} or require('tideate.run_events').running(record)),
    resumed = record.resumed,
    parent = record.parent,
    checkpoint = record.checkpoint,
    kind = record.kind,
    current_state = record.current_state,
    states = record.states,
    path = record.path,
    state = record.pausing and record.state == 'running' and 'pausing' or record.state,
    pausing = not over and record.pausing,
    declined = record.declined,
    elapsed_ms = over and record.elapsed_ms or now() - record.begun,
    tokens = record.used + math.ceil(record.streamed / BYTES_PER_TOKEN),
    adapter = record.adapter,
    demonstration = record.demonstration,
    error = record.error,
    files = record.files,
  }
end

--- Where a run stands: the named one, ended or not, else the newest that has not ended.
---@param execution_id? string
---@return tideate.Run?
function M.get_status(execution_id)
  local record = execution_id and records[execution_id] or (not execution_id and newest_active() or nil)
  return record and view(record) or nil
end

--- The state of a run in a word, and whether it is to pause after a question.
---@param run tideate.Run
---@return string
function M.word(run)
  return run.state == 'confirming' and run.pausing and 'confirming, pausing' or run.state
end

--- The step that a run is at, of a machine its state; empty before the first one.
---@param run tideate.Run|tideate.Record
---@return string
function M.place(run)
  if run.kind == 'machine' and run.current_state == '*' then
    return 'end'
  end
  return run.kind == 'machine' and run.step > 0 and run.current_state or run.current_step
end

--- All known runs, the newest first; those that are steps of others are not among them.
---@return tideate.Run[]
function M.runs()
  local runs = {}
  for i = #order, 1, -1 do
    local record = records[order[i]]
    runs[#runs + 1] = not record.parent and view(record) or nil
  end
  return runs
end

--- Runs that have not ended, the newest first.
---@return tideate.Run[]
function M.active()
  return vim.tbl_filter(function(run)
    return not ENDED[run.state]
  end, M.runs())
end

--- What the model said so far in a run, in pieces as they came; for reading only.
---@param execution_id string
---@return string[]
function M.text(execution_id)
  local record = records[execution_id]
  return record and record.chunks or {}
end

--- One line for a statusline; empty when nothing runs.
---@return string
function M.statusline()
  local run = newest_active()
  if not run then
    return ''
  end
  local parts = { run.name }
  if run.total_steps > 0 then
    parts[#parts + 1] = ('%d/%d'):format(math.max(run.step, 1), run.total_steps)
  elseif run.step > 0 then
    parts[#parts + 1] = tostring(run.step)
  end
  local at = M.place(run)
  if at ~= '' and at ~= run.name then
    local others = #require('tideate.run_events').running(run) - 1
    parts[#parts + 1] = others > 0 and ('%s +%d'):format(at, others) or at
  end
  local state = M.word(view(run))
  if state ~= 'running' then
    parts[#parts + 1] = '(' .. state .. ')'
  end
  if run.demonstration then
    parts[#parts + 1] = '[demo model]'
  end
  return table.concat(parts, ' ')
end

return M
