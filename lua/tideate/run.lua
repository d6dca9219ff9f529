--- Start, resume, fork and rerun runs from Lua; each calls its `on_done` at the end.
local M = {}

local ui = require('tideate.ui')
local context = require('tideate.context')
local inputs = require('tideate.inputs')
local model_choice = require('tideate.model_choice')
local reply = require('tideate.reply')
local workflow_lookup = require('tideate.workflow_lookup')

---@class tideate.RunOpts
---@field prompt? string
---@field words? string instead of the prompt: text of a command line, inputs first
---@field context? tideate.Context default: the current buffer
---@field inputs? table<string, any>
---@field options? table<string, any> for the steps' handlers
---@field adapter? string
---@field require_confirmation? boolean
---@field memory? boolean false: leave out the project's `MEMORY.md` and the most similar earlier runs
---@field obfuscate? boolean hide the names of a machine's states from models
---@field continues? string run to continue: its id, or `last`
---@field turn? integer turn to continue from; default: the last
---@field on_token? fun(text: string, step: string)
---@field on_event? fun(event: tideate.Event)
---@field on_sent? fun(name: string, opts: tideate.RunOpts) called with the final name and options

---@class tideate.RunResult
---@field ok boolean
---@field execution_id string
---@field workflow? string
---@field response? any
---@field results? table<string, any> by step
---@field path? tideate.Moved[] transitions of a machine
---@field error? string cause and next action
---@field error_code? string
---@field cancelled? true
---@field reason? string `declined`, `cancelled`, or `interrupted`: it was left and waits
---@field rollback_performed? boolean nil if the workflow is never rolled back
---@field attempts? integer corrections
---@field task? string request of a task
---@field result? {files_created: string[], files_modified: string[], files_deleted: string[], errors: string[]} of a task
---@field next? tideate.NextRun proposed follow-up run

---@class tideate.LiveRun
---@field opts tideate.RunOpts
---@field on_done fun(result: tideate.RunResult)
---@field resumed? boolean started by an earlier process
---@field began? boolean a resumed run continues
---@field asking boolean the user is still asked for inputs or the prompt: not sent yet
---@field window? {close: fun()} prompt window

---@type table<string, tideate.LiveRun>
local live = {}
---@type table<string, true> runs being left
local leaving = {}
---@type fun()[] callbacks for the time when no run is being left
local when_left = {}

---@return string id 32 hexadecimal digits
local function new_id()
  return vim.text.hexencode(assert(vim.uv.random(16))):lower()
end

--- Create the ending event of a run if the host sent none, for example because it died, so that state,
--- user interface and autocommands learn of the end.
---@param id string
---@param result tideate.RunResult
local function announce_end(id, result)
  -- an exiting editor has no listeners
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
    ui.fail(result.error)
  end
  -- only now the store knows the end
  require('tideate.ui.pages.run_page').refresh()
  require('tideate.ui.panel').refresh()
  leaving[id] = nil
  call_waiting()
  run.on_done(result)
  if result.workflow == 'land' then
    require('tideate.landing').hand_over(result)
  elseif result.workflow == 'answer' then
    require('tideate.inbox').ended(result)
  end
  if result.next then
    require('tideate.next_run').offer(result.next, result.workflow)
  end
end

--- Leave a run at its question: it waits, to be resumed.
---@param id string of the run, or of a nested one
function M.leave(id)
  if require('tideate.host').state() ~= 'ready' then
    return -- the end of the host has left the run
  end
  leaving[id] = true
  require('tideate.client').request('leave_run', { execution_id = id }, function(result)
    leaving[id] = nil
    for _, left in ipairs(result.left or {}) do
      leaving[left] = live[left] and true or nil -- until its own reply arrives
    end
    call_waiting()
  end)
end

--- Call back when no run is being left any more and all can be resumed.
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

