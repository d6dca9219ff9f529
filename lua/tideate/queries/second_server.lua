--- A second instance of the user's language server, with the same command and settings, for staged texts.
--- The rest of the editor does not see these texts, and it is not a client of `vim.lsp`.
local M = {}

local SETTLED = 300 -- milliseconds without news after which a publishing server is done
local ATTEMPTS = 4
local PAUSE = 150 -- milliseconds before a retry
local FAREWELL = 1000 -- milliseconds to exit by itself
local PULL = 'textDocument/diagnostic'
local AGAIN = require('tideate.queries.requests').AGAIN

---@class tideate.KnownText
---@field version integer
---@field text string
---@field news integer number of publications before this text

---@class tideate.PublishedDiagnostics
---@field news integer number of publications
---@field time integer milliseconds of `vim.uv.now()`
---@field version? integer
---@field items any

---@class tideate.AwaitedDiagnostics
---@field path string
---@field callback fun(found: tideate.TextDiagnostic[]?, err: string?)
---@field pulling? integer|true request id
---@field is_over? boolean

---@class tideate.SecondServer
---@field name string
---@field is_ready boolean
---@field ended? string reason of its end
---@field private rpc vim.lsp.rpc.PublicClient
---@field private client vim.lsp.Client client of the user
---@field private pulls? table<string, any> parameters of a pull request
---@field private texts table<string, tideate.KnownText> by path
---@field private published table<string, tideate.PublishedDiagnostics> by path
---@field private awaited tideate.AwaitedDiagnostics[]
---@field private working table<any, true> progress tokens of its work
---@field private waiting fun()[] callbacks for readiness or end
local Server = {}
Server.__index = Server
Server.MOST = 500 -- kept diagnostics of a text

---@param value any
---@return string
local function word(value)
  return (type(value) == 'string' or type(value) == 'number') and tostring(value) or ''
end

---@param items any from a server
---@return tideate.TextDiagnostic[]
local function flat(items)
  local found = {}
  for _, one in ipairs(type(items) == 'table' and items or {}) do
    local line = type(one) == 'table' and vim.tbl_get(one, 'range', 'start', 'line')
    if type(line) == 'number' and #found < Server.MOST then
      table.insert(found, {
        line = line,
        severity = tonumber(one.severity) or 1,
        message = word(one.message):sub(1, 1000),
        source = word(one.source):sub(1, 100),
        code = word(one.code):sub(1, 100),
      })
    end
  end
  return found
end

---@param uri any
---@return string? path
local function path_of(uri)
  local ok, path = pcall(vim.uri_to_fname, uri)
  return ok and path or nil
end

---@type table<string, fun(server: tideate.SecondServer, params: table<string, any>)>
local notifications = {
  ['$/progress'] = function(server, params)
    server:note_progress(params)
  end,
  ['textDocument/publishDiagnostics'] = function(server, params)
    server:take(params)
  end,
}

--- Start a server; it runs until it is stopped or the editor exits.
---@param client vim.lsp.Client source of command, folders and settings
---@return tideate.SecondServer? server, string? err
function M.start(client)
  local server = setmetatable({ name = client.name, is_ready = false, client = client }, Server)
  server.texts, server.published, server.awaited, server.waiting, server.working = {}, {}, {}, {}, {}
  local config = client.config
  local ok, rpc = pcall(vim.lsp.rpc.start, config.cmd, {
    notification = function(method, params)
      local take = notifications[method]
      if take and type(params) == 'table' then
        take(server, params)
      end
    end,
    server_request = function(method, params)
      local answer = require('tideate.queries.server_requests').answers[method]
      if answer then
        return answer(server, params)
      end
      return nil, vim.lsp.rpc.rpc_response_error(vim.lsp.protocol.ErrorCodes.MethodNotFound)
    end,
    on_error = function() end, -- invalid messages are ignored; the time limit applies
    on_exit = vim.schedule_wrap(function()
      server:finish('the server has ended')
    end),
  }, { cwd = config.cmd_cwd, env = config.cmd_env, detached = config.detached })
  if not ok or not rpc then
    return nil, 'it cannot be started'
  end
  server.rpc = rpc
  server:initialize()
  return server
