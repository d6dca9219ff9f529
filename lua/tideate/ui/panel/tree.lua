--- The tree of runs as plain tables: workflow, step, turn, tool call; from the state and the store.
local M = {}

local calls = require('tideate.ui.transcript.tool_calls')
local run_status = require('tideate.run_status')
local text = require('tideate.ui.text')

---@param usage tideate.Usage?
---@return integer? tokens, number? cost
local function spent(usage)
  local tokens = usage and (usage.input_tokens or 0) + (usage.output_tokens or 0) or 0
  local cost = usage and usage.cost
  return tokens > 0 and tokens or nil, type(cost) == 'number' and cost or nil
end

---@param said string
---@return string
local function one_line(said)
  return (said:sub(1, 400):gsub('^[\128-\191]+', ''):gsub('%s+', ' '))
end

--- Complete a node below another.
---@param parent tideate.ui.Node
---@param name string
---@param node table<string, any>
---@return tideate.ui.Node
local function child(parent, name, node)
  node.key, node.run, node.step = parent.key .. '/' .. name, parent.run, node.step or parent.step
  return node
end

--- Update a running node now and with each drawing.
---@param node tideate.ui.Node
---@param renew fun()
local function keep_current(node, renew)
  node.renew = renew
  renew()
end

---@param call tideate.CallActivity
---@param parent tideate.ui.Node
---@param index integer
---@return tideate.ui.Node
local function call_node(call, parent, index)
  local data, running = call.data, call.state == 'running'
  local hint = type(data.error) == 'string' and one_line(data.error) or data.size and calls.size_words(data.size) or nil
  local node = child(parent, 'c' .. index, {
    kind = 'call',
    label = calls.name(data),
    hint = hint,
    state = call.state,
    began = running and call.began or nil,
    took = data.duration_ms,
    about = call,
  })
  if running then
    keep_current(node, function()
      node.hint = call.progress and calls.progress_words(call.progress):match('  (.*)$') or hint
    end)
  end
  return node
end

