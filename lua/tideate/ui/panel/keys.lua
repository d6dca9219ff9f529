--- Keys of the panel.
local M = {}

local ui = require('tideate.ui')
local details = require('tideate.ui.panel.details')
local run_actions = require('tideate.ui.run_actions')

--- Sort related runs first: forks and source, then runs of the same workflow.
---@param run tideate.ui.PanelRun
---@param others tideate.ui.PanelRun[] the newest first
---@return tideate.ui.PanelRun[]
local function nearest_first(run, others)
  local function source(one)
    return one.stored and one.stored.forked_from and one.stored.forked_from.execution_id
  end
  local function distance(one)
    local related = source(one) == run.id or source(run) == one.id or source(run) and source(run) == source(one)
    return related and 1 or one.name == run.name and 2 or 3
  end
  local found = { {}, {}, {} }
  for _, one in ipairs(others) do
    table.insert(found[distance(one)], one)
  end
  return vim.iter(found):flatten(1):totable()
end

---@param run tideate.ui.PanelRun
---@return string
local function choice_words(run)
  local short, text = require('tideate.stored_runs').short, require('tideate.ui.text')
  local at = os.date('%b %d %H:%M', math.floor(run.started_at / 1000))
  return text.plain(('%s  %s  %s  %s  %s'):format(run.name, short(run.id), require('tideate.ui.panel.tree').word(run), at, (run.prompt:sub(1, 60):gsub('%s+', ' '))))
end

---@param one tideate.ui.PanelRun
---@param other tideate.ui.PanelRun
---@param step? string
---@param folder string
local function open_comparison(one, other, step, folder)
  -- show what the newer run changed
  if one.started_at > other.started_at then
    one, other = other, one
  end
  require('tideate.ui.pages.comparison').open(one.id, other.id, { step = step, folder = folder })
end

