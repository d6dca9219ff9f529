--- Capabilities for a second server, and answers to its requests.
local M = {}

--- Return the capabilities of the user's client, adapted to a second server.
---@param client vim.lsp.Client
---@return table<string, any>
function M.capabilities(client)
  local known = vim.deepcopy(client.config.capabilities or vim.lsp.protocol.make_client_capabilities())
  return vim.tbl_deep_extend('force', known, {
    textDocument = {
      -- pulled diagnostics belong to the current text; published ones may not
      diagnostic = { dynamicRegistration = true, relatedDocumentSupport = false },
      publishDiagnostics = { versionSupport = true },
    },
    window = { workDoneProgress = true },
    workspace = { applyEdit = false, didChangeWatchedFiles = { dynamicRegistration = false } },
  })
end

---@param settings any
---@param params any of `workspace/configuration`
---@return any[]
local function configuration(settings, params)
  return vim.tbl_map(function(item)
    local section = type(item) == 'table' and item.section
    local value = settings
    if type(section) == 'string' and section ~= '' then
      value = vim.tbl_get(settings or {}, unpack(vim.split(section, '.', { plain = true })))
    end
    if type(value) == 'table' and next(value) == nil then
      return vim.empty_dict() -- settings, not a list
    end
    return value == nil and vim.NIL or value
  end, type(params) == 'table' and type(params.items) == 'table' and params.items or {})
end

--- Answers to requests of the server; none reaches the user.
---@type table<string, fun(server: tideate.SecondServer, params: any): any>
M.answers = {
  ['client/registerCapability'] = function(server, params)
    server:register(params)
    return vim.NIL
  end,
  ['client/unregisterCapability'] = function()
    return vim.NIL
  end,
  ['window/showDocument'] = function()
    return { success = false }
  end,
  ['window/showMessageRequest'] = function()
    return vim.NIL
  end,
  ['window/workDoneProgress/create'] = function()
    return vim.NIL
  end,
  ['workspace/applyEdit'] = function()
    return { applied = false }
  end,
  ['workspace/configuration'] = function(server, params)
    return configuration(server.client.settings or server.client.config.settings, params)
  end,
  ['workspace/diagnostic/refresh'] = function()
    return vim.NIL
  end,
  ['workspace/workspaceFolders'] = function(server)
    return server.client.workspace_folders or vim.NIL
  end,
}

return M