---@param turn tideate.TurnActivity
---@return string
local function turn_hint(turn)
  if turn.state == 'running' then
    local thinking = #turn.text == 0 and #turn.reasoning > 0
    return (thinking and 'thinks: ' or '') .. one_line(turn.tail)
  end
  local parts = { turn.model and one_line(turn.model) }
  if #turn.calls > 0 then
    table.insert(parts, text.counted(#turn.calls, 'tool call'))
  end
  -- texts of a stored run are read when it is opened
  table.insert(parts, turn.text[1] and one_line(table.concat(turn.text, '', 1, math.min(#turn.text, 40))))
  return table.concat(parts, '  ')
end

---@param turn tideate.TurnActivity
---@param parent tideate.ui.Node
---@param turns integer of its step
---@return tideate.ui.Node
local function turn_node(turn, parent, turns)
  local running = turn.state == 'running'
  local node = child(parent, 't' .. turn.number, {
    kind = 'turn',
    label = 'turn ' .. turn.number,
    hint = turn_hint(turn),
    flows = running,
    state = turn.state,
    began = running and turn.began or nil,
    took = turn.duration_ms,
    about = turn,
    turns = turns,
  })
  node.tokens, node.cost = spent(turn.usage)
  if running then
    keep_current(node, function()
      node.hint, node.tokens = turn_hint(turn), math.ceil(turn.bytes / 4)
    end)
  end
  if #turn.calls > 0 then
    node.opens = true
    node.children = function()
      local nodes = {}
      for index, call in ipairs(turn.calls) do
        nodes[index] = call_node(call, node, index)
      end
      return nodes
    end
  end
  return node
end

---@param parent tideate.ui.Node
---@param kind 'note'|'error'
---@param state string
---@param said string
---@param number integer|string
---@return tideate.ui.Node
local function text_node(parent, kind, state, said, number)
  return child(parent, kind .. number, { kind = kind, label = one_line(said), state = state, about = said })
end

---@param step tideate.StepActivity?
---@param parent tideate.ui.Node
---@param nodes tideate.ui.Node[]
---@param err? string reason of its failure
local function add_entries(step, parent, nodes, err)
  for index, entry in ipairs(step and step.entries or {}) do
    table.insert(nodes, entry.kind == 'turn' and turn_node(entry, parent, step.turns)
      or entry.kind == 'call' and call_node(entry, parent, index)
      or text_node(parent, 'note', entry.state, entry.text, index))
  end
  if err then
    table.insert(nodes, text_node(parent, 'error', 'failed', err, ''))
  end
end

---@param item tideate.ItemActivity
---@param parent tideate.ui.Node
---@return tideate.ui.Node
local function item_node(item, parent)
  local step = item.step
  local state = step.ended or not parent.began and 'stopped' or 'running'
  local node = child(parent, 'i' .. item.index, {
    kind = 'item',
    label = item.name,
    state = state,
    opens = state == 'running',
    took = step.duration_ms,
    step = item.name,
    about = step,
  })
  node.tokens, node.cost = spent(step.usage)
  if #step.entries > 0 or step.error then
    node.children = function()
      local nodes = {}
      add_entries(step, node, nodes, step.error)
      return nodes
    end
  end
  return node
end

---@class tideate.ui.PanelRun a run of this Neovim, the store, or both
---@field id string
---@field name string
---@field state string
---@field prompt string
---@field started_at integer milliseconds since the epoch
---@field live? tideate.Run state in this Neovim
---@field stored? tideate.StoredRun

---@class tideate.ui.Node
---@field key string stable across builds
---@field kind 'run'|'step'|'item'|'turn'|'call'|'note'|'error'|'file'|'match'|'more'|'empty'|'head'|'session'|'inbox'|'question'
---@field label string
---@field hint? string
---@field flows? boolean show the end of the hint if it is too long
---@field state string
---@field lanes? tideate.StepLanes of a step, if the steps are not a simple list
---@field began? integer start of running work, milliseconds of `vim.uv.now()`
---@field took? integer milliseconds
---@field attempts? integer
---@field tokens? integer
---@field cost? number
---@field opens? boolean open by default
---@field children? fun(): tideate.ui.Node[] nil without children
---@field wants? string id of the run with the details of its children
---@field run? tideate.ui.PanelRun its run
---@field session? string id of a guarded session
---@field waiting? tideate.Waiting question of the inbox
---@field step? string its step
---@field renew? fun(node: tideate.ui.Node) update growing data
---@field turns? integer of a turn: number of turns in its step
---@field about? any content: an activity, a stored step, a text

---@class tideate.ui.RunDetails the host's answer to `show`
---@field run tideate.StoredRun
---@field steps tideate.StoredStep[]
---@field runs tideate.StoredRun[]
---@field activity tideate.Activity
---@field lanes table<string, tideate.StepLanes>

---@class tideate.ui.TreeSources
---@field activity fun(id: string): tideate.Activity?
---@field within fun(id: string): tideate.Run[]
---@field status? fun(id: string): tideate.Run?
---@field details table<string, tideate.ui.RunDetails>
---@field unread? table<string, string> errors by run

local INDENT = '  '

---@type table<string, true>
local ENDED = { completed = true, failed = true, cancelled = true, declined = true }

---@param live? tideate.Run
---@param stored? tideate.StoredRun
---@return tideate.ui.PanelRun
function M.run(live, stored)
  if stored and live and live.state == 'interrupted' then
    live = nil -- it was left here; the store knows the question
  end
  local known = live or stored
  local declined = live and live.declined or not live and stored.reason == 'declined'
  return {
    id = known.execution_id,
    name = live and live.name or stored.workflow,
    state = declined and 'declined' or known.state,
    prompt = known.prompt,
    started_at = (stored or live).started_at,
    live = live,
    stored = stored,
  }
end

--- Return the state of a run in words.
---@param run tideate.ui.PanelRun
---@return string
function M.word(run)
  local live, stored = run.live, run.stored
  if not ENDED[run.state] then
    return live and live.state == 'confirming' and live.pausing and 'confirming, pausing' or run.state
  end
  return stored and stored.rolled_back and 'rolled back' or run.state
end

--- Merge stored runs with those of this Neovim, newest first.
---@param stored tideate.StoredRun[]
---@param live tideate.Run[]
---@param whole boolean include runs that are not stored yet
---@return tideate.ui.PanelRun[]
function M.merge(stored, live, whole)
  local here, runs = {}, {} ---@type table<string, tideate.Run>, tideate.ui.PanelRun[]
  for _, run in ipairs(live) do
    here[run.execution_id] = run
  end
  for _, run in ipairs(stored) do
    table.insert(runs, M.run(here[run.execution_id], run))
    here[run.execution_id] = nil
  end
  local at = 1
  for _, run in ipairs(whole and live or {}) do
    if here[run.execution_id] then
      while runs[at] and runs[at].started_at > run.started_at do
        at = at + 1
      end
      table.insert(runs, at, M.run(run))
      at = at + 1
    end
  end
  return runs
end

---@class tideate.ui.PanelStep of a run of this Neovim or of the store
---@field name string
---@field label string
---@field state string
---@field lanes? tideate.StepLanes
---@field attempts? integer
---@field began? integer
---@field took? integer
---@field usage? tideate.Usage
---@field error? string
---@field result? any
---@field activity? tideate.StepActivity

--- Add up the usage of a step and its items.
---@param activity tideate.Activity
---@param name string
---@return tideate.Usage
local function usage_of(activity, name)
  local all = { input_tokens = 0, output_tokens = 0 }
  local own = activity.steps[name]
  local parts = { own and own.usage }
  for _, item in ipairs(activity.items[name] or {}) do
    table.insert(parts, item.step.usage)
  end
  for _, usage in pairs(parts) do
    all.input_tokens = all.input_tokens + usage.input_tokens
    all.output_tokens = all.output_tokens + usage.output_tokens
    all.cost = usage.cost and (all.cost or 0) + usage.cost or all.cost
  end
  return all
end

---@param step tideate.RunStep
---@param activity tideate.Activity
---@return tideate.ui.PanelStep
local function live_step(step, activity, over)
  local own = activity.steps[step.name]
  local at_work = step.state == 'running' or step.state == 'retrying'
  return {
    name = step.name,
    label = step.label,
    state = at_work and over and 'stopped' or step.state,
    lanes = step.lanes,
    attempts = step.attempt,
    began = at_work and not over and step.started or nil,
    took = step.duration_ms,
    usage = usage_of(activity, step.name),
    error = own and own.error,
    result = own and own.result,
    activity = own,
  }
end

---@param details tideate.ui.RunDetails
---@return tideate.ui.PanelStep[]
local function stored_steps(details)
  return vim.tbl_map(function(step)
    return {
      name = step.step,
      label = step.step == '*' and 'entry' or step.step,
      state = step.status == 'pending' and 'waiting' or step.status,
      lanes = details.lanes[step.step],
      attempts = step.attempts,
      took = step.duration_ms,
      usage = step.usage,
      error = step.error,
      result = step.result,
      activity = details.activity.steps[step.step],
    }
  end, details.steps)
end

--- Return the steps of a run; those of an earlier process come from the store.
---@param run tideate.ui.PanelRun
---@param sources tideate.ui.TreeSources
---@return tideate.ui.PanelStep[] steps, tideate.Activity activity
local function steps_of(run, sources)
  local details, activity = sources.details[run.id], sources.activity(run.id)
  local stored = details and stored_steps(details) or {}
  if not (run.live and activity) then
    return stored, details and details.activity or require('tideate.run_activity').new()
  end
  local earlier = {} ---@type table<string, tideate.ui.PanelStep>
  for _, step in ipairs(run.live.resumed and stored or {}) do
    earlier[step.name] = step
  end
  return vim.tbl_map(function(step)
    local here = activity.steps[step.name] or step.started
    return not here and earlier[step.name] or live_step(step, activity, ENDED[run.state])
  end, run.live.steps),
    activity
end

--- Return the nested runs of a run.
---@param run tideate.ui.PanelRun
---@param sources tideate.ui.TreeSources
---@return table<string, tideate.ui.PanelRun[]> by step
local function runs_within(run, sources)
  local found, seen = vim.defaulttable(), {}
  for _, live in ipairs(sources.within(run.id)) do
    seen[live.execution_id] = true
    table.insert(found[live.parent_step or ''], M.run(live))
  end
  local details = sources.details[run.id]
  for _, stored in ipairs(details and details.runs or {}) do
    if not seen[stored.execution_id] then
      table.insert(found[stored.parent_step or ''], M.run(nil, stored))
    end
  end
  return found
end

---@param step tideate.ui.PanelStep
---@param parent tideate.ui.Node
---@param items tideate.ItemActivity[] of its list
---@param within tideate.ui.PanelRun[] nested in the step
---@param sources tideate.ui.TreeSources
---@return tideate.ui.Node
local function step_node(step, parent, items, within, sources)
  local node = child(parent, step.name, {
    kind = 'step',
    label = step.label,
    hint = step.lanes and step.lanes.words,
    state = step.state,
    lanes = step.lanes,
    began = step.began,
    took = step.took,
    attempts = step.attempts,
    opens = step.state == 'running' or step.state == 'retrying' or step.state == 'failed',
    step = step.name,
    about = step,
  })
  node.tokens, node.cost = spent(step.usage)
  if #items + #within > 0 or step.error or step.activity and #step.activity.entries > 0 then
    node.children = function()
      local nodes = {}
      for _, item in ipairs(items) do
        table.insert(nodes, item_node(item, node))
      end
      for _, inner in ipairs(within) do
        table.insert(nodes, M.run_node(inner, sources))
      end
      add_entries(step.activity, node, nodes, step.error)
      return nodes
    end
  end
  return node
end

---@param node tideate.ui.Node of a run
---@param sources tideate.ui.TreeSources
---@return tideate.ui.Node[]
local function run_children(node, sources)
  local run = node.run ---@type tideate.ui.PanelRun
  local live, stored = run.live or {}, run.stored or {}
  local steps, activity = steps_of(run, sources)
  local nodes, within, told = {}, runs_within(run, sources), false
  for _, step in ipairs(steps) do
    local items, inner = activity.items[step.name] or {}, rawget(within, step.name) or {}
    table.insert(nodes, step_node(step, node, items, inner, sources))
    told = told or step.error ~= nil
  end
  local err = not told and (live.error or stored.error)
  add_entries(activity.steps[''], node, nodes, err and vim.trim(err) or nil)
  for _, path in ipairs(live.files or stored.files or {}) do
    table.insert(nodes, child(node, 'f' .. path, { kind = 'file', label = text.name(path), state = 'file', about = path }))
  end
  if #nodes == 0 then
    local unread = sources.unread and sources.unread[run.id]
    local words = unread and 'cannot be read: ' .. unread:gsub('%s+', ' ')
      or node.wants and not sources.details[run.id] and 'is read …'
      or 'no steps yet'
    table.insert(nodes, child(node, 'none', { kind = 'empty', label = words, state = 'waiting' }))
  end
  return nodes
end

---@param run tideate.ui.PanelRun
---@param sources tideate.ui.TreeSources
---@return integer? tokens, number? cost
local function spent_by(run, sources)
  if not run.live then
    return spent(run.stored and run.stored.usage)
  end
  local cost = nil ---@type number?
  for _, step in pairs((sources.activity(run.id) or { steps = {} }).steps) do
    cost = step.usage.cost and (cost or 0) + step.usage.cost or cost
  end
  return run.live.tokens > 0 and run.live.tokens or nil, cost
end

--- Return the progress of a run; empty for an ended one.
---@param run tideate.ui.PanelRun
---@return string
local function progress_of(run)
  local live = run.live
  if ENDED[run.state] or live and live.step == 0 then
    return ''
  elseif not live then
    return require('tideate.stored_runs').steps(run.stored)
  end
  local count = live.total_steps > 0 and ('%d/%d'):format(live.step, live.total_steps) or tostring(live.step)
  return vim.trim(('%s %s'):format(count, run_status.place(live)))
end

--- Build the node of a run.
---@param run tideate.ui.PanelRun
---@param sources tideate.ui.TreeSources
---@return tideate.ui.Node
function M.run_node(run, sources)
  local live, stored = run.live, run.stored
  local active = live ~= nil and not run_status.ENDED[live.state]
  local node = {
    key = run.id,
    kind = 'run',
    label = run.name,
    state = M.word(run),
    began = active and vim.uv.now() - live.elapsed_ms or nil,
    took = live and not active and live.elapsed_ms or stored and stored.duration_ms or nil,
    opens = active,
    run = run,
    wants = (not live or live.resumed) and run.id or nil,
  }
  local function update()
    node.tokens, node.cost = spent_by(run, sources)
    node.hint = progress_of(run)
  end
  update()
  node.children = function()
    return run_children(node, sources)
  end
  node.renew = active and sources.status and function()
    run.live = sources.status(run.id) or run.live
    update()
  end or nil
  return node
end

--- Build the node of a guarded session.
---@param session tideate.GuardSession
---@return tideate.ui.Node
function M.session_node(session)
  return {
    key = 'guard' .. session.id,
    kind = 'session',
    label = 'guard ' .. require('tideate.guard').named(session),
    hint = session.state,
    state = session.state,
    session = session.id,
  }
end

---@class tideate.ui.Row
---@field node tideate.ui.Node
---@field depth integer
---@field lead string indentation and lanes before it
---@field open? boolean nil without children
---@field marked? boolean

--- Build the row with the search match of a run.
---@param run tideate.ui.PanelRun
---@return tideate.ui.Row
function M.match_row(run)
  local node = { key = run.id .. '/match', kind = 'match', label = run.stored.match, state = 'match', run = run }
  return { node = node, depth = 1, lead = INDENT }
end

--- Return the visible rows of nodes.
---@param nodes tideate.ui.Node[]
---@param folds table<string, boolean> open or closed by the user, by key
---@param rows? tideate.ui.Row[] to append to
---@param depth? integer
---@param lead? string
---@return tideate.ui.Row[]
function M.rows(nodes, folds, rows, depth, lead)
  rows, depth, lead = rows or {}, depth or 0, lead or ''
  for _, node in ipairs(nodes) do
    local open = folds[node.key] ---@type boolean?
    if not node.children then
      open = nil
    elseif open == nil then
      open = node.opens == true
    end
    table.insert(rows, { node = node, depth = depth, lead = lead, open = open })
    if open then
      local below = node.lanes and INDENT .. node.lanes.below .. ' ' or INDENT
      M.rows(node.children(), folds, rows, depth + 1, lead .. below)
    end
  end
  return rows
end

return M
