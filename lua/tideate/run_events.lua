--- Handlers of events, by name: each updates the record of one run.
local M = {}

--- Events too frequent for a full redraw or an autocommand.
---@type table<string, true>
M.FREQUENT = {
  SD_EVENT_TOKEN = true,
  SD_EVENT_REASONING = true,
  SD_EVENT_HUNKS_STREAMED = true,
  SD_EVENT_CHECK_OUTPUT = true,
  SD_EVENT_TOOL_PROGRESS = true,
}

--- Return steps that have not started.
---@param steps string[]
---@param lanes? table<string, tideate.StepLanes> by step
---@return tideate.RunStep[]
function M.waiting(steps, lanes)
  return vim.tbl_map(function(name)
    return { name = name, label = name, state = 'waiting', lanes = lanes and lanes[name] }
  end, steps)
end

---@return integer milliseconds
local function now()
  return vim.uv.now()
end

---@param state tideate.RunState
---@return fun(record: tideate.Record, data: table<string, any>)
local function finish(state)
  return function(record, data)
    record.state = state
    record.check, record.current_tool, record.calls = nil, nil, nil
    record.elapsed_ms = now() - record.begun
    record.error = data.error
    record.declined = data.reason == 'declined' or nil
    record.files = data.files or {}
    record.unchanged = data.unchanged or nil
    record.next = data.next
  end
end

