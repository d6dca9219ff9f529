--- Status of a run from its record: as a value, in words, for 'statusline' and 'winbar'.
local M = {}

---@class tideate.StepLanes lines between steps, drawn by the host
---@field before string text before a step's mark
---@field after string text after the mark
---@field below string text before the lines below the step
---@field words string dependencies without a line

---@class tideate.RunStep
---@field name string a machine's state, with `#2` at the second visit
---@field label string shown name
---@field state tideate.StepState
---@field order? integer number of its start
---@field index? integer position among the steps
---@field attempt? integer number of a retry
---@field lanes? tideate.StepLanes if the steps are not a simple list
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
---@field asked string requested name or file
---@field obfuscate? boolean
---@field prompt string
---@field steps tideate.RunStep[]
---@field step integer 1-based; 0 before the first step
---@field total_steps integer 0: unknown, as for a machine
---@field current_step string the last started of the running steps
---@field running string[] running steps, the last started at the end
---@field resumed? boolean started by an earlier process
---@field parent? string run that contains it
---@field parent_step? string step of the containing run
---@field checkpoint? string newest checkpoint
---@field kind 'graph'|'machine'
---@field current_state? string current state of a machine
---@field states? string[] of a machine
---@field path? tideate.Moved[] transitions of a machine so far
---@field state tideate.RunState
---@field pausing boolean it pauses before its next step, even during a question
---@field started_at integer start or resumption here, milliseconds since the epoch
---@field elapsed_ms integer
---@field tokens integer reported by the models; estimated while streaming
---@field adapter? string
---@field demonstration boolean the adapter's answers are unreliable
---@field answered? boolean a model has answered
---@field check? string running check
---@field current_tool? string running tool call, the last of several
---@field rolled_back? { restored: string[], merged: string[], left: string[] } result of a rollback
---@field declined? boolean cancelled by a no
---@field question? string kind of its last question
---@field error? string
---@field files string[] changed files
---@field unsaved? string[] files changed in buffers and not saved
---@field unchanged? boolean its answer changes nothing
---@field root? string of its project, absolute
---@field next? tideate.NextRun proposed follow-up run

---@class tideate.Record: tideate.Run
---@field begun integer milliseconds of `vim.uv.now()`
---@field used integer tokens reported by the models
---@field starts? integer number of started steps
---@field streamed integer bytes since the last report
---@field chunks string[]
---@field calls? { number: integer, name: string }[] running tool calls
---@field activity tideate.Activity

local BYTES_PER_TOKEN = 4 -- estimate until the model reports

---@type table<tideate.RunState, true>
M.ENDED = { completed = true, failed = true, cancelled = true, interrupted = true }

---@type table<string, true> fields of a record that a status lacks
local PRIVATE = { activity = true, begun = true, calls = true, chunks = true, starts = true, streamed = true, used = true }

--- Return the public status of a record.
---@param record tideate.Record
---@return tideate.Run
function M.view(record)
  local over, run = M.ENDED[record.state], {} ---@type boolean?, tideate.Run
  for name, value in pairs(record) do
    if not PRIVATE[name] then
      run[name] = value
    end
  end
  run.running = vim.tbl_map(function(step)
    return step.name
  end, over and {} or require('tideate.run_events').running(record))
  run.state = record.pausing and record.state == 'running' and 'pausing' or record.state
  run.pausing = not over and record.pausing
  run.elapsed_ms = over and record.elapsed_ms or vim.uv.now() - record.begun
  run.tokens = record.used + math.ceil(record.streamed / BYTES_PER_TOKEN)
  return run
end

local GATES = { plan = true, audit = true, execution = true, documentation = true }

--- Return the shown name of a step; a task's gates without the state's prefix.
---@param step string
---@return string
function M.label(step)
  return (step:gsub('^awaiting_(%l+)_gate', function(gate)
    return GATES[gate] and gate .. ' gate' or nil
  end))
end

--- Return the state of a run, with a pending pause during a question.
---@param run tideate.Run
---@return string
function M.word(run)
  return run.state == 'confirming' and run.pausing and 'confirming, pausing' or run.state
end

--- Return the current step or state of a run, with the running check or tool; empty before the first step.
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

--- Return the statusline text of a run.
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

--- Return the statusline text of several runs; empty without one.
---@param runs tideate.Record[] newest first
---@param width integer columns; runs that do not fit are counted
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

---@type table<tideate.RunState, { [1]: string, [2]: string }> mark and group of a waiting run
local MARKS = { confirming = { '?', 'TideateWarning' }, paused = { '‖', 'TideateWarning' } }

--- Escape a text for 'statusline' and 'winbar'.
---@param line string
---@return string
function M.escape(line)
  return (line:gsub('%%', '%%%%'))
end

--- Return runs with marks and colours for a winbar; empty without one.
---@param runs tideate.Record[]
---@return string with 'statusline' items
function M.bar(runs)
  local parts = vim.tbl_map(function(run)
    local mark = MARKS[M.view(run).state] or { '●', 'TideateRunning' }
    return ('%%#%s#%s %%*%s'):format(mark[2], mark[1], M.escape(M.line(run)))
  end, runs)
  return table.concat(parts, '  ')
end

return M
