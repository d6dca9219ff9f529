--- Diagnostics of language servers and linters, for a file or all known files.
local M = {}

local api = vim.api
local edit = require('tideate.edit')

---@class tideate.TextDiagnostic
---@field line integer 0-based
---@field severity integer
---@field message string
---@field source string
---@field code string

local MOST = 200
local SETTLED = 200 -- milliseconds without news after which a server is done
local METHOD = 'textDocument/diagnostic'

--- Milliseconds to wait for silent servers: for a newly loaded file, and for an open one.
M.patience = { fresh = 8000, open = 2000 }

--- Buffers with published diagnostics since the first query, possibly none.
---@type table<integer, true>
local published = {}
local watching = false

--- Record published diagnostics from now on.
function M.watch()
  if watching then
    return
  end
  watching = true
  local group = api.nvim_create_augroup('tideate.queries', { clear = true })
  api.nvim_create_autocmd('DiagnosticChanged', {
    group = group,
    desc = 'tideate: note the diagnostics of a server',
    callback = function(event)
      published[event.buf] = true
    end,
  })
  api.nvim_create_autocmd('BufUnload', {
    group = group,
    desc = 'tideate: forget the diagnostics of a reopened file',
    callback = function(event)
      published[event.buf] = nil
    end,
  })
end

local SEVERITIES = { 'error', 'warning', 'info', 'hint' }

---@class tideate.FoundDiagnostic
---@field path string absolute
---@field line integer 1-based
---@field severity string
---@field message string
---@field source string
---@field code string

---@param path string
---@param line integer 1-based
---@param one table<string, any> with severity, message, source and code
---@return tideate.FoundDiagnostic
local function flat(path, line, one)
  local code = one.code
  return {
    path = path,
    line = line,
    severity = SEVERITIES[one.severity] or 'hint',
    message = tostring(one.message):sub(1, 1000),
    source = type(one.source) == 'string' and one.source or '',
    code = (type(code) == 'string' or type(code) == 'number') and tostring(code) or '',
  }
end

---@param found tideate.FoundDiagnostic[]
---@return tideate.FoundDiagnostic[] without duplicates, the worst first
local function sorted(found)
  local rank, seen, kept = { error = 1, warning = 2, info = 3, hint = 4 }, {}, {}
  for _, one in ipairs(found) do
    local key = ('%s:%d:%s:%s'):format(one.path, one.line, one.severity, one.message)
    if not seen[key] then
      seen[key] = true
      table.insert(kept, one)
    end
  end
  table.sort(kept, function(a, b)
    if a.severity ~= b.severity then
      return rank[a.severity] < rank[b.severity]
    elseif a.path ~= b.path then
      return a.path < b.path
    end
    return a.line < b.line
  end)
  return kept
end

---@param task tideate.Task
---@param found tideate.FoundDiagnostic[]
---@param extra table<string, any>
local function answer(task, found, extra)
  local all = sorted(found)
  local result = { total = #all, diagnostics = vim.list_slice(all, 1, MOST) }
  task:done(vim.tbl_extend('force', result, extra))
end

---@param buf integer
---@param found tideate.FoundDiagnostic[]
local function collect(buf, found)
  local path = edit.canonical(api.nvim_buf_get_name(buf))
  for _, one in ipairs(vim.diagnostic.get(buf)) do
    table.insert(found, flat(path, one.lnum + 1, one))
  end
end

---@class tideate.Settling
---@field news integer number of publications
---@field pulling integer pending requests
---@field pulled table<string, any>[] diagnostics from pull requests
---@field answered boolean a server answered

--- Request diagnostics from servers that support pulling.
---@param task tideate.Task
---@param buf integer
---@param state tideate.Settling
---@param callback fun()
local function pull(task, buf, state, callback)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf, method = METHOD })) do
    state.pulling = state.pulling + 1
    local params = { textDocument = { uri = vim.uri_from_bufnr(buf) } }
    require('tideate.queries.requests').send(task, client, METHOD, params, buf, function(_, result)
      state.pulling = state.pulling - 1
      if type(result) == 'table' then
        state.answered = true
        vim.list_extend(state.pulled, type(result.items) == 'table' and result.items or {})
      end
      callback()
    end)
  end
