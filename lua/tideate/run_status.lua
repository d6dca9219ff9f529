--- Status of a run, in values and words.
local M = {}


---@class tideate.StepLanes lines that connect steps, as the host drew them
---@field before string what stands before a step's mark
---@field after string what stands behind it
---@field below string what stands before the lines below the step
---@field words string what it needs, where there is no line for it

---@class tideate.RunStep
---@field name string of a machine the state, with `#2` at its second visit
---@field label string what is shown of it
---@field state tideate.StepState
---@field order? integer of its start among the starts
---@field index? integer its place among the steps
---@field attempt? integer of one that is tried again
---@field lanes? tideate.StepLanes where the steps are no simple list
---@field started? integer milliseconds of `vim.uv.now()`
---@field duration_ms? integer

---@alias tideate.StepState 'waiting'|'running'|'retrying'|'completed'|'failed'|'skipped'

---@alias tideate.RunState 'starting'|'running'|'pausing'|'confirming'|'paused'|'completed'|'failed'|'cancelled'|'interrupted'

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
---@field parent_step? string that step
---@field checkpoint? string the newest one
---@field kind 'graph'|'machine'
---@field current_state? string where a machine is
---@field states? string[] of a machine
---@field path? tideate.Moved[] of a machine: its moves so far
---@field state tideate.RunState
---@field pausing boolean whether it is to pause before its next step, also while it asks something
---@field started_at integer when it was asked for or taken up here, milliseconds since the epoch
---@field elapsed_ms integer
---@field tokens integer as the models reported; an estimate while an answer is streamed
---@field adapter? string
---@field demonstration boolean whether the adapter's answers are not to be relied on
---@field answered? boolean whether a model answered in it
---@field check? string that is running
---@field current_tool? string that a model has called and that has not ended, of several the last
---@field rolled_back? { restored: string[], merged: string[], left: string[] } what was rolled back of it
---@field declined? boolean whether it was cancelled by a no
---@field question? string kind of the last question that it asked
---@field error? string
---@field files string[] what the run changed
---@field unsaved? string[] files that the run changed in their buffers and did not save
---@field unchanged? boolean it was to change something, and its answer changes nothing
---@field root? string of its project, absolute
---@field next? tideate.NextRun that it proposed to follow it

---@class tideate.Record: tideate.Run
---@field begun integer milliseconds of `vim.uv.now()`
---@field used integer tokens that the models reported
---@field starts? integer how many steps have started
---@field streamed integer bytes since the last report
---@field chunks string[]
---@field calls? { number: integer, name: string }[] tool calls under way
---@field activity tideate.Activity

local BYTES_PER_TOKEN = 4 -- a rule of thumb, until the model reports

---@type table<tideate.RunState, true>
M.ENDED = { completed = true, failed = true, cancelled = true, interrupted = true }

--- What is told of a record.
---@param record tideate.Record
---@return tideate.Run
function M.view(record)
  local over = M.ENDED[record.state]
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
    parent_step = record.parent_step,
    checkpoint = record.checkpoint,
    kind = record.kind,
    current_state = record.current_state,
    states = record.states,
    path = record.path,
    state = record.pausing and record.state == 'running' and 'pausing' or record.state,
    pausing = not over and record.pausing,
    check = record.check,
    current_tool = record.current_tool,
    rolled_back = record.rolled_back,
    declined = record.declined,
    question = record.question,
    unchanged = record.unchanged,
    unsaved = record.unsaved,
    started_at = record.started_at,
    elapsed_ms = over and record.elapsed_ms or vim.uv.now() - record.begun,
    tokens = record.used + math.ceil(record.streamed / BYTES_PER_TOKEN),
    adapter = record.adapter,
    answered = record.answered,
    demonstration = record.demonstration,
    root = record.root,
    error = record.error,
    files = record.files,
    next = record.next,
  }
end

local GATES = { plan = true, audit = true, execution = true, documentation = true }

--- What a step is called on the screen: of a task's gates without its state's name.
---@param step string
---@return string
function M.label(step)
  return (step:gsub('^awaiting_(%l+)_gate', function(gate)
    return GATES[gate] and gate .. ' gate' or nil
  end))
end

--- The state of a run in a word, and whether it is to pause after a question.
---@param run tideate.Run
---@return string
function M.word(run)
  return run.state == 'confirming' and run.pausing and 'confirming, pausing' or run.state
end

--- The step that a run is at, of a machine its state, with the check or tool that is running; empty before the first one.
---@param run tideate.Run|tideate.Record
---@return string
function M.place(run)
  if run.kind == 'machine' and run.current_state == '*' then
    return 'end'
  end
  local at = M.label(run.kind == 'machine' and run.step > 0 and run.current_state or run.current_step)
  local doing = run.check or run.current_tool
  return doing and ('%s (%s)'):format(at, doing) or at
end

--- One line for a statusline.
---@param run tideate.Record
---@return string
function M.line(run)
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
  local state = M.word(M.view(run))
  if state ~= 'running' then
    parts[#parts + 1] = '(' .. state .. ')'
  end
  if run.demonstration then
    parts[#parts + 1] = '[demo model]'
  end
  return table.concat(parts, ' ')
end

---@param run tideate.Record
---@return string
local function brief(run)
  local state = M.word(M.view(run))
  local place = run.total_steps > 0 and (' %d/%d'):format(math.max(run.step, 1), run.total_steps) or ''
  return run.name .. place .. (state ~= 'running' and (' (%s)'):format(state) or '')
end

--- One line for a statusline, of several runs with a word on each; empty when nothing runs.
---@param runs tideate.Record[] the newest first
---@param width integer columns: of runs that do not fit their number is told
---@return string
function M.line_of_all(runs, width)
  if #runs < 2 then
    return runs[1] and M.line(runs[1]) or ''
  end
  local line = ('%d runs: %s'):format(#runs, brief(runs[1]))
  for index = 2, #runs do
    local longer = ('%s, %s'):format(line, brief(runs[index]))
    local rest = #runs - index
    local room = rest > 0 and width - #(' +%d'):format(rest) or width
    if vim.fn.strdisplaywidth(longer) > room then
      return ('%s +%d'):format(line, rest + 1)
    end
    line = longer
  end
  return line
end

---@type table<tideate.RunState, { [1]: string, [2]: string }> mark and group of those that do not just go on
local MARKS = { confirming = { '?', 'TideateWarning' }, paused = { '‖', 'TideateWarning' } }

--- A line as 'statusline' and 'winbar' take it: no word of it is an item.
---@param line string
---@return string
function M.escape(line)
  return (line:gsub('%%', '%%%%'))
end

--- Runs for a winbar, with a mark and in the colour of their state; empty without any.
---@param runs tideate.Record[]
---@return string with items of 'statusline'
function M.bar(runs)
  local parts = vim.tbl_map(function(run)
    local mark = MARKS[M.view(run).state] or { '●', 'TideateRunning' }
    return ('%%#%s#%s %%*%s'):format(mark[2], mark[1], M.escape(M.line(run)))
  end, runs)
  return table.concat(parts, '  ')
end

return M
