--- Requests to the host and their answers, by id. No function blocks.
local M = {}

---@alias tideate.Result table<string, any> `ok` is a boolean; else `error`, `error_code` or `cancelled`

---@class tideate.Pending
---@field method string
---@field callback fun(result: tideate.Result)

---@type table<string, tideate.Pending>
local pending = {}
---@type table[] requests that wait for the host
local queue = {}
local last_id = 0

---@param callback fun(result: tideate.Result)
---@param result tideate.Result
local function call_back(callback, result)
  local ok, err = xpcall(callback, debug.traceback, result)
  if not ok then
    vim.schedule(function()
      vim.notify('tideate: a callback failed: ' .. err, vim.log.levels.ERROR)
    end)
  end
end

---@param id string
---@param result tideate.Result
local function resolve(id, result)
  local request = pending[id]
  pending[id] = nil
  if request then
    call_back(request.callback, result)
    if not M.busy() then
      -- later: the next message may be from the same host
      vim.schedule(require('tideate.host').on_idle)
    end
  end
end

---@param payload table
local function send(payload)
  local ok, err = require('tideate.host').notify('TideateSend', payload)
  -- a closed channel is not reported here: the end of the host settles all requests
  if not ok and err and not err:find('E475', 1, true) and not err:lower():find('channel', 1, true) then
    local error_text = ("tideate cannot send '%s': %s"):format(payload.method, err)
    vim.schedule(function()
      resolve(payload.id, { ok = false, error = error_text, error_code = 'InvalidInput' })
    end)
  end
end

---@type tideate.HostListener
local listener = {
  ready = function()
    for _, registration in ipairs(require('tideate.registry').registrations()) do
      M.request('register', registration, M.report)
    end
    local waiting = queue
    queue = {}
    for _, payload in ipairs(waiting) do
      send(payload)
    end
  end,
  gone = function(err)
    queue = {}
    local lost = pending
    pending = {}
    require('tideate.events').host_gone()
    for _, request in pairs(lost) do
      -- the next host receives the registrations; other callers report the error
      if request.method ~= 'register' then
        call_back(request.callback, { ok = false, error = err.error, error_code = err.error_code })
      end
    end
  end,
}

--- Send a request; start the host if needed.
---@param method string
---@param params? table<string, any>
---@param callback fun(result: tideate.Result) called once, even if the host dies; never before this returns
---@return string id
function M.request(method, params, callback)
  last_id = last_id + 1
  local id = 'q' .. last_id
  pending[id] = { method = method, callback = callback }
  params = params and next(params) ~= nil and params or vim.empty_dict()
  local payload = { id = id, method = method, params = params }
  local host = require('tideate.host')
  if host.state() == 'ready' then
    send(payload)
  else
    queue[#queue + 1] = payload
    if host.state() == 'stopped' then
      require('tideate.ui').load_ahead()
    end
    host.start(listener)
  end
  return id
end

--- Notify the user of the error of a result.
---@param result tideate.Result
function M.report(result)
  if not result.ok and not result.cancelled then
    require('tideate.ui').fail(result.error)
  end
end

--- Send a request and notify the user of an error.
---@param method string
---@param params? table<string, any>
---@param on_done fun(result: tideate.Result) called once on success
---@return string id
function M.request_or_tell(method, params, on_done)
  return M.request(method, params, function(result)
    M.report(result)
    if result.ok then
      on_done(result)
    end
  end)
end

--- Send a message without an answer, if the host runs.
---@param method string
---@param params table<string, any>
function M.tell(method, params)
  if require('tideate.host').state() == 'ready' then
    last_id = last_id + 1
    send({ id = 'q' .. last_id, method = method, params = params })
  end
end

--- Handle the answer to a request.
---@param id string
---@param result tideate.Result
function M.resolve(id, result)
  resolve(id, result)
end

--- Return whether a request is pending.
---@return boolean
function M.busy()
  return next(pending) ~= nil
end

--- Cancel pending requests when the editor exits.
function M.leave()
  local lost = pending
  pending, queue = {}, {}
  for _, request in pairs(lost) do
    call_back(request.callback, { ok = false, cancelled = true })
  end
end

return M
