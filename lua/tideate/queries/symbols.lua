--- Symbols of a file or project from language servers.
local M = {}

local requests = require('tideate.queries.requests')

local MOST = 400

---@class tideate.Symbol
---@field name string
---@field kind string
---@field line integer 1-based
---@field depth integer nesting depth
---@field detail? string
---@field uri? string
---@field container? string

---@param symbol table<string, any> DocumentSymbol, SymbolInformation or WorkspaceSymbol
---@param depth integer
---@return tideate.Symbol
local function flat(symbol, depth)
  local location = symbol.location or {}
  local range = symbol.selectionRange or location.range
  return {
    name = tostring(symbol.name):sub(1, 200),
    kind = (vim.lsp.protocol.SymbolKind[symbol.kind] or 'Symbol'):lower(),
    line = range and range.start.line + 1 or 0,
    depth = depth,
    detail = type(symbol.detail) == 'string' and symbol.detail:sub(1, 200) or nil,
    uri = location.uri,
    container = type(symbol.containerName) == 'string' and symbol.containerName or nil,
  }
end

--- Add symbols with their children, up to a limit.
---@param found tideate.Symbol[]
---@param symbols table<string, any>[]
---@param depth integer
local function collect(found, symbols, depth)
  for _, symbol in ipairs(symbols) do
    if #found >= MOST then
      return
    end
    table.insert(found, flat(symbol, depth))
    if type(symbol.children) == 'table' then
      collect(found, symbol.children, depth + 1)
    end
  end
end

---@param found tideate.ServerAnswers
local function flatten(found)
  for _, answer in ipairs(found.answers) do
    local symbols = {} ---@type tideate.Symbol[]
    collect(symbols, answer.result, 0)
    answer.total = #answer.result
    answer.result, answer.full = symbols, #symbols >= MOST
  end
end

--- Return the symbols of a file.
---@param task tideate.Task
---@param arguments { path: string }
function M.document(task, arguments)
  require('tideate.queries.document').open(task, arguments.path, function(buf)
    requests.ask_all(task, buf, 'textDocument/documentSymbol', function()
      return { textDocument = { uri = vim.uri_from_bufnr(buf) } }
    end, function(found)
      flatten(found)
      task:done(requests.result(found, buf))
    end)
  end)
end

---@param client vim.lsp.Client
---@return integer? buf
local function attached(client)
  for buf in pairs(client.attached_buffers) do
    if vim.api.nvim_buf_is_loaded(buf) then
      return buf
    end
  end
end

--- Return whether a server works on a folder or a part of it.
---@param client vim.lsp.Client
---@param root string
---@return boolean
local function is_of(client, root)
  for _, folder in ipairs(client.workspace_folders or {}) do
    local path = require('tideate.edit').canonical(vim.uri_to_fname(folder.uri))
    if path == root or vim.startswith(path .. '/', root .. '/') or vim.startswith(root .. '/', path .. '/') then
      return true
    end
  end
  return false
end

--- Return the project symbols that match a query, from all its servers.
---@param task tideate.Task
---@param arguments { root: string, query: string }
function M.workspace(task, arguments)
  local method = 'workspace/symbol'
  local clients, buf = {}, nil ---@type vim.lsp.Client[], integer?
  for _, client in ipairs(vim.lsp.get_clients({ method = method })) do
    local one = is_of(client, arguments.root) and attached(client)
    if one then
      table.insert(clients, client)
      buf = buf or one
    end
  end
  if not buf then
    return task:fail('no language server that lists symbols runs for this project in this Neovim; use other tools')
  end
  requests.ask_all(task, buf, method, function()
    return { query = arguments.query }
  end, function(found)
    flatten(found)
    task:done({ answers = found.answers, errors = found.errors })
  end, clients)
end

return M
