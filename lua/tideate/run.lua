--- One run, from the call to its `on_done`.
local M = {}

---@class tideate.RunOpts
---@field prompt? string
---@field words? string in place of the prompt what stands behind the name on a command line: inputs, then the prompt
---@field context? tideate.Context by default what the person looks at
---@field inputs? table<string, any>
---@field options? table<string, any> given to the steps' handlers
---@field adapter? string
---@field require_confirmation? boolean
---@field memory? boolean false: leave out the project's `MEMORY.md` and the nearest earlier runs
---@field obfuscate? boolean nobody outside sees the names of a machine's states
---@field continues? string the run whose conversation it goes on with: its id, or `last`
---@field turn? integer the turn of that conversation after which it goes on; by default the last
---@field on_token? fun(text: string, step: string)
---@field on_event? fun(event: tideate.Event)
---@field on_sent? fun(name: string, opts: tideate.RunOpts) when nothing more is asked: what is run, and with what

---@class tideate.RunResult
---@field ok boolean
---@field execution_id string
---@field workflow? string
---@field response? any
---@field results? table<string, any> by step
---@field path? tideate.Moved[] of a machine: its moves
---@field error? string what happened and what to do
---@field error_code? string
---@field cancelled? true
---@field reason? string why it was cancelled: `declined`, `cancelled`, or `interrupted` of one that was left and waits
---@field rollback_performed? boolean nil where the workflow is not one that is rolled back
---@field attempts? integer corrections
---@field task? string of a task: its request
---@field result? {files_created: string[], files_modified: string[], files_deleted: string[], errors: string[]} of a task
---@field next? tideate.NextRun that it proposes to follow it

---@class tideate.LiveRun
---@field opts tideate.RunOpts
---@field on_done fun(result: tideate.RunResult)
---@field resumed? boolean whether an earlier process began it
---@field began? boolean of a resumed one: whether it continues
---@field asking boolean whether the person is still asked for inputs or the prompt, so that nobody else knows of it
---@field window? {close: fun()} where the prompt is asked for

---@type table<string, tideate.LiveRun>
local live = {}
---@type table<string, true> ids of runs that are being left
local leaving = {}
---@type fun()[] called when none is
local when_left = {}

---@return string id 32 hexadecimal digits
local function new_id()
  return (assert(vim.uv.random(16)):gsub('.', function(byte)
    return ('%02x'):format(byte:byte())
  end))
end

--- The host's reply ends the run; without an ending event before it, e.g. because the host died,
--- the event is made here, so that state, ui and autocmds learn of it the usual way.
---@param id string
---@param result tideate.RunResult
local function announce_end(id, result)
  -- an editor that is leaving has nobody to tell
  if require('tideate.state').ended(id) or vim.v.exiting ~= vim.NIL then
    return
  end
  local name, data = 'SD_EVENT_WORKFLOW_COMPLETED', { response = result.response, files = result.files }
  if result.cancelled then
    name, data = 'SD_EVENT_WORKFLOW_CANCELLED', { reason = 'cancelled' }
  elseif not result.ok then
    name, data = 'SD_EVENT_WORKFLOW_FAILED', { error = result.error, error_code = result.error_code }
  end
  require('tideate.events').dispatch({ name = name, execution_id = id, at = os.time() * 1000, data = data })
end

local function call_waiting()
  while not next(leaving) and #when_left > 0 do
    table.remove(when_left, 1)()
  end
end

---@param id string
---@param result tideate.RunResult
local function finish(id, result)
  local run = live[id]
  if not run then
    return
  end
  result.execution_id = id
  announce_end(id, result)
  if result.path then
    require('tideate.machine_path').know(id, result.path)
  end
  live[id] = nil
  if run.resumed and not run.began and not result.ok and not result.cancelled then
    require('tideate.ui').notify(result.error, vim.log.levels.ERROR)
  end
  -- only now the store knows the end
  require('tideate.ui.run_page').refresh()
  require('tideate.ui.panel').refresh()
  leaving[id] = nil
  call_waiting()
  run.on_done(result)
  if result.next then
    require('tideate.next_run').offer(result.next, result.workflow)
  end
end

--- Leave a run at its question, without an end: it waits, to be resumed.
---@param id string of it, or of one within it
function M.leave(id)
  if require('tideate.host').state() ~= 'ready' then
    return -- its end has left the run
  end
  leaving[id] = true
  require('tideate.client').request('leave_run', { execution_id = id }, function(result)
    leaving[id] = nil
    for _, left in ipairs(result.left or {}) do
      leaving[left] = live[left] and true or nil -- until its own reply has come
    end
    call_waiting()
  end)
end

--- Call back when no run is being left any more: those that were can be resumed then.
---@param callback fun()
function M.when_left(callback)
  table.insert(when_left, callback)
  call_waiting()
end

---@param text string?
---@return boolean
local function blank(text)
  return not text or not text:find('%S')
end