end

---@private
function Server:initialize()
  local client, config = self.client, self.client.config
  local folders = client.workspace_folders
  local params = {
    processId = vim.uv.os_getpid(),
    clientInfo = { name = 'Neovim', version = tostring(vim.version()) },
    rootPath = folders and folders[1] and path_of(folders[1].uri) or vim.NIL,
    rootUri = folders and folders[1] and folders[1].uri or vim.NIL,
    workspaceFolders = folders or vim.NIL,
    initializationOptions = config.init_options,
    capabilities = require('tideate.queries.server_requests').capabilities(client),
    trace = 'off',
  }
  if type(config.before_init) == 'function' then
    -- it may change both; the user's client stays unchanged
    local own = vim.tbl_extend('force', {}, config, { settings = vim.deepcopy(config.settings) })
    pcall(config.before_init, params, own)
  end
  self.rpc.request('initialize', params, function(err, result)
    if err or type(result) ~= 'table' then
      return self:stop('the server refused to start')
    end
    local known = type(result.capabilities) == 'table' and result.capabilities or {}
    self:set_pulls(known.diagnosticProvider)
    self.rpc.notify('initialized', vim.empty_dict())
    local settings = client.settings or config.settings
    if type(settings) == 'table' and next(settings) then
      self.rpc.notify('workspace/didChangeConfiguration', { settings = settings })
    end
    self.is_ready = true
    self:wake()
  end)
end

---@private
---@param provider any options of `textDocument/diagnostic`
function Server:set_pulls(provider)
  -- null is `vim.NIL` since Neovim 0.12
  if provider == true or type(provider) == 'table' then
    local identifier = type(provider) == 'table' and provider.identifier
    self.pulls = { identifier = type(identifier) == 'string' and identifier or nil }
  end
end

---@package
---@param params any of `client/registerCapability`
function Server:register(params)
  for _, one in ipairs(type(params) == 'table' and params.registrations or {}) do
    if type(one) == 'table' and one.method == PULL then
      self:set_pulls(type(one.registerOptions) == 'table' and one.registerOptions or true)
    end
  end
  self:advance_all()
end

--- Track work in progress: published diagnostics may be incomplete until its end.
---@package
---@param params table<string, any> of `$/progress`
function Server:note_progress(params)
  local kind = type(params.value) == 'table' and params.value.kind
  if params.token ~= nil and (kind == 'begin' or kind == 'end') then
    self.working[params.token] = kind == 'begin' or nil
    self:advance_all()
  end
end

---@private
---@param path? string only this file
function Server:advance_all(path)
  for _, one in ipairs(vim.list_slice(self.awaited)) do
    if not path or one.path == path then
      self:advance(one)
    end
  end
end

---@private
function Server:wake()
  local waiting = self.waiting
  self.waiting = {}
  for _, callback in ipairs(waiting) do
    callback()
  end
end

--- Call back when the server is ready or has ended.
---@param callback fun()
function Server:when_ready(callback)
  if self.is_ready or self.ended then
    return callback()
  end
  table.insert(self.waiting, callback)
end

---@param why string
function Server:finish(why)
  if self.ended then
    return
  end
  self.ended, self.texts, self.published = why, {}, {}
  for _, one in ipairs(vim.list_slice(self.awaited)) do
    self:give(one, nil, why)
  end
  self:wake()
end

--- Stop the process by the protocol, else by a signal.
---@param why? string
function Server:stop(why)
  local rpc = self.rpc
  self:finish(why or 'it was stopped')
  if rpc.is_closing() then
    return
  end
  rpc.request('shutdown', nil, function()
    rpc.notify('exit')
  end)
  vim.defer_fn(function()
    if not rpc.is_closing() then
      rpc.terminate()
    end
  end, FAREWELL)
end

--- Kill the process at once: the editor exits.
function Server:kill()
  self:finish('the editor ends')
  if not self.rpc.is_closing() then
    self.rpc.notify('exit')
    self.rpc.terminate()
  end
end

