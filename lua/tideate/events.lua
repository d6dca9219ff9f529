--- Dispatch of the host's events to the state, the runs, the user interface and `User` autocommands.
local M = {}

local ui = require('tideate.ui')

local SLICE = 5 -- milliseconds of messages in a row, a part of a frame

--- Cancel functions of unanswered questions.
---@type table<string, fun()>
local open_asks = {}

---@param err string
local function report(err)
  -- scheduled: an error message must not delay the next message
  vim.schedule(function()
    vim.notify('tideate: ' .. err, vim.log.levels.ERROR)
  end)
end

---@param fn function
---@param ... any
---@return boolean ok, string? err
local function guarded(fn, ...)
  local ok, err = xpcall(fn, debug.traceback, ...)
  if not ok then
    report(err)
  end
  return ok, not ok and err or nil
end

---@type table<string, string|false>
local patterns = {
  SD_EVENT_TOKEN = false,
  SD_EVENT_REASONING = false,
  SD_EVENT_HUNKS_STREAMED = false,
  SD_EVENT_CHECK_OUTPUT = false,
  SD_EVENT_TOOL_PROGRESS = false,
  SD_EVENT_ROLLED_BACK = 'TideateWorkflowRolledBack',
}

--- Return the `User` pattern of an event (`SD_EVENT_STEP_STARTED` → `TideateStepStarted`); false for frequent events.
---@param name string
---@return string|false
local function pattern_of(name)
  if patterns[name] == nil then
    local words = name:gsub('^SD_EVENT_', ''):lower()
    patterns[name] = 'Tideate' .. words:gsub('_?(%a)(%a*)', function(first, rest)
      return first:upper() .. rest
    end)
  end
  return patterns[name]
end

---@param event tideate.Event
local function fire_autocmd(event)
  local pattern = pattern_of(event.name)
  if not pattern then
    return
  end
  local data = vim.tbl_extend('force', event.data, { execution_id = event.execution_id })
  vim.api.nvim_exec_autocmds('User', { pattern = pattern, data = data, modeline = false })
end

--- Handle an event of a run: the state first, which all others read.
---@param event tideate.Event
function M.dispatch(event)
  if event.data and event.data.error_code == 'UnknownWorkflow' then
    require('tideate.workflow_lookup').suggest(event.data)
  end
  guarded(require('tideate.state').apply, event)
  guarded(require('tideate.machine_path').on_event, event)
  guarded(ui.on_event, event)
  guarded(require('tideate.quickfix').on_event, event)
  guarded(require('tideate.ui.ranges').on_event, event)
  local stream = package.loaded['tideate.ui.review.stream'] -- not loaded: no run writes into a buffer
  if stream then
    guarded(stream.on_event, event)
  end
  guarded(require('tideate.run').on_event, event)
  local staged = package.loaded['tideate.queries.staged_diagnostics'] -- not loaded: nothing to stop
  if staged then
    guarded(staged.on_event, event)
  end
  guarded(fire_autocmd, event)
end

--- Return functions that answer once, and not after a withdrawal.
---@param id string
---@return fun(result: any) respond, tideate.Fail fail
local function answerer(id)
  local function answer(params)
    if open_asks[id] then
      open_asks[id] = nil
      params.id = id
      require('tideate.client').tell('answer', params)
    end
  end
  return function(result)
    answer({ ok = true, result = result == nil and vim.NIL or result })
  end, function(err, code)
    answer({ ok = false, error = err, error_code = code })
  end
end

---@alias tideate.Fail fun(err: string, error_code: string)
---@alias tideate.Asker fun(id: string, params: table<string, any>, respond: fun(result: any), fail: tideate.Fail): fun()?

--- Return a handler that calls a function of a buffer module.
---@param name string
---@param module? string default: `tideate.edit`
---@return tideate.Asker
local function edit(name, module)
  return function(_, params, respond, fail)
    local ok, result, err = pcall(require(module or 'tideate.edit')[name], params)
    if not ok or err then
      return fail(tostring(ok and err or result), 'EditConflict')
    end
    respond(result)
  end
end