--- An empty table would arrive in Python as a list.
---@param values table<string, any>?
---@return table<string, any>
local function map(values)
  return values and next(values) ~= nil and values or vim.empty_dict()
end

---@param id string
---@param name string
---@param opts tideate.RunOpts
local function send(id, name, opts)
  local known = require('tideate.registry').get(name)
  require('tideate.workflow_lookup').warn_if_unsaved(name)
  require('tideate.language.definitions').ran(name)
  require('tideate.reply').note_folder(id, opts.context)
  local failures = package.loaded['tideate.failure_diagnostics'] -- not loaded: there are none
  if failures then
    failures.begin((opts.context.buffer or {}).path or '')
  end
  require('tideate.ui.ranges').begin(id, opts.context)
  require('tideate.state').begin({
    execution_id = id,
    name = require('tideate.workflow_lookup').label(name),
    asked = name,
    obfuscate = opts.obfuscate,
    prompt = opts.prompt,
    steps = known and known.steps,
  })
  require('tideate.client').request('run', {
    execution_id = id,
    name = name,
    prompt = opts.prompt or '',
    context = map(opts.context),
    inputs = map(opts.inputs),
    options = map(opts.options),
    adapter = opts.adapter or require('tideate.model_choice').adapter_for(name),
    require_confirmation = opts.require_confirmation,
    obfuscate = opts.obfuscate,
    memory = opts.memory,
    continues = opts.continues,
    turn = opts.turn,
  }, function(result)
    if result.error_code == 'InvalidWorkflowFile' or result.error_code == 'InvalidDefinitionFile' then
      require('tideate.workflow_lookup').list_mistakes(result.error)
    end
    require('tideate.workflow_lookup').suggest(result)
    finish(id, result --[[@as tideate.RunResult]])
  end)
  if opts.on_sent then
    opts.on_sent(name, opts)
  end
end

local gather

--- Ask the person for a prompt, then start; without one, or if it was cancelled meanwhile, nothing happens.
---@param id string
---@param name string
---@param opts tideate.RunOpts
local function ask_then_send(id, name, opts)
  require('tideate.model_choice').load(name)
  local spec = { name = name, context = opts.context, adapter = opts.adapter, inputs = opts.inputs, memory = opts.memory }
  live[id].window = require('tideate.ui.prompt').open(spec, function(prompt, chosen)
    if not M.is_asking(id) then
      return
    elseif not prompt then
      return finish(id, { ok = false, cancelled = true })
    elseif chosen ~= name and not require('tideate.inputs').has_none(chosen) then
      return gather(id, chosen, vim.tbl_extend('force', opts, { words = prompt, memory = spec.memory }))
    end
    live[id].asking = false
    send(id, chosen, vim.tbl_extend('force', opts, { prompt = prompt, memory = spec.memory }))
  end)
end

--- Send the run, after the question for its prompt if it needs one.
---@param id string
---@param name string
---@param opts tideate.RunOpts
local function proceed(id, name, opts)
  local known = require('tideate.registry').get(name)
  if opts.continues and blank(opts.prompt) then
    opts.prompt = require('tideate.next_run').prompt(name, opts.continues)
  end
  live[id].asking = known ~= nil and known.needs_prompt == true and blank(opts.prompt)
  if not live[id].asking then
    return send(id, name, opts)
  elseif vim.fn.getcmdwintype() == '' then
    -- at once: keys that were typed ahead are for the window
    return ask_then_send(id, name, opts)
  end
  -- the command-line window lets no other open
  require('tideate.ui.typing').when_quiet(function()
    if M.is_asking(id) then
      ask_then_send(id, name, opts)
    end
  end)
end

--- Find out which inputs the words give, ask for those that are missing, then go on.
---@param id string
---@param name string
---@param opts tideate.RunOpts
function gather(id, name, opts)
  live[id].asking = true
  require('tideate.model_choice').load(name)
  require('tideate.inputs').gather({
    name = name,
    folder = require('tideate.context').folder(),
    selection = opts.context.selection,
    wanted = function()
      return M.is_asking(id)
    end,
    on_done = function(got)
      if not M.is_asking(id) then
        return
      elseif not got then
        return finish(id, { ok = false, cancelled = true })
      end
      opts.prompt = got.prompt
      opts.inputs = vim.tbl_extend('force', opts.inputs or {}, got.inputs)
      proceed(id, name, opts)
    end,
  }, opts.words)
end

--- Start a workflow. Returns at once.
---@param name string
---@param opts? tideate.RunOpts
---@param on_done? fun(result: tideate.RunResult) called once, after this has returned
---@return string id of the execution
function M.start(name, opts, on_done)
  opts = vim.tbl_extend('force', {}, opts or {})
  if opts.continues then
    opts.context = require('tideate.reply').context(opts)
  end
  opts.context = require('tideate.context').complete(opts.context)
  local id = new_id()
  live[id] = { opts = opts, on_done = on_done or function() end, asking = false }
  if not opts.words then
    proceed(id, name, opts)
  elseif require('tideate.inputs').has_none(name) then
    opts.prompt = opts.words
    proceed(id, name, opts)
  else
    gather(id, name, opts)
  end
  return id
