--- One run, from the call to its one `on_done`.
local M = {}

---@class tideate.RunOpts
---@field prompt? string
---@field context? tideate.Context by default what the person looks at
---@field inputs? table<string, any>
---@field options? table<string, any> given to the steps' handlers
---@field adapter? string
---@field require_confirmation? boolean
---@field on_token? fun(text: string, step: string)
---@field on_event? fun(event: tideate.Event)

---@class tideate.RunResult
---@field ok boolean
---@field execution_id string
---@field response? any
---@field results? table<string, any> by step
---@field error? string what happened and what to do
---@field error_code? string
---@field cancelled? true

---@type table<string, {opts: tideate.RunOpts, on_done: fun(result: tideate.RunResult)}>
local live = {}

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

---@param id string
---@param result tideate.RunResult
local function finish(id, result)
  local run = live[id]
  if not run then
    return
  end
  result.execution_id = id
  announce_end(id, result)
  live[id] = nil
  run.on_done(result)
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
  require('tideate.state').begin({
    execution_id = id,
    name = name,
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
    adapter = opts.adapter,
    require_confirmation = opts.require_confirmation,
  }, function(result)
    finish(id, result --[[@as tideate.RunResult]])
  end)
end

--- Ask the person for a prompt, then start; without one nothing happens.
---@param id string
---@param name string
---@param opts tideate.RunOpts
local function ask_then_send(id, name, opts)
  vim.ui.input({ prompt = name .. ': ' }, function(prompt)
    if blank(prompt) then
      local run = live[id]
      live[id] = nil
      if run then
        run.on_done({ ok = false, cancelled = true, execution_id = id })
      end
      return
    end
    send(id, name, vim.tbl_extend('force', opts, { prompt = prompt }))
  end)
end

--- Start a workflow. Returns at once.
---@param name string a workflow's name, or a file that defines one
---@param opts? tideate.RunOpts
---@param on_done? fun(result: tideate.RunResult) called once, after this has returned
---@return string id of the execution
function M.start(name, opts, on_done)
  opts = vim.tbl_extend('force', {}, opts or {})
  opts.context = opts.context or require('tideate.context').capture()
  local id = new_id()
  live[id] = { opts = opts, on_done = on_done or function() end }
  local known = require('tideate.registry').get(name)
  if known and known.needs_prompt and blank(opts.prompt) then
    -- later: `vim.ui.input` may answer at once, and the caller does not have the id yet
    vim.schedule(function()
      ask_then_send(id, name, opts)
    end)
  else
    send(id, name, opts)
  end
  return id
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
  if event.name == 'SD_EVENT_TOKEN' then
    tell(run, 'on_token', event.data.text, event.data.step)
  end
  tell(run, 'on_event', event)
end

return M