--- Questions of the host; a handler may return a function that cancels it.
---@type table<string, tideate.Asker>
local asked = {
  confirm = function(id, params, respond, fail)
    ui.confirm(id, params, respond, fail)
    return function()
      ui.withdraw(id)
    end
  end,
  handler = function(_, params, respond)
    return require('tideate.registry').handle(params, respond)
  end,
  buffer_find = edit('buffer_find'),
  buffer_read = edit('buffer_read'),
  buffer_replace = edit('buffer_replace'),
  buffer_bytes = edit('buffer_bytes'),
  buffer_missing = edit('buffer_missing'),
  buffer_moved = edit('buffer_moved'),
  buffer_save = edit('save', 'tideate.modified_buffers'),
  buffers_modified = edit('modified', 'tideate.modified_buffers'),
  buffer_create = edit('buffer_create'),
  checktime = edit('checktime'),
  query = function(_, params, respond, fail)
    return require('tideate.queries').answer(params, respond, fail)
  end,
}

---@param message {id: string, method: string, params: table<string, any>}
local function ask(message)
  open_asks[message.id] = function() end
  local respond, fail = answerer(message.id)
  local handler = asked[message.method]
  if not handler then
    local err = ("this version of tideate's Lua does not know the request '%s'"):format(message.method)
    return fail(err, 'UnknownRequest')
  end
  local ok, result = pcall(handler, message.id, message.params, respond, fail)
  if not ok then
    fail(tostring(result), 'EditorFailed')
  elseif result and open_asks[message.id] then
    open_asks[message.id] = result
  end
end

---@param id string
local function withdraw(id)
  local cancel = open_asks[id]
  open_asks[id] = nil
  if cancel then
    guarded(cancel)
  end
end

--- Handle the merged configuration; it follows the ready message because reading it takes longer.
---@param message {config: table<string, any>?}
local function configured(message)
  require('tideate.config').resolve(message.config or {})
  require('tideate.registry').refresh()
  require('tideate.mentions').watch()
end

--- Show notices about a project's configuration.
---@param message {notices: string[]}
local function notices(message)
  for _, notice in ipairs(message.notices) do
    ui.warn(notice)
  end
end

---@type table<string, fun(message: table<string, any>)>
local messages = {
  ready = function(message)
    require('tideate.host').on_ready(message)
  end,
  configured = configured,
  notices = notices,
  interrupted = function(message)
    require('tideate.stored_runs').offer(message)
  end,
  broken = function(message)
    require('tideate.host').on_broken(message)
  end,
  reply = function(message)
    require('tideate.client').resolve(message.id, message.result)
  end,
  event = M.dispatch,
  ask = ask,
  withdraw = function(message)
    withdraw(message.id)
  end,
  pong = function() end,
}

--- Unhandled messages, in order.
---@type table<string, any>[]
local queue = {}
local first, last = 1, 0
local waiting = false -- for the next slice

---@param message table<string, any>
local function take(message)
  local handler = messages[message.type]
  if handler then
    guarded(handler, message)
  else
    report(("unknown message of type '%s' from the host"):format(message.type))
  end
end

--- Handle queued messages in order. An error in one does not stop the others.
---@param slice number milliseconds before the editor gets control back
local function drain(slice)
  local stop = vim.uv.hrtime() + slice * 1e6
  local redraw = false
  while first <= last and vim.uv.hrtime() < stop do
    local message = queue[first]
    queue[first], first = nil, first + 1
    take(message)
    redraw = redraw or not require('tideate.run_events').FREQUENT[message.name]
  end
  if redraw then
    vim.cmd.redrawstatus()
  end
  if first <= last and not waiting then
    waiting = true
    -- not scheduled: that would run before typed-ahead keys
    vim.defer_fn(function()
      waiting = false
      drain(SLICE)
    end, 1)
  end
end

--- Receive a batch of messages from the host.
---@param batch table<string, any>[]
function M.receive(batch)
  require('tideate.host').reset_unanswered()
  for _, message in ipairs(batch) do
    last = last + 1
    queue[last] = message
  end
  if not waiting then
    drain(SLICE)
  end
end

--- Handle the end of the host: cancel all questions.
function M.host_gone()
  drain(math.huge)
  for _, id in ipairs(vim.tbl_keys(open_asks)) do
    withdraw(id)
  end
  local staged = package.loaded['tideate.queries.staged_diagnostics']
  if staged then
    guarded(staged.stop)
  end
end

return M