--- Return a dictionary: Python would read an empty table as a list.
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
  workflow_lookup.warn_if_unsaved(name)
  require('tideate.language.definitions').ran(name)
  reply.note_folder(id, opts.context)
  local failures = package.loaded['tideate.failure_diagnostics'] -- not loaded: no failures
  if failures then
    failures.begin((opts.context.buffer or {}).path or '')
  end
  require('tideate.ui.ranges').begin(id, opts.context)
  require('tideate.ui.review.stream').begin(id, name, opts.context)
  require('tideate.state').begin({
    execution_id = id,
    name = workflow_lookup.label(name),
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
    adapter = opts.adapter or model_choice.adapter_for(name),
    require_confirmation = opts.require_confirmation,
    obfuscate = opts.obfuscate,
    memory = opts.memory,
    continues = opts.continues,
    turn = opts.turn,
  }, function(result)
    if result.error_code == 'InvalidWorkflowFile' or result.error_code == 'InvalidDefinitionFile' then
      workflow_lookup.list_mistakes(result.error)
    end
    workflow_lookup.suggest(result)
    finish(id, result --[[@as tideate.RunResult]])
  end)
  if opts.on_sent then
    opts.on_sent(name, opts)
  end
end

--- Select the whole buffer if nothing is selected, as `refactor` does.
---@param given tideate.Context
---@return tideate.Context
local function whole_if_unselected(given)
  local lines = given.selection or { start = 1, ['end'] = #vim.split((given.buffer or {}).text or '', '\n', { plain = true }) }
  return vim.tbl_extend('force', given, { selection = lines })
end

local gather

--- Ask for a prompt, then send the run; without a prompt it is cancelled.
---@param id string
---@param name string
---@param opts tideate.RunOpts
local function ask_then_send(id, name, opts)
  model_choice.load(name)
  local spec = { name = name, context = opts.context, adapter = opts.adapter, inputs = opts.inputs, memory = opts.memory }
  spec.analyzes = name == 'refactor' and not opts.continues
  live[id].window = require('tideate.ui.prompt').open(spec, function(prompt, chosen)
    if not M.is_asking(id) then
      return
    elseif not prompt then
      return finish(id, { ok = false, cancelled = true })
    elseif chosen ~= name and not inputs.has_none(chosen) then
      return gather(id, chosen, vim.tbl_extend('force', opts, { words = prompt, memory = spec.memory }))
    end
    live[id].asking = false
    if spec.analyzes and chosen == 'edit' then
      opts.context = whole_if_unselected(opts.context)
    end
    send(id, chosen, vim.tbl_extend('force', opts, { prompt = prompt, memory = spec.memory }))
  end)
end

--- Send the run, after asking for a prompt if it needs one.
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
    -- at once: typed-ahead keys belong to the prompt window
    return ask_then_send(id, name, opts)
  end
  -- the command-line window allows no other
  require('tideate.ui.typing').when_quiet(function()
    if M.is_asking(id) then
      ask_then_send(id, name, opts)
    end
  end)
end

--- Collect the inputs, then continue.
---@param id string
---@param name string
---@param opts tideate.RunOpts
function gather(id, name, opts)
  live[id].asking = true
  model_choice.load(name)
  inputs.gather({
    name = name,
    folder = context.folder(),
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
---@param on_done? fun(result: tideate.RunResult) called once, never before this returns
---@return string id of the execution
function M.start(name, opts, on_done)
  opts = vim.tbl_extend('force', {}, opts or {})
  if opts.continues and name ~= 'chat' then
    opts.context = reply.context(opts)
  end
  opts.context = context.complete(opts.context)
  local id = new_id()
  live[id] = { opts = opts, on_done = on_done or function() end, asking = false }
  if not opts.words then
    proceed(id, name, opts)
  elseif inputs.has_none(name) then
    opts.prompt = opts.words
    proceed(id, name, opts)
  else
    gather(id, name, opts)
  end
  return id
end

--- Register a run of the store and request it; the answer is its end.
---@param id string
---@param method string of the host
---@param params table<string, any> with the folder of its project
---@param on_done? fun(result: tideate.RunResult)
local function request_stored(id, method, params, on_done)
  live[id] = { opts = {}, on_done = on_done or function() end, asking = false, resumed = true }
  require('tideate.reply').note_folder(id, { cwd = params.folder })
  require('tideate.client').request(method, params, function(result)
    finish(id, result --[[@as tideate.RunResult]])
  end)
end

--- Resume a stored run. Returns at once.
---@param id string
---@param folder string of its project
---@param on_done? fun(result: tideate.RunResult) called once, never before this returns
---@param definition? 'file'|'stored' to use if the workflow changed since
---@return boolean asked false if it runs here already
function M.resume_stored(id, folder, on_done, definition)
  if live[id] then
    ui.notify(('the run %s is already running'):format(id:sub(1, 8)))
    return false
  end
  request_stored(id, 'resume_run', { execution_id = id, folder = folder, definition = definition }, on_done)
  return true
end

--- Continue a run that was left at a question in a remote. Returns at once.
---@param id string
---@param params {remote: string, folder: string, again: boolean} again: even if another person or job continues it
---@param on_done? fun(result: tideate.RunResult) called once, never before this returns
function M.continue_here(id, params, on_done)
  if live[id] then
    return ui.notify(('the run %s is already running'):format(id:sub(1, 8)))
  end
  request_stored(id, 'inbox_continue', vim.tbl_extend('error', params, { execution_id = id }), on_done)
end

---@class tideate.ForkParams
---@field execution_id? string of an ended run, or a prefix; default: the newest failed one
---@field step? string first step to rerun; default: the first failed one
---@field prompt? string another prompt
---@field inputs? table<string, any> changed values
---@field adapter? string another adapter
---@field results? table<string, any> changed results of earlier steps
---@field inputs_json? table<string, string> changed inputs as JSON
---@field results_json? table<string, string> changed results as JSON
---@field folder? string of its project
---@field definition? 'file' use the current file; default: the run's own definition

--- Rerun an ended run from a step on, as a new run. Returns at once.
---@param params tideate.ForkParams
---@param on_done? fun(result: tideate.RunResult) called once, never before this returns
---@return string id of the new run
function M.fork_stored(params, on_done)
  local id = new_id()
  local folder = params.folder or require('tideate.context').folder()
  local edited = { 'turn', 'prompt', 'adapter', 'inputs', 'inputs_json', 'results', 'results_json' }
  local method = vim.iter(edited):any(function(name)
    return params[name] ~= nil
  end) and 'fork' or 'retry'
  request_stored(id, method, vim.tbl_extend('force', params, { new_id = id, folder = folder }), on_done)
  return id
end

--- Reopen the declined question of a stored run in a new run. Returns at once.
---@param wanted string id of the stored run
---@param folder string of its project
function M.review_again(wanted, folder)
  local id = new_id()
  request_stored(id, 'review_again', { execution_id = wanted, new_id = id, folder = folder })
end

--- Return whether a run is at the analysis of a `refactor`.
---@param run tideate.Run
---@return boolean
function M.analyzes(run)
  local one = live[run.execution_id]
  return one ~= nil and run.name == 'refactor' and run.current_step == 'analyze' and not one.opts.continues and not one.resumed
end

--- Skip the analysis of a `refactor`: cancel the run, and send its prompt as `edit` about the same lines.
---@param run tideate.Run
function M.skip_analysis(run)
  local opts = live[run.execution_id].opts
  local lines = require('tideate.ui.ranges').lines(run.execution_id)
  local now = opts.context
  if lines then -- the user may have typed meanwhile
    now = vim.tbl_extend('force', now, {
      buffer = context.buffer(lines.buf),
      selection = { start = lines.first, ['end'] = lines.last },
      diagnostics = context.diagnostics(lines.buf),
    })
  end
  require('tideate').cancel(run.execution_id)
  M.start('edit', { prompt = run.prompt, context = whole_if_unselected(now), adapter = opts.adapter, memory = opts.memory })
end

--- Return the run that an active run continues.
---@param id string
---@return string?
function M.continues(id)
  return live[id] and live[id].opts.continues
end

--- Return whether an active run continues this one.
---@param id string
---@return boolean
function M.is_continued(id)
  return vim.iter(pairs(live)):any(function(_, run)
    return run.opts.continues == id
  end)
end

--- Return whether a run, or any run, waits for the user's inputs or prompt.
---@param id? string
---@return boolean
function M.is_asking(id)
  return vim.iter(pairs(live)):any(function(one, run)
    return run.asking and (id == nil or one == id)
  end)
end

--- Cancel a run, or all runs, that wait for the user's inputs or prompt.
---@param id? string
---@return boolean cancelled whether one was cancelled
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

--- Call a callback of `start`; after an error it is dropped.
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

--- Pass an event to the callbacks of its run.
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
