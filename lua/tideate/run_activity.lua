--- Turns and tool calls of a run's steps, folded from live or stored events.
local M = {}

local TAIL = 200 -- bytes of a growing text

---@class tideate.Activity
---@field steps table<string, tideate.StepActivity> by name, list items as `name[0]`
---@field items table<string, tideate.ItemActivity[]> list items by step, in order

---@class tideate.ItemActivity
---@field index integer
---@field name string
---@field step tideate.StepActivity

---@class tideate.StepActivity
---@field entries tideate.ActivityEntry[]
---@field calls table<integer, tideate.CallActivity> running calls
---@field turn? tideate.TurnActivity current turn
---@field last? tideate.TurnActivity current or last turn
---@field turns integer
---@field usage tideate.Usage
---@field ended? 'completed'|'failed'|'stopped' of a list item
---@field duration_ms? integer
---@field error? string
---@field result? any

---@alias tideate.ActivityEntry tideate.TurnActivity|tideate.CallActivity|tideate.NoteActivity

---@class tideate.TurnActivity
---@field kind 'turn'
---@field number integer in the step
---@field state 'running'|'completed'|'stopped'
---@field began integer milliseconds of `vim.uv.now()`
---@field text string[] pieces
---@field reasoning string[] pieces
---@field tail string end of the text
---@field bytes integer
---@field calls tideate.CallActivity[]
---@field model? string
---@field usage? tideate.Usage
---@field duration_ms? integer

---@class tideate.CallActivity
---@field kind 'call'
---@field state 'running'|'completed'|'failed'|'stopped'
---@field began integer milliseconds of `vim.uv.now()`
---@field data table<string, any> data of its newest event
---@field arguments? any
---@field sequence? integer number of its last event
---@field progress? table<string, any> newest progress

---@class tideate.NoteActivity
---@field kind 'note'
---@field state 'note'|'warning'|'retry'|'passed'|'failed'
---@field text string

---@return tideate.Activity
function M.new()
  return { steps = {}, items = {} }
end

---@param activity tideate.Activity
---@param name string
---@param step tideate.StepActivity
local function add_item(activity, name, step)
  local list, index = name:match('^(.*)%[(%d+)%]$')
  if not list then
    return
  end
  local items = activity.items[list] or {}
  local item, at = { index = tonumber(index), name = name, step = step }, #items + 1
  while at > 1 and items[at - 1].index > item.index do
    at = at - 1
  end
  table.insert(items, at, item)
  activity.items[list] = items
end

---@param activity tideate.Activity
---@param name any
---@return tideate.StepActivity
local function step_of(activity, name)
  name = type(name) == 'string' and name or ''
  local step = activity.steps[name]
  if not step then
    step = { entries = {}, calls = {}, turns = 0, usage = { input_tokens = 0, output_tokens = 0 } }
    activity.steps[name] = step
    add_item(activity, name, step)
  end
  return step
end

