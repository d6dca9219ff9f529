--- A language server inside the editor: Neovim's own keys (`gd`, `grr`, `K`, `<C-x><C-o>`) work on states.
--- Its data comes from the host; it stores nothing.
local M = {}

local api = vim.api
local ui = require('tideate.ui')

local NAME = 'tideate'
local CONTENT_MODIFIED, REQUEST_FAILED, METHOD_NOT_FOUND = -32801, -32803, -32601

M.capabilities = {
  completionProvider = {},
  definitionProvider = true,
  referencesProvider = true,
  hoverProvider = true,
  documentSymbolProvider = true,
  documentHighlightProvider = true,
  renameProvider = { prepareProvider = true },
  documentFormattingProvider = true,
}

---@alias tideate.Respond fun(err: {code: integer, message: string}?, result: any)

---@param code integer
---@param message string
---@return {code: integer, message: string}
local function failure(code, message)
  return { code = code, message = message }
end

--- Return the loaded buffer of a URI. `vim.uri_to_bufnr` would create one for an unnamed buffer.
---@param uri string
---@return integer?
local function buffer_of(uri)
  local all = { api.nvim_get_current_buf() }
  vim.list_extend(all, api.nvim_list_bufs())
  for _, buf in ipairs(all) do
    if api.nvim_buf_is_loaded(buf) and vim.uri_from_bufnr(buf) == uri then
      return buf
    end
  end
end

--- Features of Neovim's client that go to a URI, which an unnamed buffer does not have.
local NEEDS_NAME = { definition = '`gd` works', references = '`:write` it first' }

--- Return a method that answers from the outline.
---@param name string function of `tideate.language.responses`
---@return fun(params: table, respond: tideate.Respond)
local function from_outline(name)
  return function(params, respond)
    local buf = buffer_of(params.textDocument.uri)
    if not buf then
      return respond(nil, nil)
    elseif NEEDS_NAME[name] and api.nvim_buf_get_name(buf) == '' then
      local words = ('this buffer has no name to go to; %s'):format(NEEDS_NAME[name])
      ui.warn(words)
      return respond(nil, nil)
    end
    local tick = api.nvim_buf_get_changedtick(buf)
    require('tideate.language.outline').get(buf, function(outline)
      if not outline then
        return respond(nil, nil)
      elseif not api.nvim_buf_is_loaded(buf) or api.nvim_buf_get_changedtick(buf) ~= tick then
        return respond(failure(CONTENT_MODIFIED, 'the text was changed meanwhile'))
      end
      local result, err = require('tideate.language.responses')[name](buf, outline, params)
      if err then
        return respond(failure(REQUEST_FAILED, err))
      end
      -- nil without a result: the client would read null as nil
      respond(nil, result)
    end)
  end
end

---@param hunk tideate.Hunk
---@return table text_edit
local function text_edit(hunk)
  local stop = hunk.start + #hunk.old
  local range = { start = { line = hunk.start, character = 0 }, ['end'] = { line = stop, character = 0 } }
  local lines = vim.tbl_map(function(line)
    return line .. '\n'
  end, hunk.new)
  return { range = range, newText = table.concat(lines) }
end

---@param params table
---@param respond tideate.Respond
local function formatting(params, respond)
  local buf = buffer_of(params.textDocument.uri)
  if not buf then
    return respond(nil, nil)
  end
  require('tideate.language.format').hunks(buf, function(hunks, tick, err)
    if not hunks then
      return respond(failure(REQUEST_FAILED, err --[[@as string]]))
    elseif not api.nvim_buf_is_loaded(buf) or api.nvim_buf_get_changedtick(buf) ~= tick then
      return respond(failure(CONTENT_MODIFIED, 'the text was changed meanwhile'))
    end
    respond(nil, vim.tbl_map(text_edit, hunks))
  end)
end

---@type table<string, fun(params: table, respond: tideate.Respond)>
local methods = {
  initialize = function(_, respond)
    respond(nil, { capabilities = M.capabilities, serverInfo = { name = NAME, version = require('tideate').version } })
  end,
  shutdown = function(_, respond)
    respond(nil, nil)
  end,
  ['textDocument/completion'] = from_outline('completion'),
  ['textDocument/definition'] = from_outline('definition'),
  ['textDocument/references'] = from_outline('references'),
  ['textDocument/hover'] = from_outline('hover'),
  ['textDocument/documentSymbol'] = from_outline('symbols'),
  ['textDocument/documentHighlight'] = from_outline('highlights'),
  ['textDocument/prepareRename'] = from_outline('prepare_rename'),
  ['textDocument/rename'] = from_outline('rename'),
  ['textDocument/formatting'] = formatting,
}

--- Return the client functions that `vim.lsp.start` takes instead of a process.
---@param dispatchers {on_exit: fun(code: integer, signal: integer)}
---@return table client
local function connect(dispatchers)
  local closing, last_id = false, 0
  local function close()
    if not closing then
      closing = true
      dispatchers.on_exit(0, 0)
    end
  end
  return {
    request = function(method, params, callback, on_answered)
      last_id = last_id + 1
      local id = last_id
      local function respond(err, result)
        if on_answered then
          on_answered(id)
        end
        callback(err, result)
      end
      -- never before this has returned the id
      vim.schedule(function()
        local handler = methods[method]
        if handler then
          handler(params, respond)
        else
          respond(failure(METHOD_NOT_FOUND, method .. ' is not known'))
        end
      end)
      return true, id
    end,
    notify = function(method)
      if method == 'exit' then
        close()
      end
      return true
    end,
    is_closing = function()
      return closing
    end,
    terminate = close,
  }
end

--- Handle the response to a rename: Neovim's handler shows a refusal with its error number, and cannot edit an unnamed
--- buffer.
---@param err? {code: integer, message: string}
---@param result? {changes: table<string, table[]>}
---@param context {bufnr: integer, params: table}
local function renamed(err, result, context, ...)
  if err and err.code == REQUEST_FAILED then
    return ui.warn(err.message)
  end
  local buf = context.bufnr
  if result and api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_name(buf) == '' then
    return vim.lsp.util.apply_text_edits(result.changes[context.params.textDocument.uri], buf, 'utf-16')
  end
  return vim.lsp.handlers['textDocument/rename'](err, result, context, ...)
end

--- Serve a buffer.
---@param buf integer
function M.start(buf)
  vim.lsp.start({ name = NAME, cmd = connect, handlers = { ['textDocument/rename'] = renamed } }, {
    bufnr = buf,
    reuse_client = function(client)
      return client.name == NAME
    end,
  })
end

--- Stop serving a buffer.
---@param buf integer
function M.stop(buf)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf, name = NAME })) do
    vim.lsp.buf_detach_client(buf, client.id)
  end
end

return M
