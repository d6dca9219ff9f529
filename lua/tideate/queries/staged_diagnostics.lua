--- Diagnostics of staged texts, from second instances of the user's language servers.
--- The user's buffers, diagnostics and clients stay unchanged.
local M = {}

local api = vim.api

---@class tideate.StagedDiagnosticsLimits
M.limits = {
  --- milliseconds that a server is kept after its last query
  idle = 300000,
  --- number of simultaneous second servers
  servers = 4,
  --- timeouts in a row after which a server is not asked again in a run
  misses = 3,
}

---@class tideate.StagedServer
---@field run string
---@field server? tideate.SecondServer nil: not asked again in this run
---@field misses integer
---@field round integer number of queries
---@field busy? boolean
---@field queue fun()[]

---@class tideate.StagedFile
---@field path string
---@field before? string
---@field to string path after the edit
---@field after string

---@class tideate.StagedQuery
---@field run string
---@field files tideate.StagedFile[]
---@field staged { path: string, text: string }[] other staged texts

---@type table<string, tideate.StagedServer>
local servers = {}
local watching = false

---@param fn fun(server: tideate.SecondServer)
---@param run? string only this run
local function each_server(fn, run)
  for key, it in pairs(servers) do
    if not run or it.run == run then
      servers[key] = nil
      if it.server then
        fn(it.server)
      end
    end
  end
end

--- Stop the servers of a run.
---@param run? string nil: all runs
function M.stop(run)
  each_server(function(server)
    server:stop()
  end, run)
end

local ENDED = {
  SD_EVENT_WORKFLOW_COMPLETED = true,
  SD_EVENT_WORKFLOW_FAILED = true,
  SD_EVENT_WORKFLOW_CANCELLED = true,
  SD_EVENT_WORKFLOW_PAUSED = true,
}

---@param event tideate.Event
function M.on_event(event)
  if ENDED[event.name] then
    M.stop(event.execution_id)
  end
end

local function watch()
  if watching then
    return
  end
  watching = true
  api.nvim_create_autocmd('VimLeavePre', {
    group = api.nvim_create_augroup('tideate.staged_diagnostics', { clear = true }),
    desc = 'tideate: end the language servers of staged texts',
    callback = function()
      each_server(function(server)
        server:kill()
      end)
    end,
  })
end

---@param names string[]
---@param name string
---@return boolean
local function is_wanted(names, name)
  return vim.list_contains(names, name) or vim.list_contains(names, '*')
end

--- Return the filetype of a file that a server would attach to.
---@param client vim.lsp.Client
---@param path string
---@return string? filetype
local function filetype_for(client, path)
  local ok, filetype = pcall(vim.filetype.match, { filename = path })
  local serves = ok and filetype and require('tideate.queries.document').serves(client, path, filetype)
  return serves and filetype or nil
end

--- Return the user's clients that serve one of the files.
---@param files tideate.StagedFile[]
---@return vim.lsp.Client[]
local function clients_of(files)
  local names = require('tideate.config').get('editor.staged_diagnostics')
  if type(names) ~= 'table' then
    return {}
  end
  return vim.tbl_filter(function(client)
    -- a command function may be a connection that only one client can have
    if not client.initialized or type(client.config.cmd) ~= 'table' or not is_wanted(names, client.name) then
      return false
    end
    return vim.iter(files):any(function(file)
      return filetype_for(client, file.to) ~= nil
    end)
  end, vim.lsp.get_clients())
end

---@param run string
---@param client vim.lsp.Client
---@return tideate.StagedServer? it, string? err
local function server_of(run, client)
  local key = run .. ' ' .. client.id
  local it = servers[key]
  if it and it.server and it.server.ended then
    it.server = nil -- it crashed: another one would, too
  end
  if it then
    return it.server and it or nil
  end
  local running = vim.tbl_filter(function(other)
    return other.server ~= nil
  end, vim.tbl_values(servers))
  if #running >= M.limits.servers then
    return nil, 'too many language servers were started for staged texts'
  end
  local server, err = require('tideate.queries.second_server').start(client)
  servers[key] = { run = run, server = server, misses = 0, round = 0, queue = {} }
  return server and servers[key] or nil, err
end

--- Reserve a server until the task ends.
---@param task tideate.Task
---@param it tideate.StagedServer
---@param fn fun()
local function take_turn(task, it, fn)
  local function release()
    it.busy = false
    local following = table.remove(it.queue, 1)
    if following then
      return following()
    end
    it.round = it.round + 1
    local round = it.round
    vim.defer_fn(function()
      if it.round == round and not it.busy then
        for key, other in pairs(servers) do
          if other == it and it.server then
            servers[key] = nil
            it.server:stop()
          end
        end
      end
    end, M.limits.idle)
  end
  local function begin()
    if task:is_over() then
      return release()
    end
    it.busy = true
    task:on_end(release)
    fn()
  end
  if it.busy then
    table.insert(it.queue, begin)
  else
    begin()
  end
end

--- Return texts that differ from disk: unsaved buffers and staged texts.
---@param client vim.lsp.Client
---@param staged { path: string, text: string }[]
---@return table<string, string> texts by path
local function unwritten(client, staged)
  local texts = {}
  local most = require('tideate.queries.hidden_buffers').limits.bytes
  for buf in pairs(client.attached_buffers) do
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
      local last = api.nvim_buf_line_count(buf)
      if api.nvim_buf_get_offset(buf, last) <= most then
        local path = require('tideate.edit').canonical(api.nvim_buf_get_name(buf))
        texts[path] = table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), '\n') .. '\n'
      end
    end
  end
  for _, one in ipairs(staged) do
    texts[one.path] = one.text
  end
  return texts
