--- Requests to language servers for a query: collect all answers, cancel pending ones when the query ends.
local M = {}

local ATTEMPTS = 4
local PAUSE = 150 -- milliseconds before a retry
local ENDED = 'the server has ended'

--- Errors that call for a retry: the text changed, or the server was busy.
M.AGAIN = { [-32801] = true, [-32802] = true }

local NEW = vim.fn.has('nvim-0.11') == 1 -- functions of a client are methods

---@class tideate.ServerAnswer
---@field client string name of the server
---@field encoding string of positions: utf-8, utf-16 or utf-32
---@field busy? string current work of the server
---@field result any

---@class tideate.ServerAnswers
---@field answers tideate.ServerAnswer[] non-null results
---@field errors string[] of servers that refused, ended or timed out

---@param client vim.lsp.Client
---@param name string
---@param ... any
local function call(client, name, ...)
  if NEW then
    return client[name](client, ...)
  end
  return client[name](...)
end

---@param client vim.lsp.Client
---@return string?
local function busy(client)
  local _, title = next(client.progress and client.progress.pending or {})
  return title and tostring(title) or nil
end

---@param task tideate.Task
---@param client vim.lsp.Client
---@param method string
---@param params table<string, any>
---@param buf integer
---@param answer fun(err: string?, result: any)
---@param attempts integer remaining
---@return boolean sent
local function send(task, client, method, params, buf, answer, attempts)
  local answered = false
  local sent, id ---@type boolean, integer?
  local handler = vim.schedule_wrap(task:guard(function(err, result)
    answered = true
    if err and M.AGAIN[err.code] and attempts > 1 then
      return task:later(PAUSE, function()
        if not send(task, client, method, params, buf, answer, attempts - 1) then
          answer(ENDED, nil)
        end
      end)
    end
    if vim.fn.has('nvim-0.12') == 1 then
      require('tideate.nulls').drop(result) -- as Neovim did itself before
    end
    answer(err and tostring(err.message or vim.inspect(err)) or nil, result)
  end))
  sent, id = call(client, 'request', method, params, handler, buf)
  task:on_end(function()
    if not answered and id then
      pcall(call, client, 'cancel_request', id)
    end
  end)
  return sent
end

--- Send a request; retry if the server asks for it.
---@param task tideate.Task
---@param client vim.lsp.Client
---@param method string
---@param params table<string, any>
---@param buf integer
---@param callback fun(err: string?, result: any) called once
function M.send(task, client, method, params, buf, callback)
  local answered = false
  local answer = task:guard(function(err, result)
    if not answered then
      answered = true
      callback(err, result)
    end
  end)
  if not send(task, client, method, params, buf, answer, ATTEMPTS) then
    return answer(ENDED)
  end
  task:autocmd('LspDetach', {
    desc = 'tideate: a query waits for an answer',
    callback = function(event)
      if event.data and event.data.client_id == client.id and event.buf == buf then
        answer(ENDED)
      end
    end,
  })
end

--- Send a request to all servers of a buffer that support it.
---@param task tideate.Task fails without a server, or if all servers fail
---@param buf integer
---@param method string
---@param params fun(client: vim.lsp.Client): table<string, any>
---@param callback fun(found: tideate.ServerAnswers)
---@param clients? vim.lsp.Client[] default: all of the buffer
function M.ask_all(task, buf, method, params, callback, clients)
  clients = clients or vim.lsp.get_clients({ bufnr = buf, method = method })
  if #clients == 0 then
    return task:fail(('no language server of this file can do this (%s); use other tools'):format(method))
  end
  local found = { answers = {}, errors = {} } ---@type tideate.ServerAnswers
  local missing = {} ---@type table<string, true>
  local function finish()
    if #found.answers == 0 and #found.errors == #clients then
      return task:fail(table.concat(found.errors, '; '))
    end
    callback(found)
  end
  task.waits_for = ('%s of %s'):format(method, table.concat(vim.tbl_map(function(client)
    missing[client.name] = true
    return client.name
  end, clients), ', '))
  task.at_limit = function()
    for name in pairs(missing) do
      table.insert(found.errors, name .. ': no answer in time')
    end
    if #found.answers > 0 then
      callback(found)
    end
    return #found.answers > 0
  end
  local waiting = #clients
  for _, client in ipairs(clients) do
    M.send(task, client, method, params(client), buf, function(err, result)
      waiting, missing[client.name] = waiting - 1, nil
      if err then
        table.insert(found.errors, ('%s: %s'):format(client.name, err:sub(1, 500)))
      elseif result ~= nil and result ~= vim.NIL then
        table.insert(found.answers, {
          client = client.name,
          encoding = client.offset_encoding or 'utf-16',
          busy = busy(client),
          result = result,
        })
      end
      if waiting == 0 then
        task.at_limit = nil
        finish()
      end
    end)
  end
end

--- Return the result of a query about a buffer.
---@param found tideate.ServerAnswers
---@param buf integer
---@return table<string, any> with `answers`, `errors` and the buffer's `tick`
function M.result(found, buf)
  return { answers = found.answers, errors = found.errors, tick = vim.api.nvim_buf_get_changedtick(buf) }
end

return M