---@param step tideate.StepActivity
---@return tideate.TurnActivity
local function turn_of(step)
  if not step.turn then
    step.turns = step.turns + 1
    step.turn = {
      kind = 'turn',
      number = step.turns,
      state = 'running',
      began = vim.uv.now(),
      text = {},
      reasoning = {},
      tail = '',
      bytes = 0,
      calls = {},
    }
    step.last = step.turn
    step.entries[#step.entries + 1] = step.turn
  end
  return step.turn
end

---@param field 'text'|'reasoning'
---@return fun(activity: tideate.Activity, data: table<string, any>)
local function stream(field)
  return function(activity, data)
    local turn, text = turn_of(step_of(activity, data.step)), data.text or ''
    local pieces = turn[field]
    pieces[#pieces + 1] = text
    turn.bytes = turn.bytes + #text
    turn.tail = (turn.tail .. text):sub(-TAIL)
    if data.again then
      -- an answer repeated from an earlier process comes whole, and no other event ends it
      turn.state = 'completed'
      step_of(activity, data.step).turn = nil
    end
  end
end

--- Add usage.
---@param into tideate.Usage
---@param more any
local function add(into, more)
  for key, value in pairs(type(more) == 'table' and more or {}) do
    if type(value) == 'number' then
      into[key] = (into[key] or 0) + value
    end
  end
end

--- Stop a step's turn and calls.
---@param step tideate.StepActivity
local function stop(step)
  if step.turn then
    step.turn.state = 'stopped'
    step.turn = nil
  end
  for _, call in pairs(step.calls) do
    call.state = 'stopped'
  end
  step.calls = {}
end

---@param activity tideate.Activity
---@param data table<string, any>
---@param state 'note'|'warning'|'retry'|'passed'|'failed'
---@param text string
local function note(activity, data, state, text)
  local step = step_of(activity, data.step)
  step.entries[#step.entries + 1] = { kind = 'note', state = state, text = text }
end

--- Return a handler that adds a gate's or check's lines as notes.
---@param name string
---@return fun(activity: tideate.Activity, data: table<string, any>)
local function decision(name)
  return function(activity, data)
    for _, line in ipairs(require('tideate.ui.transcript.checks').plain({ name = name, data = data })) do
      note(activity, data, vim.startswith(line, '✗') and 'failed' or 'passed', line)
    end
  end
end

---@param activity tideate.Activity
---@param data table<string, any>
---@return tideate.CallActivity
local function begin_call(activity, data)
  local step = step_of(activity, data.step)
  local call = { kind = 'call', state = 'running', began = vim.uv.now(), data = data, arguments = data.arguments }
  local entries = step.last and step.last.calls or step.entries
  entries[#entries + 1] = call
  step.calls[data.call or 0] = call
  return call
end

---@param state 'completed'|'failed'
---@return fun(activity: tideate.Activity, data: table<string, any>)
local function finish(state)
  return function(activity, data)
    local step = step_of(activity, data.step)
    stop(step)
    step.ended, step.duration_ms = state, data.duration_ms
    step.error, step.result = type(data.error) == 'string' and data.error or nil, data.result
  end
end

---@type table<string, fun(activity: tideate.Activity, data: table<string, any>, sequence: integer?)>
M.handlers = {
  SD_EVENT_TOKEN = stream('text'),
  SD_EVENT_REASONING = stream('reasoning'),
  SD_EVENT_MODEL_ANSWERED = function(activity, data)
    local step = step_of(activity, data.step)
    local turn = turn_of(step)
    turn.state, turn.model, turn.usage, turn.duration_ms = 'completed', data.model, data.usage, data.duration_ms
    add(step.usage, data.usage)
    step.turn = nil
  end,
  SD_EVENT_TOOL_CALLED = begin_call,
  SD_EVENT_TOOL_PROGRESS = function(activity, data)
    local call = step_of(activity, data.step).calls[data.call or 0]
    if call then
      call.progress = data
    end
  end,
  SD_EVENT_TOOL_COMPLETED = function(activity, data, sequence)
    local step = step_of(activity, data.step)
    local call = step.calls[data.call or 0] or begin_call(activity, data)
    step.calls[data.call or 0] = nil
    call.state, call.data, call.sequence = data.ok and 'completed' or 'failed', data, sequence
  end,
  SD_EVENT_STEP_STARTED = function(activity, data)
    local step = step_of(activity, data.step)
    step.ended, step.error = nil, nil
  end,
  SD_EVENT_STEP_RETRYING = function(activity, data)
    stop(step_of(activity, data.step))
    note(activity, data, 'retry', ('attempt %d failed: %s'):format(data.attempt or 1, data.error or '?'))
  end,
  SD_EVENT_STEP_EXECUTED = function(activity, data)
    -- list items only: another event reports a step
    if type(data.step) == 'string' and data.step:find('%[%d+%]$') then
      finish(data.success and 'completed' or 'failed')(activity, data)
    end
  end,
  SD_EVENT_STEP_COMPLETED = finish('completed'),
  SD_EVENT_STEP_FAILED = finish('failed'),
  SD_EVENT_NOTICE = function(activity, data)
    note(activity, data, data.level == 'warn' and 'warning' or 'note', data.message or '')
  end,
  SD_EVENT_GATE_PASSED = decision('SD_EVENT_GATE_PASSED'),
  SD_EVENT_GATE_FAILED = decision('SD_EVENT_GATE_FAILED'),
  SD_EVENT_CHECK_ENDED = decision('SD_EVENT_CHECK_ENDED'),
  SD_EVENT_ROLLED_BACK = decision('SD_EVENT_ROLLED_BACK'),
}

for _, name in ipairs({ 'COMPLETED', 'FAILED', 'CANCELLED' }) do
  M.handlers['SD_EVENT_WORKFLOW_' .. name] = function(activity)
    for _, step in pairs(activity.steps) do
      stop(step)
    end
  end
end

--- Handle an event.
---@param activity tideate.Activity
---@param event {name: string, data: table<string, any>, sequence?: integer}
function M.apply(activity, event)
  local handler = M.handlers[event.name]
  if handler then
    handler(activity, event.data, event.sequence)
  end
end

--- Fold the events of a stored run.
---@param events tideate.Event[]
---@return tideate.Activity
function M.of(events)
  local activity = M.new()
  for _, event in ipairs(events) do
    M.apply(activity, event)
  end
  return activity
end

return M