end

--- Wait until the servers of a newly loaded file have published their diagnostics.
---@param task tideate.Task
---@param buf integer
---@param patience integer milliseconds for silent servers
---@param callback fun(pulled: table<string, any>[], silent: boolean)
local function settle(task, buf, patience, callback)
  local state = { news = 0, pulling = 0, pulled = {}, answered = false } ---@type tideate.Settling
  local called = false
  local function finish()
    if not called then
      called = true
      task.at_limit = nil
      callback(state.pulled, state.news == 0 and not state.answered)
    end
  end
  local function settled()
    local news = state.news
    task:later(SETTLED, function()
      if news == state.news and state.pulling == 0 then
        finish()
      end
    end)
  end
  task.waits_for = 'diagnostics of ' .. vim.fs.basename(api.nvim_buf_get_name(buf))
  task:autocmd('DiagnosticChanged', {
    buffer = buf,
    desc = 'tideate: a query waits for diagnostics',
    callback = function()
      state.news = state.news + 1
      settled()
    end,
  })
  pull(task, buf, state, settled)
  if published[buf] then
    state.news = 1 -- one server was quicker than another
    settled()
  end
  task:later(patience, finish)
  task.at_limit = function()
    finish()
    return true
  end
end

--- Call back when a file's diagnostics are available.
---@param task tideate.Task
---@param buf integer
---@param fresh boolean newly loaded
---@param patience integer milliseconds
---@param callback fun(pulled: table<string, any>[], silent: boolean)
function M.when_there(task, buf, fresh, patience, callback)
  -- the editor pulls only for visible files
  local unasked = require('tideate.queries.hidden_buffers').is_hidden(buf)
    and #vim.lsp.get_clients({ bufnr = buf, method = METHOD }) > 0
  if not fresh and not unasked and (published[buf] or #vim.diagnostic.get(buf) > 0) then
    return callback({}, false)
  end
  settle(task, buf, patience, callback)
end

---@param task tideate.Task
---@param path string
local function of_file(task, path)
  local function finish(buf, pulled, silent)
    local found = {} ---@type tideate.FoundDiagnostic[]
    collect(buf, found)
    for _, one in ipairs(pulled) do
      table.insert(found, flat(path, one.range.start.line + 1, one))
    end
    local clients = vim.tbl_map(function(client)
      return client.name
    end, vim.lsp.get_clients({ bufnr = buf }))
    answer(task, found, { clients = clients, silent = silent })
  end
  local open = edit.find(path)
  if open and #vim.lsp.get_clients({ bufnr = open, _uninitialized = true }) == 0 and #vim.diagnostic.get(open) > 0 then
    return finish(open, {}, false) -- from a linter
  end
  require('tideate.queries.document').open(task, path, function(buf, fresh)
    local patience = fresh and M.patience.fresh or M.patience.open
    M.when_there(task, buf, fresh, patience, function(pulled, silent)
      finish(buf, pulled, silent)
    end)
  end)
end

---@param task tideate.Task
---@param root string
local function of_project(task, root)
  local found = {} ---@type tideate.FoundDiagnostic[]
  task:each(api.nvim_list_bufs(), function(buf)
    local name = api.nvim_buf_is_valid(buf) and api.nvim_buf_get_name(buf) or ''
    if name ~= '' and vim.startswith(edit.canonical(name), root .. '/') then
      collect(buf, found)
    end
  end, function()
    answer(task, found, {})
  end)
end

--- Return the diagnostics of a file, else of all known files of a project.
---@param task tideate.Task
---@param arguments { path: string?, root: string }
function M.query(task, arguments)
  if arguments.path then
    return of_file(task, arguments.path)
  end
  of_project(task, arguments.root)
end

return M