--- Send a text unless the server has it.
---@param path string
---@param text string
---@param language string
function Server:open(path, text, language)
  local known, uri = self.texts[path], vim.uri_from_fname(path)
  if known and known.text == text then
    return
  end
  local version = (known and known.version or 0) + 1
  local said = self.published[path]
  self.texts[path] = { version = version, text = text, news = said and said.news or 0 }
  if known then
    local document = { uri = uri, version = version }
    self.rpc.notify('textDocument/didChange', { textDocument = document, contentChanges = { { text = text } } })
  else
    local document = { uri = uri, version = version, languageId = language, text = text }
    self.rpc.notify('textDocument/didOpen', { textDocument = document })
  end
end

---@param path string
---@return boolean
function Server:knows(path)
  return self.texts[path] ~= nil
end

--- Close all other files, so that the server reads them from disk.
---@param wanted table<string, any> by path
function Server:close_others(wanted)
  for path in pairs(self.texts) do
    if not wanted[path] then
      self.texts[path], self.published[path] = nil, nil
      self.rpc.notify('textDocument/didClose', { textDocument = { uri = vim.uri_from_fname(path) } })
    end
  end
end

---@private
---@param params table<string, any> of `textDocument/publishDiagnostics`
function Server:take(params)
  local path = path_of(params.uri)
  if not path or not self.texts[path] then
    return -- of another file of the project
  end
  local before = self.published[path]
  local version = type(params.version) == 'number' and params.version or nil
  self.published[path] = {
    news = (before and before.news or 0) + 1,
    time = vim.uv.now(),
    version = version,
    items = params.diagnostics,
  }
  self:advance_all(path)
end

--- Call back once with the diagnostics of a sent text.
---@param task tideate.Task its end cancels the request
---@param path string
---@param callback fun(found: tideate.TextDiagnostic[]?, err: string?)
function Server:diagnostics(task, path, callback)
  if self.ended then
    return callback(nil, self.ended)
  end
  local one = { path = path, callback = callback } ---@type tideate.AwaitedDiagnostics
  table.insert(self.awaited, one)
  task:on_end(function()
    self:forget(one)
  end)
  self:advance(one)
end

---@private
---@param one tideate.AwaitedDiagnostics
function Server:forget(one)
  if type(one.pulling) == 'number' and not one.is_over and not self.ended then
    self.rpc.notify('$/cancelRequest', { id = one.pulling })
  end
  one.is_over = true
  self.awaited = vim.tbl_filter(function(other)
    return other ~= one
  end, self.awaited)
end

---@private
---@param one tideate.AwaitedDiagnostics
---@param items any
---@param err? string
function Server:give(one, items, err)
  if not one.is_over then
    self:forget(one)
    one.callback(not err and flat(items) or nil, err)
  end
end

---@private
---@param one tideate.AwaitedDiagnostics
function Server:advance(one)
  if self.pulls then
    if not one.pulling then
      one.pulling = true
      self:pull(one, ATTEMPTS)
    end
    return
  end
  local text, said = self.texts[one.path], self.published[one.path]
  if next(self.working) ~= nil or not text or not said or said.news <= text.news then
    return
  elseif said.version and said.version < text.version then
    return
  end
  vim.defer_fn(function()
    if self.published[one.path] == said and next(self.working) == nil and not self.pulls then
      self:give(one, said.items)
    end
  end, math.max(0, said.time + SETTLED - vim.uv.now()))
end

---@private
---@param one tideate.AwaitedDiagnostics
---@param attempts integer remaining
function Server:pull(one, attempts)
  local params = vim.tbl_extend('error', { textDocument = { uri = vim.uri_from_fname(one.path) } }, self.pulls)
  local sent, id = self.rpc.request(PULL, params, function(err, result)
    one.pulling = true
    if err and AGAIN[err.code] and attempts > 1 then
      return vim.defer_fn(function()
        if not one.is_over then
          self:pull(one, attempts - 1)
        end
      end, PAUSE)
    end
    local fits = not err and type(result) == 'table' and type(result.items) == 'table'
    self:give(one, fits and result.items, not fits and 'its answer makes no sense' or nil)
  end)
  if not sent then
    return self:give(one, nil, 'the server has ended')
  end
  one.pulling = id
end

return M
