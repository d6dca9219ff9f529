--- Encode edits of language servers as answers without applying them; query the edit of a rename.
local M = {}

local api = vim.api

local APPLY = 'workspace/applyEdit'
local DEBOUNCE = 150 -- milliseconds that Neovim's client delays changes by default

---@return table<string, integer> ticks of all loaded buffers that are files, by path
local function ticks()
  local edit, found = require('tideate.edit'), {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = edit.is_file(buf) and api.nvim_buf_get_name(buf) or ''
    if name ~= '' then
      found[edit.canonical(name)] = api.nvim_buf_get_changedtick(buf)
    end
  end
  return next(found) and found or vim.empty_dict()
end

--- Clients that may not change buffers now, with their own handler and the number of queries.
---@type table<integer, { uses: integer, handler: function? }>
local refused = {}

---@param client vim.lsp.Client
local function allow(client)
  local it = refused[client.id]
  it.uses = it.uses - 1
  if it.uses == 0 then
    refused[client.id] = nil
    client.handlers[APPLY] = it.handler
  end
end

--- Refuse changes by servers until the end of a query.
---@param task tideate.Task
---@param buf integer
local function refuse_changes(task, buf)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf })) do
    local it = refused[client.id]
    if not it then
      it = { uses = 0, handler = client.handlers[APPLY] }
      refused[client.id] = it
      client.handlers[APPLY] = function()
        return { applied = false, failureReason = 'tideate asks for an edit now and applies none; try again' }
      end
    end
    it.uses = it.uses + 1
    task:on_end(function()
      allow(client)
    end)
  end
end

--- Prepare a request for an edit: wait until servers know all typed text, in all buffers. The host compares the ticks.
---@param task tideate.Task
---@param buf integer
---@param callback fun(before: table<string, integer>)
function M.prepare(task, buf, callback)
  refuse_changes(task, buf)
  local before, longest = ticks(), DEBOUNCE
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf })) do
    longest = math.max(longest, client.flags.debounce_text_changes or 0)
  end
  task:later(longest + 10, function()
    callback(before)
  end)
end

--- Encode a WorkspaceEdit in slices: it may have thousands of edits.
---@param task tideate.Task
---@param edit table<string, any> WorkspaceEdit
---@param callback fun(json: string)
local function to_json(task, edit, callback)
  local in_order = type(edit.documentChanges) == 'table'
  local items = in_order and edit.documentChanges or type(edit.changes) == 'table' and vim.tbl_keys(edit.changes) or {}
  local parts = {}
  task:each(items, function(item)
    local part = vim.json.encode(item)
    table.insert(parts, in_order and part or part .. ':' .. vim.json.encode(edit.changes[item]))
  end, function()
    local all = table.concat(parts, ',')
    callback(in_order and '{"documentChanges":[' .. all .. ']}' or '{"changes":{' .. all .. '}}')
  end)
end

--- Answer with a proposed edit.
---@param task tideate.Task
---@param answer tideate.ServerAnswer
---@param edit table<string, any> WorkspaceEdit
---@param before table<string, integer> ticks at the time of the request
---@param command? string command of the edit, not executed
function M.done(task, answer, edit, before, command)
  to_json(task, edit, function(json)
    task:done({
      client = answer.client,
      encoding = answer.encoding,
      -- JSON: the editor encodes thousands of tables slowly
      edit = json,
      ticks = before,
      command = command,
    })
  end)
end

---@param task tideate.Task
---@param buf integer
---@param arguments table<string, any>
---@param before table<string, integer>
local function ask_rename(task, buf, arguments, before)
  local method = 'textDocument/rename'
  local places, requests = require('tideate.queries.places'), require('tideate.queries.requests')
  local place, err = places.find(buf, arguments)
  if not place then
    return task:fail(err --[[@as string]])
  end
  -- one server: two would rename everything twice
  local clients = vim.list_slice(vim.lsp.get_clients({ bufnr = buf, method = method }), 1, 1)
  requests.ask_all(task, buf, method, function(client)
    local params = places.params(buf, place, client)
    params.newName = arguments.new_name
    return params
  end, function(found)
    local answer = found.answers[1]
    if not answer then
      return task:fail('the language server renames nothing there')
    end
    M.done(task, answer, answer.result, before)
  end, clients)
end

--- Return the edit that renames a symbol.
---@param task tideate.Task
---@param arguments { path: string, line: integer, symbol: string?, column: integer?, new_name: string }
function M.rename(task, arguments)
  require('tideate.queries.document').open(task, arguments.path, function(buf)
    M.prepare(task, buf, function(before)
      ask_rename(task, buf, arguments, before)
    end)
  end)
end

return M