end

--- Send these texts to the server and close all others.
---@param task tideate.Task
---@param server tideate.SecondServer
---@param client vim.lsp.Client
---@param texts table<string, string>
---@param callback fun()
local function show(task, server, client, texts, callback)
  server:close_others(texts)
  task:each(vim.tbl_keys(texts), function(path)
    local filetype = filetype_for(client, path)
    if filetype then
      local id = client.config.get_language_id
      server:open(path, texts[path], id and id(0, filetype) or filetype)
    end
  end, callback)
end

---@param task tideate.Task
---@param server tideate.SecondServer
---@param paths string[]
---@param callback fun(found: table<string, tideate.TextDiagnostic[]>?, err: string?)
local function look(task, server, paths, callback)
  local found, missing = {}, #paths
  if missing == 0 then
    return callback(found)
  end
  for _, path in ipairs(paths) do
    server:diagnostics(task, path, task:guard(function(items, err)
      if err then
        return callback(nil, err)
      end
      found[path], missing = items, missing - 1
      if missing == 0 then
        callback(found)
      end
    end))
  end
end

--- Return the texts before and after the edit.
---@param client vim.lsp.Client
---@param query tideate.StagedQuery
---@return table<string, string> before, table<string, string> after
local function both(client, query)
  local after = unwritten(client, query.staged)
  local before = vim.deepcopy(after)
  for _, file in ipairs(query.files) do
    before[file.path] = file.before
    after[file.path] = nil
  end
  for _, file in ipairs(query.files) do
    after[file.to] = file.after
  end
  return before, after
end

---@param query tideate.StagedQuery
---@param key 'path'|'to'
---@param server tideate.SecondServer
---@return string[] paths known to the server
local function known(query, key, server)
  local paths = vim.tbl_map(function(file)
    return file[key]
  end, query.files)
  return vim.tbl_filter(function(path)
    return server:knows(path)
  end, paths)
end

---@param query tideate.StagedQuery
---@param first table<string, tideate.TextDiagnostic[]> before the edit by path
---@param second table<string, tideate.TextDiagnostic[]>
---@return table<string, any>[]
local function pairs_of(query, first, second)
  local files = {}
  for _, file in ipairs(query.files) do
    if second[file.to] then
      table.insert(files, { path = file.to, before = first[file.path] or {}, after = second[file.to] })
    end
  end
  return files
end

---@param task tideate.Task
---@param server tideate.SecondServer
---@param client vim.lsp.Client
---@param query tideate.StagedQuery
---@param callback fun(result: table<string, any>?, err: string?)
local function compare(task, server, client, query, callback)
  local before, after = both(client, query)
  show(task, server, client, before, function()
    look(task, server, known(query, 'path', server), function(first, err)
      if not first then
        return callback(nil, err)
      end
      for path, items in pairs(first) do
        if #items >= server.MOST then
          return callback(nil, ('too many diagnostics of %s to compare'):format(vim.fs.basename(path)))
        end
      end
      show(task, server, client, after, function()
        look(task, server, known(query, 'to', server), function(second, problem)
          callback(second and { client = server.name, files = pairs_of(query, first, second) }, problem)
        end)
      end)
    end)
  end)
end

--- Ask a server, after earlier queries are done.
---@param task tideate.Task
---@param it tideate.StagedServer
---@param client vim.lsp.Client
---@param query tideate.StagedQuery
---@param callback fun(found: table<string, any>?, err: string?) once
local function ask(task, it, client, query, callback)
  local server = it.server --[[@as tideate.SecondServer]]
  local answered = false
  local function answer(found, err)
    if not answered then
      answered = true
      callback(found, err)
    end
  end
  take_turn(task, it, function()
    server:when_ready(task:guard(function()
      if server.ended then
        return answer(nil, server.ended)
      end
      compare(task, server, client, query, answer)
    end))
  end)
end

---@class tideate.StagedAnswers
---@field answers table<string, any>[]
---@field errors string[]

--- Record timeouts, and stop a server after too many.
---@param missing table<string, tideate.StagedServer> by name
---@param result tideate.StagedAnswers
local function note_misses(missing, result)
  for name, it in pairs(missing) do
    it.misses = it.misses + (it.server and it.server.is_ready and 1 or 0)
    local last = it.misses >= M.limits.misses
    local more = last and ' again, so it is not asked any more' or ''
    table.insert(result.errors, ('%s: no answer in time%s'):format(name, more))
    if last and it.server then
      it.server:stop()
    end
  end
end

--- Return the diagnostics of texts before and after an edit.
---@param task tideate.Task
---@param query tideate.StagedQuery
function M.query(task, query)
  local result = { answers = {}, errors = {} } ---@type tideate.StagedAnswers
  local missing, waiting = {}, 1 ---@type table<string, tideate.StagedServer>, integer
  local function finish()
    waiting = waiting - 1
    if waiting == 0 then
      task:done(result)
    end
  end
  task.at_limit = function()
    note_misses(missing, result)
    task:done(result)
    return true
  end
  watch()
  for _, client in ipairs(clients_of(query.files)) do
    local it, err = server_of(query.run, client)
    if err then
      table.insert(result.errors, ('%s: %s'):format(client.name, err))
    end
    if it then
      waiting, missing[client.name] = waiting + 1, it
      ask(task, it, client, query, function(found, problem)
        missing[client.name], it.misses = nil, 0
        table.insert(found and result.answers or result.errors, found or ('%s: %s'):format(client.name, problem))
        finish()
      end)
    end
  end
  finish()
end

return M