---@param record tideate.Record
---@param data table<string, any>
---@return tideate.RunStep
local function step_of(record, data)
  for _, step in ipairs(record.steps) do
    if step.name == data.step then
      return step
    end
  end
  -- a step missing in the start event
  local name = data.step or '?'
  local label = name == '*' and 'entry' or require('tideate.run_status').label(name)
  local step = { name = name, label = label, state = 'waiting' }
  record.steps[#record.steps + 1] = step
  return step
end

--- Return the running steps, the last started one at the end.
---@param record tideate.Record
---@return tideate.RunStep[]
function M.running(record)
  local running, sorted = {}, true ---@type tideate.RunStep[], boolean
  for _, step in ipairs(record.steps) do
    if step.state == 'running' or step.state == 'retrying' then
      local before = running[#running]
      sorted = sorted and (not before or (before.order or 0) <= (step.order or 0))
      running[#running + 1] = step
    end
  end
  if not sorted then
    table.sort(running, function(a, b)
      return (a.order or 0) < (b.order or 0)
    end)
  end
  return running
end

--- Finish a step; the run's current step becomes the last started of the others.
---@param record tideate.Record
---@param data table<string, any>
---@param state tideate.StepState
---@return tideate.RunStep
local function finish_step(record, data, state)
  local step = step_of(record, data)
  step.state = state
  local running = M.running(record)
  local latest = running[#running]
  if latest and record.current_step == step.name then
    record.current_step, record.step = latest.name, latest.index or record.step
  end
  return step
end

---@param record tideate.Record
---@param data table<string, any>
local function begin(record, data)
  record.state = 'running'
  record.name = data.name or record.name
  record.prompt = data.prompt or record.prompt
  record.adapter = data.adapter
  record.parent, record.parent_step = data.parent, data.parent_step
  record.root = data.root
  record.demonstration = data.demonstration == true
  record.steps = M.waiting(data.steps or {}, data.lanes)
  record.total_steps = #record.steps
  record.kind = data.kind or 'graph'
  if record.kind == 'machine' then
    record.states, record.path = data.states or {}, {}
  end
end

---@param state tideate.RunState
---@return fun(record: tideate.Record)
local function set_state(state)
  return function(record)
    record.state = state
    record.pausing = record.pausing and state ~= 'paused'
  end
end

---@type table<string, fun(record: tideate.Record, data: table<string, any>)>
M.handlers = {
  SD_EVENT_WORKFLOW_STARTED = begin,
  SD_EVENT_WORKFLOW_RESTORED = function(record, data)
    begin(record, data)
    record.resumed = true
    for _, name in ipairs(data.completed or {}) do
      step_of(record, { step = name }).state = 'completed'
    end
    record.step = #(data.completed or {})
    record.answered = record.step > 0 -- the models of its earlier process are unknown
  end,
  SD_EVENT_STEP_STARTED = function(record, data)
    local step = step_of(record, data)
    record.starts = (record.starts or 0) + 1
    step.state, step.started, step.order, step.index = 'running', now(), record.starts, data.index
    record.state = 'running'
    if record.kind == 'machine' and data.state and data.state ~= '*' then
      record.current_state = data.state -- a resumed run continues in the middle
    end
    record.step = data.index or record.step + 1
    record.total_steps = data.total or #record.steps
    record.current_step = data.step or ''
  end,
  SD_EVENT_TRANSITION = function(record, data)
    record.current_state = data.to
    record.path = record.path or {}
    table.insert(record.path, { from = data.from, to = data.to, when = data.when, by = data.by })
  end,
  SD_EVENT_TOKEN = function(record, data)
    local text = data.text or ''
    record.chunks[#record.chunks + 1] = text
    record.streamed = record.streamed + (data.again and 0 or #text)
  end,
  SD_EVENT_MODEL_ANSWERED = function(record, data)
    local usage = type(data.usage) == 'table' and data.usage or {}
    record.used = record.used + (tonumber(usage.input_tokens) or 0) + (tonumber(usage.output_tokens) or 0)
    record.streamed = 0
    record.answered = true
  end,
  SD_EVENT_STEP_COMPLETED = function(record, data)
    finish_step(record, data, 'completed').duration_ms = data.duration_ms
  end,
  SD_EVENT_STEP_SKIPPED = function(record, data)
    finish_step(record, data, 'skipped')
  end,
  SD_EVENT_STEP_RETRYING = function(record, data)
    local step = step_of(record, data)
    step.state, step.attempt = 'retrying', (data.attempt or 1) + 1
  end,
  SD_EVENT_CHECKPOINT_CREATED = function(record, data)
    record.checkpoint = data.checkpoint_id
  end,
  SD_EVENT_STEP_FAILED = function(record, data)
    local step = finish_step(record, data, 'failed')
    step.duration_ms = step.started and now() - step.started
  end,
  SD_EVENT_TOOL_CALLED = function(record, data)
    local name = (data.server and data.server ~= '' and data.server .. '/' or '') .. (data.tool or '?')
    record.calls = record.calls or {}
    table.insert(record.calls, { number = data.call, name = name })
    record.current_tool = name
  end,
  SD_EVENT_TOOL_COMPLETED = function(record, data)
    record.calls = vim.tbl_filter(function(call)
      return call.number ~= data.call
    end, record.calls or {})
    local last = record.calls[#record.calls]
    record.current_tool = last and last.name
  end,
  SD_EVENT_NOTICE = function(record, data)
    record.unsaved = vim.list_extend(record.unsaved or {}, data.unsaved or {})
  end,
  SD_EVENT_CHECK_STARTED = function(record, data)
    record.check = data.check
  end,
  SD_EVENT_CHECK_ENDED = function(record)
    record.check = nil
  end,
  SD_EVENT_ROLLED_BACK = function(record, data)
    record.check = nil
    record.rolled_back = { restored = data.restored or {}, merged = data.merged or {}, left = data.left or {} }
  end,
  SD_EVENT_CONFIRMATION_REQUIRED = function(record, data)
    set_state('confirming')(record)
    for index, step in ipairs(record.kind == 'graph' and record.steps or {}) do
      if step.name == data.step then -- it may ask before it starts, or while another step runs
        record.current_step, record.step = step.name, step.index or index
      end
    end
    record.question = data.kind
  end,
  SD_EVENT_CONFIRMATION_ANSWERED = set_state('running'),
  SD_EVENT_WORKFLOW_PAUSED = function(record, data)
    -- a run that was left is over here until it is resumed
    local set = data.reason == 'interrupted' and finish('interrupted') or set_state('paused')
    set(record, data)
  end,
  SD_EVENT_WORKFLOW_RESUMED = set_state('running'),
  SD_EVENT_WORKFLOW_COMPLETED = finish('completed'),
  SD_EVENT_WORKFLOW_FAILED = finish('failed'),
  SD_EVENT_WORKFLOW_CANCELLED = finish('cancelled'),
}

return M
