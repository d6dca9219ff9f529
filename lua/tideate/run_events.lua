--- What each event changes in the record of its run.
local M = {}

--- Steps that none has begun with.
---@param steps string[]
---@return tideate.RunStep[]
function M.waiting(steps)
  return vim.tbl_map(function(name)
    return { name = name, label = name, state = 'waiting' }
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
    record.elapsed_ms = now() - record.begun
    record.error = data.error
    record.declined = data.reason == 'declined' or nil
    record.files = data.files or {}
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
  -- a step that the start did not announce
  local step = { name = data.step or '?', label = data.step == '*' and 'entry' or data.step or '?', state = 'waiting' }
  record.steps[#record.steps + 1] = step
  return step
end

---@param state tideate.RunState
---@return fun(record: tideate.Record)
local function become(state)
  return function(record)
    record.state = state
    record.pausing = record.pausing and state ~= 'paused'
  end
end

---@type table<string, fun(record: tideate.Record, data: table<string, any>)>
M.handlers = {
  SD_EVENT_WORKFLOW_STARTED = function(record, data)
    record.state = 'running'
    record.name = data.name or record.name
    record.prompt = data.prompt or record.prompt
    record.adapter = data.adapter
    record.demonstration = data.demonstration == true
    record.steps = M.waiting(data.steps or {})
    record.total_steps = #record.steps
    record.kind = data.kind or 'graph'
    if record.kind == 'machine' then
      record.states, record.path = data.states or {}, {}
    end
  end,
  SD_EVENT_STEP_STARTED = function(record, data)
    local step = step_of(record, data)
    step.state, step.started = 'running', now()
    record.state = 'running'
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
    record.streamed = record.streamed + #text
  end,
  SD_EVENT_MODEL_ANSWERED = function(record, data)
    local usage = type(data.usage) == 'table' and data.usage or {}
    record.used = record.used + (tonumber(usage.input_tokens) or 0) + (tonumber(usage.output_tokens) or 0)
    record.streamed = 0
  end,
  SD_EVENT_STEP_COMPLETED = function(record, data)
    local step = step_of(record, data)
    step.state, step.duration_ms = 'completed', data.duration_ms
  end,
  SD_EVENT_STEP_FAILED = function(record, data)
    local step = step_of(record, data)
    step.state = 'failed'
    step.duration_ms = step.started and now() - step.started
  end,
  SD_EVENT_CONFIRMATION_REQUIRED = become('confirming'),
  SD_EVENT_CONFIRMATION_ANSWERED = become('running'),
  SD_EVENT_WORKFLOW_PAUSED = become('paused'),
  SD_EVENT_WORKFLOW_RESUMED = become('running'),
  SD_EVENT_WORKFLOW_COMPLETED = finish('completed'),
  SD_EVENT_WORKFLOW_FAILED = finish('failed'),
  SD_EVENT_WORKFLOW_CANCELLED = finish('cancelled'),
}

return M