end

--- Resume a run of the store. Returns at once.
---@param id string
---@param folder string of its project
---@param on_done? fun(result: tideate.RunResult) called once, after this has returned
---@return boolean asked false if it is already running here
function M.resume_stored(id, folder, on_done, definition)
  if live[id] then
    require('tideate.ui').notify(('the run %s is already running'):format(id:sub(1, 8)))
    return false
  end
  live[id] = { opts = {}, on_done = on_done or function() end, asking = false, resumed = true }
  require('tideate.reply').note_folder(id, { cwd = folder })
  local params = { execution_id = id, folder = folder, definition = definition }
  require('tideate.client').request('resume_run', params, function(result)
    finish(id, result --[[@as tideate.RunResult]])
  end)
  return true
end

---@class tideate.ForkParams
---@field execution_id? string of an ended run, or the beginning of it; the newest that failed without one
---@field step? string from which on it is run anew; the first that failed without one
---@field prompt? string another one than it had
---@field inputs? table<string, any> other values of these
---@field adapter? string another one than it had
---@field results? table<string, any> other results of steps before it
---@field inputs_json? table<string, string> more inputs, as JSON
---@field results_json? table<string, string> more results, as JSON
---@field folder? string of its project
---@field definition? 'file' that of the workflow's file, if it was changed since; else the run's own

--- Run an ended run of the store anew from a step on, as a new run. Returns at once.
---@param params tideate.ForkParams
---@param on_done? fun(result: tideate.RunResult) called once, after this has returned
---@return string id of the new run
function M.fork_stored(params, on_done)
  local id = new_id()
  local folder = params.folder or require('tideate.context').folder()
  live[id] = { opts = {}, on_done = on_done or function() end, asking = false, resumed = true }
  require('tideate.reply').note_folder(id, { cwd = folder })
  local edited = { 'turn', 'prompt', 'adapter', 'inputs', 'inputs_json', 'results', 'results_json' }
  local method = vim.iter(edited):any(function(name)
    return params[name] ~= nil
  end) and 'fork' or 'retry'
  local given = vim.tbl_extend('force', {}, params, { new_id = id, folder = folder })
  require('tideate.client').request(method, given, function(result)
    finish(id, result --[[@as tideate.RunResult]])
  end)
  return id
end

--- Open the declined question of a run of the store again, in a new run that has all that led to it. Returns at once.
---@param wanted string its id
---@param folder string of its project
function M.review_again(wanted, folder)
  local id = new_id()
  live[id] = { opts = {}, on_done = function() end, asking = false, resumed = true }
  require('tideate.reply').note_folder(id, { cwd = folder })
  local params = { execution_id = wanted, new_id = id, folder = folder }
  require('tideate.client').request('review_again', params, function(result)
    finish(id, result --[[@as tideate.RunResult]])
  end)
end

--- The run that a run goes on with, as long as it has not ended.
---@param id string
---@return string?
function M.continues(id)
  return live[id] and live[id].opts.continues
end

--- Whether a run goes on with this one now.
---@param id string
---@return boolean
function M.is_continued(id)
  return vim.iter(pairs(live)):any(function(_, run)
    return run.opts.continues == id
  end)
end

--- Whether the named run, or any, waits for the person to type its inputs or its prompt.
---@param id? string
---@return boolean
function M.is_asking(id)
  if id then
    return live[id] ~= nil and live[id].asking
  end
  for _, run in pairs(live) do
    if run.asking then
      return true
    end
  end
  return false
end

--- Cancel the named run, or all, that the person is still asked about: what is typed then starts nothing.
---@param id? string
---@return boolean cancelled whether there was one
function M.cancel_asking(id)
  local cancelled = false
  for _, one in ipairs(id and { id } or vim.tbl_keys(live)) do
    if M.is_asking(one) then
      cancelled = true
      live[one].asking = false
      if live[one].window then
        live[one].window.close()
      end
      vim.schedule(function()
        finish(one, { ok = false, cancelled = true })
      end)
    end
  end
  return cancelled
end

--- Call what the caller of `start` gave; one that fails is not called again.
---@param run {opts: tideate.RunOpts}
---@param name 'on_token'|'on_event'
---@param ... any
local function tell(run, name, ...)
  local callback = run.opts[name]
  if not callback then
    return
  end
  local ok, err = xpcall(callback, debug.traceback, ...)
  if not ok then
    run.opts[name] = nil
    error(('%s failed: %s'):format(name, err), 0)
  end
end

--- Give an event to the one who started the run.
---@param event tideate.Event
function M.on_event(event)
  local run = live[event.execution_id]
  if not run then
    return
  end
  if event.name == 'SD_EVENT_WORKFLOW_RESTORED' then
    run.began = true
  elseif event.name == 'SD_EVENT_TOKEN' then
    tell(run, 'on_token', event.data.text, event.data.step)
  end
  tell(run, 'on_event', event)
end

return M
