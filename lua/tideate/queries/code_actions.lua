--- Code actions of language servers: their list, and the edit of one, never applied.
---
--- Commands are not executed: their changes could not be reviewed.
local M = {}

local requests = require('tideate.queries.requests')

local MOST_ACTIONS = 40

---@param buf integer
---@param pulled table<string, any>[] pulled diagnostics
---@param from integer 0-based
---@param to integer 0-based, inclusive
---@return table<string, any>[] diagnostics as sent by the servers
local function diagnostics_between(buf, pulled, from, to)
  local sent = vim.list_extend({}, pulled)
  for _, one in ipairs(vim.diagnostic.get(buf)) do
    table.insert(sent, type(one.user_data) == 'table' and one.user_data.lsp or nil)
  end
  return vim.tbl_filter(function(one)
    return one.range and one.range.start.line <= to and one.range['end'].line >= from
  end, sent)
end

---@param buf integer
---@param arguments { line: integer, end_line: integer?, symbol: string? }
---@param pulled table<string, any>[]
---@return (fun(client: vim.lsp.Client): table<string, any>)? params CodeActionParams
---@return string? err
local function action_params(buf, arguments, pulled)
  local places = require('tideate.queries.places')
  local first, err = places.find(buf, arguments)
  local last = first
  if first and not arguments.symbol then
    last, err = places.find(buf, { line = arguments.end_line or arguments.line })
  end
  if not first or not last or last.row < first.row then
    return nil, err or 'end_line is before line'
  end
  local to = arguments.symbol and first.last or #last.line
  local context = { diagnostics = diagnostics_between(buf, pulled, first.row, last.row), triggerKind = 1 }
  return function(client)
    local encoding = client.offset_encoding or 'utf-16'
    return {
      textDocument = { uri = vim.uri_from_bufnr(buf) },
      range = {
        start = { line = first.row, character = places.units(first.line:sub(1, first.first), encoding) },
        ['end'] = { line = last.row, character = places.units(last.line:sub(1, to), encoding) },
      },
      context = context,
    }
  end
end

--- Request the code actions of some lines.
---@param task tideate.Task
---@param arguments table<string, any>
---@param callback fun(found: tideate.ServerAnswers, buf: integer, before: table<string, integer>)
local function ask_actions(task, arguments, callback)
  require('tideate.queries.document').open(task, arguments.path, function(buf, fresh)
    local function ask(before, pulled)
      local params, err = action_params(buf, arguments, pulled)
      if not params then
        return task:fail(err --[[@as string]])
      end
      requests.ask_all(task, buf, 'textDocument/codeAction', params, function(found)
        callback(found, buf, before)
      end)
    end
    -- most actions fix a diagnostic
    local diagnostics = require('tideate.queries.diagnostics')
    diagnostics.when_there(task, buf, fresh, diagnostics.patience.open, function(pulled)
      require('tideate.queries.edits').prepare(task, buf, function(before)
        ask(before, pulled)
      end)
    end)
  end)
end

---@param action table<string, any>
---@return string? command of the action
local function command_of(action)
  local command = action.command
  return type(command) == 'table' and tostring(command.command) or type(command) == 'string' and command or nil
end

--- List the code actions of some lines.
---@param task tideate.Task
---@param arguments { path: string, line: integer, end_line: integer?, symbol: string? }
function M.list(task, arguments)
  ask_actions(task, arguments, function(found, buf)
    for _, answer in ipairs(found.answers) do
      answer.total = #answer.result
      answer.result = vim.tbl_map(function(action)
        return {
          title = tostring(action.title),
          kind = action.kind,
          preferred = action.isPreferred == true,
          disabled = type(action.disabled) == 'table' and tostring(action.disabled.reason) or nil,
          -- an action with data may get an edit when it is resolved
          command = not action.edit and not action.data and command_of(action) or nil,
        }
      end, vim.list_slice(answer.result, 1, MOST_ACTIONS))
    end
    task:done(requests.result(found, buf))
  end)
end

---@param found tideate.ServerAnswers
---@param title string
---@return table<string, any>? action, tideate.ServerAnswer? answer, string? err
local function choose(found, title)
  local titles = {}
  for _, answer in ipairs(found.answers) do
    for _, action in ipairs(answer.result) do
      if action.title == title then
        return action, answer
      end
      table.insert(titles, ('"%s"'):format(action.title))
    end
  end
  local there = #titles == 0 and 'there is none' or 'there are ' .. table.concat(vim.list_slice(titles, 1, 10), ', ')
  return nil, nil, ('no code action there has the title "%s"; %s'):format(title, there)
end

--- Resolve an action without an edit.
---@param task tideate.Task
---@param buf integer
---@param action table<string, any>
---@param answer tideate.ServerAnswer
---@param callback fun(action: table<string, any>)
local function resolve(task, buf, action, answer, callback)
  local client = vim.lsp.get_clients({ bufnr = buf, name = answer.client })[1]
  local provider = client and client.server_capabilities.codeActionProvider
  if action.edit or not (type(provider) == 'table' and provider.resolveProvider) then
    return callback(action)
  end
  local method = 'codeAction/resolve'
  task.waits_for = method .. ' of ' .. answer.client
  requests.send(task, client, method, action, buf, function(err, result)
    if err then
      return task:fail(('%s: %s'):format(answer.client, err))
    end
    callback(result or action)
  end)
end

--- Return the edit of a code action.
---@param task tideate.Task
---@param arguments { path: string, line: integer, end_line: integer?, symbol: string?, title: string }
function M.choose(task, arguments)
  ask_actions(task, arguments, function(found, buf, before)
    local action, answer, err = choose(found, arguments.title)
    if not action or not answer then
      return task:fail(err --[[@as string]])
    elseif action.disabled then
      return task:fail(('%s: %s'):format(action.title, tostring(action.disabled.reason)))
    end
    resolve(task, buf, action, answer, function(whole)
      local command = command_of(whole)
      if whole.edit then
        return require('tideate.queries.edits').done(task, answer, whole.edit, before, command)
      elseif command then
        local words = "'%s' runs the server's command %s, whose changes nobody could review; it was not run"
        return task:fail(words:format(action.title, command))
      end
      task:fail(('%s: the server gives no edit for it'):format(action.title))
    end)
  end)
end

return M
