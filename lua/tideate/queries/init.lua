--- Queries of the host for a model: language servers, diagnostics, open buffers, the quickfix list.
---
--- All queries are asynchronous and limited in time. They never change a buffer, a file or a window.
local M = {}

---@alias tideate.Query fun(task: tideate.Task, arguments: table<string, any>)

---@param module string module below `tideate.queries`
---@param name string
---@return tideate.Query
local function of(module, name)
  return function(task, arguments)
    require('tideate.queries.' .. module)[name](task, arguments)
  end
end

---@type table<string, tideate.Query>
local queries = {
  buffers = of('lists', 'buffers'),
  code_action = of('code_actions', 'choose'),
  code_actions = of('code_actions', 'list'),
  diagnostics = of('diagnostics', 'query'),
  document_symbols = of('symbols', 'document'),
  hover = of('places', 'hover'),
  locations = of('places', 'locations'),
  quickfix = of('lists', 'quickfix'),
  rename = of('edits', 'rename'),
  staged_diagnostics = of('staged_diagnostics', 'query'),
  workspace_symbols = of('symbols', 'workspace'),
}

--- Answer a query.
---@param params { name: string, arguments: table<string, any> } `limit` in the arguments: milliseconds
---@param respond fun(result: any)
---@param fail tideate.Fail
---@return fun()? cancel
function M.answer(params, respond, fail)
  local query = queries[params.name]
  if not query then
    local err = ("this version of tideate's Lua does not know the query '%s'"):format(tostring(params.name))
    return fail(err, 'UnknownRequest')
  end
  local task = require('tideate.queries.task').new(params.arguments.limit, respond, function(err)
    fail(err, 'ToolError')
  end)
  require('tideate.queries.diagnostics').watch()
  task:guard(query)(task, params.arguments)
  return function()
    task:cancel()
  end
end

return M