--- Compare a run or a step with a marked one of its kind, else with a chosen one.
---@param node tideate.ui.Node
---@param controls tideate.ui.PanelControls
local function compare_with_another(node, controls)
  local run, step = node.run --[[@as tideate.ui.PanelRun]], node.step
  local marked, seen = {}, {} ---@type tideate.ui.PanelRun[], table<string, true>
  for _, other in pairs(controls.marks()) do
    if other.run.id ~= run.id and not seen[other.run.id] then
      seen[other.run.id] = true
      table.insert(marked, other.run)
    end
  end
  if #marked == 1 then
    return open_comparison(run, marked[1], step, controls.folder())
  end
  local others = vim.tbl_filter(function(other)
    return other.id ~= run.id and other.state ~= 'starting'
  end, #marked > 0 and marked or controls.runs())
  if #others == 0 then
    return ui.warn('there is no other run to compare it with')
  end
  vim.ui.select(nearest_first(run, others), { prompt = ('Compare %s with:'):format(run.name), format_item = choice_words }, function(other)
    if other then
      open_comparison(run, other, step, controls.folder())
    end
  end)
end

---@class tideate.ui.PanelControls functions behind the keys
---@field node fun(): tideate.ui.Node? under the cursor
---@field folder fun(): string
---@field stored fun(id: string): tideate.StoredRun? as last read from the store
---@field fold fun(open?: boolean)
---@field fold_all fun(open: boolean)
---@field marks fun(): table<string, tideate.ui.Node> marked nodes by key
---@field runs fun(): tideate.ui.PanelRun[] shown
---@field redraw fun()
---@field changed fun() called after an action on a run
---@field filter fun()
---@field close fun()

--- Return whether this Neovim runs it.
---@param run tideate.ui.PanelRun
---@return boolean
local function is_here(run)
  return run.live ~= nil and not require('tideate.state').ended(run.id)
end

---@param action tideate.RunAction
---@param run tideate.ui.PanelRun
---@param controls tideate.ui.PanelControls
local function act(action, run, controls)
  local stored = controls.stored(run.id) or run.stored
  if not stored then
    return ui.warn(('%s is not stored yet'):format(run.name))
  end
  run_actions.act(action, stored, controls.folder(), controls.changed)
end

--- Return a key action on the run of the cursor's line.
---@param deed fun(run: tideate.ui.PanelRun, controls: tideate.ui.PanelControls)
---@return fun(controls: tideate.ui.PanelControls)
local function of_run(deed)
  return function(controls)
    local node = controls.node()
    if node and node.run then
      deed(node.run, controls)
    end
  end
end

---@param deed fun(node: tideate.ui.Node, controls: tideate.ui.PanelControls)
---@return fun(controls: tideate.ui.PanelControls)
local function of_node(deed)
  return function(controls)
    local node = controls.node()
    if node and node.run then
      deed(node, controls)
    end
  end
end

--- Return a key action for guarded sessions, with another action for all other nodes.
---@param deed 'land'|'resume'|'discard'
---@param other fun(controls: tideate.ui.PanelControls)
---@return fun(controls: tideate.ui.PanelControls)
local function of_session(deed, other)
  return function(controls)
    local node = controls.node()
    if node and node.session then
      return require('tideate.guard')[deed](node.session, controls.folder())
    end
    other(controls)
  end
end

--- Return a key action for questions of the inbox, with another action for all other nodes.
---@param deed 'answer'|'continue_here'
---@param other? fun(controls: tideate.ui.PanelControls)
---@return fun(controls: tideate.ui.PanelControls)
local function of_question(deed, other)
  return function(controls)
    local node = controls.node()
    if node and node.waiting then
      return require('tideate.inbox')[deed](node.waiting, controls.folder())
    elseif other then
      other(controls)
    end
  end
end

local function cancel(run, controls)
  if is_here(run) then
    local stored = { execution_id = run.id, workflow = run.name, prompt = run.prompt }
    run_actions.cancel(stored, function()
      require('tideate').cancel(run.id)
    end)
  else
    act('cancel', run, controls)
  end
end

local function pause_or_resume(run, controls)
  local paused = run.state == 'paused' or run.live and run.live.pausing
  if is_here(run) then
    if paused then
      require('tideate').resume(run.id)
    else
      require('tideate').pause(run.id)
    end
  else
    local can = run_actions.can(controls.stored(run.id), 'resume')
    act(can and 'resume' or 'pause', run, controls)
  end
end

local function tell(run, controls)
  run_actions.ask_what_to_say({
    id = run.id,
    ended = not is_here(run) and (run.live ~= nil or run.stored.state ~= 'running'),
    folder = not run.live and controls.folder() or nil,
  })
end

--- Return the place of a line; for a run, the host takes the first step that did not complete.
---@param node tideate.ui.Node
---@param controls tideate.ui.PanelControls
---@return {execution_id: string, step?: string, folder: string}
local function place_of(node, controls)
  local step = node.step and (node.step:gsub('%[%d+%]$', '')) or nil
  return { execution_id = node.run.id, step = step, folder = controls.folder() }
end

--- Return whether a retry has a step to begin with: for a run's line, one that did not complete.
---@param node tideate.ui.Node
---@return boolean
local function has_start(node)
  local run = node.run ---@type tideate.ui.PanelRun
  local failed = vim.iter(run.live and run.live.steps or {}):any(function(step)
    return step.state == 'failed'
  end)
  return node.step ~= nil or run.state ~= 'completed' or failed or run.stored ~= nil and run.stored.failed_steps > 0
end

local function run_anew(node, controls)
  if not has_start(node) then
    local words = 'every step of %s completed: put the cursor on the first step to repeat; f repeats all of it'
    return ui.warn(words:format(node.run.name))
  end
  run_actions.retry(place_of(node, controls))
end

--- Return a key action on an ended run, from a step on.
---@param deed fun(node: tideate.ui.Node, controls: tideate.ui.PanelControls)
---@return fun(controls: tideate.ui.PanelControls)
local function of_ended(deed)
  return of_node(function(node, controls)
    if is_here(node.run) then
      return ui.warn(('%s has not ended: cancel it first (c)'):format(node.run.name))
    end
    deed(node, controls)
  end)
end

--- Continue the conversation from a turn if possible; else rerun the step, from that turn on if possible.
local function fork(node, controls)
  local place = place_of(node, controls)
  place.may_open = require('tideate.ui.panel.fork').still_here(node.run.name, 'press f in the panel again')
  if node.kind ~= 'turn' then
    return require('tideate.ui.panel.fork').open(place)
  end
  details.number_of_turn(node, place.folder, function(turn, of_step)
    if turn and place.may_open() then
      require('tideate.reply').to_turn(node.run, turn, place.folder)
    elseif not turn then
      require('tideate.ui.panel.fork').open(vim.tbl_extend('error', place, { turn = of_step, whole = node.label }))
    end
  end)
end

--- Mark a run or a step, or unmark it.
local function mark(node, controls)
  if node.kind == 'run' or node.kind == 'step' then
    local marks = controls.marks()
    marks[node.key] = not marks[node.key] and node or nil
    controls.redraw()
  end
end

local function compare(node, controls)
  compare_with_another(node, controls)
end

local function export(node, controls)
  require('tideate.run_export').of(node, controls)
end

local function output(run)
  if run.live then
    ui.toggle_output(run.id)
  elseif run.name == 'chat' or run.name == 'ask' then
    require('tideate.ui.chat').open(run.id)
  else
    ui.warn(('%s did not run in this Neovim; <CR> shows its stored page'):format(run.name))
  end
end

local function open(node, controls)
  details.open(node, controls.folder())
end

local function copy(node, controls)
  details.copyable(node, controls.folder(), function(text)
    vim.fn.setreg(vim.v.register, text)
    ui.notify('copied ' .. require('tideate.ui.transcript.tool_calls').size_words(vim.fn.strchars(text)))
  end)
end

---@param wanted boolean?
---@return fun(controls: tideate.ui.PanelControls)
local function fold(wanted)
  return function(controls)
    controls.fold(wanted)
  end
end

--- Keys, description, action; keys on its line of the help.
---@type { [1]: string[], [2]: string, [3]: fun(controls: tideate.ui.PanelControls), shown?: string[] }[]
local TABLE = {
  {
    { '<CR>', '<2-LeftMouse>' },
    'open it: text, tool call, error; review it; answer it',
    of_question('answer', of_session('land', of_node(open))),
    shown = { '<CR>' },
  },
  { { 'a' }, 'continue the run of a question here', of_question('continue_here') },
  { { '<Tab>', 'za' }, 'open or close the fold', fold(), shown = { '<Tab>', 'za', 'zo', 'zc' } },
  { { 'zo' }, 'open it', fold(true), shown = {} },
  { { 'zc' }, 'close it', fold(false), shown = {} },
  {
    { 'zR' },
    'open all that was read; close all',
    function(controls)
      controls.fold_all(true)
    end,
    shown = { 'zR', 'zM' },
  },
  {
    { 'zM' },
    'close all',
    function(controls)
      controls.fold_all(false)
    end,
    shown = {},
  },
  { { 'c' }, 'cancel the run; discard a session', of_session('discard', of_run(cancel)) },
  { { 'p' }, 'pause or resume the run; run a guarded program again', of_session('resume', of_run(pause_or_resume)) },
  { { 's' }, 'send the model a message before its next turn', of_run(tell) },
  { { 'r' }, 'retry from this step on, or from the first failed step', of_ended(run_anew) },
  { { 'f' }, 'fork from here with edits (a completed run: all of it); on a turn: reply to the model from there', of_ended(fork) },
  { { 'R' }, 'roll back the changes of the run, after a list of its files (d: differences)', of_run(function(run, controls)
    act('rollback', run, controls)
  end) },
  { { '=' }, 'compare with the marked run or step, or a chosen one', of_node(compare) },
  { { 'm' }, 'mark the run or the step, or take its mark away', of_node(mark) },
  { { 'x' }, 'export the marked runs, or this one, into a buffer', of_node(export) },
  { { 'y' }, 'copy it: an answer, a result, an error, an id', of_node(copy) },
  { { 'o' }, 'show or hide the output of the run, or open its chat', of_run(output) },
  { { 'F' }, 'show only runs with some words, a state, file or time', function(controls)
    controls.filter()
  end },
  { { 'q' }, 'close this window; the runs continue', function(controls)
    controls.close()
  end },
}

---@param controls tideate.ui.PanelControls
---@return tideate.Key[]
function M.keys(controls)
  local keys = vim.tbl_map(function(entry)
    return {
      lhs = entry[1],
      desc = entry[2],
      shown = entry.shown,
      run = function()
        entry[3](controls)
      end,
    }
  end, TABLE)
  table.insert(keys, {
    lhs = { '?', 'g?' },
    desc = 'this help',
    run = function()
      require('tideate.ui.keys').help('runs', M.keys(controls))
    end,
  })
  return keys
end

return M
