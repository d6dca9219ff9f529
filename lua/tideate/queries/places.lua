--- Positions in files: of a symbol on a line, its definition, references and documentation.
local M = {}

local requests = require('tideate.queries.requests')

local MOST_LOCATIONS = 300
local MOST_BYTES = 16000 -- of a hover text

--- Return the length of a text in the units of a server.
---@param text string UTF-8
---@param encoding string utf-8, utf-16 or utf-32
---@return integer
function M.units(text, encoding)
  if encoding == 'utf-8' then
    return #text
  end
  local count = 0
  for at = 1, #text do
    local byte = text:byte(at)
    if byte < 0x80 or byte >= 0xC0 then
      count = count + ((encoding == 'utf-16' and byte >= 0xF0) and 2 or 1)
    end
  end
  return count
end

---@param byte string
---@return boolean
local function is_word(byte)
  return byte:find('^[%w_\128-\255]') ~= nil
end

--- Find a symbol in a line as a whole word.
---@param line string
---@param symbol string
---@return integer? first, integer? last 1-based bytes
local function find_symbol(line, symbol)
  local from = 1
  while symbol ~= '' do
    local first, last = line:find(symbol, from, true)
    if not first then
      return
    end
    local joined = is_word(symbol:sub(1, 1)) and is_word(line:sub(first - 1, first - 1))
      or is_word(symbol:sub(-1)) and is_word(line:sub(last + 1, last + 1))
    if not joined then
      return first, last
    end
    from = first + 1
  end
end

---@param buf integer
---@param symbol string
---@return string
local function elsewhere(buf, symbol)
  local found = {}
  for number, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    if find_symbol(line, symbol) then
      table.insert(found, tostring(number))
    end
    if #found == 5 then
      break
    end
  end
  return #found == 0 and 'it stands nowhere in the file' or 'it stands on line ' .. table.concat(found, ', ')
end

---@param text string
---@param column integer 1-based, in characters
---@return integer byte 0-based
local function byte_of(text, column)
  local at, left = 0, column - 1
  while at < #text and left > 0 do
    at = at + 1
    while at < #text and text:byte(at + 1) >= 0x80 and text:byte(at + 1) < 0xC0 do
      at = at + 1
    end
    left = left - 1
  end
  return at
end

--- Find a position by line and symbol, or by line and column.
---@param buf integer
---@param arguments { line: integer, symbol: string?, column: integer? } line and column 1-based, column in characters
---@return { line: string, row: integer, first: integer, last: integer }? place row and bytes 0-based, last exclusive
---@return string? err
function M.find(buf, arguments)
  local count = vim.api.nvim_buf_line_count(buf)
  local line = vim.api.nvim_buf_get_lines(buf, arguments.line - 1, arguments.line, false)[1]
  if arguments.line < 1 or not line then
    return nil, ('there is no line %d: the file has %d lines in the editor'):format(arguments.line, count)
  end
  local row, symbol = arguments.line - 1, arguments.symbol
  if not symbol then
    local at = byte_of(line, arguments.column or 1)
    return { line = line, row = row, first = at, last = at }
  end
  local first, last = find_symbol(line, symbol)
  if not first then
    return nil, ("'%s' is not on line %d in the editor; %s"):format(symbol, arguments.line, elsewhere(buf, symbol))
  end
  -- `a.b` means b
  local name = symbol:match('()[%w_\128-\255]+[^%w_\128-\255]*$') or 1
  return { line = line, row = row, first = first + name - 2, last = last --[[@as integer]] }
end

---@param buf integer
---@param place { line: string, row: integer, first: integer }
---@param client vim.lsp.Client
---@return table<string, any> TextDocumentPositionParams
function M.params(buf, place, client)
  local character = M.units(place.line:sub(1, place.first), client.offset_encoding or 'utf-16')
  return {
    textDocument = { uri = vim.uri_from_bufnr(buf) },
    position = { line = place.row, character = character },
  }
end

--- Send a request about a position to all servers.
---@param task tideate.Task
---@param arguments table<string, any>
---@param method string
---@param extra table<string, any>
---@param callback fun(found: tideate.ServerAnswers, buf: integer)
local function ask_at(task, arguments, method, extra, callback)
  require('tideate.queries.document').open(task, arguments.path, function(buf)
    local place, err = M.find(buf, arguments)
    if not place then
      return task:fail(err --[[@as string]])
    end
    requests.ask_all(task, buf, method, function(client)
      return vim.tbl_extend('force', M.params(buf, place, client), extra)
    end, function(found)
      callback(found, buf)
    end)
  end)
end

---@param result any Location, Location[] or LocationLink[]
---@return { uri: string, line: integer }[]? places 1-based lines, up to a limit; nil for an invalid result
---@return integer total
local function places(result)
  local list = vim.islist(result) and result or { result }
  local found = {}
  for index = 1, math.min(#list, MOST_LOCATIONS) do
    local one = list[index]
    local range = type(one) == 'table' and (one.targetSelectionRange or one.range)
    if type(range) ~= 'table' or type(range.start) ~= 'table' then
      return nil, 0
    end
    table.insert(found, { uri = one.targetUri or one.uri, line = range.start.line + 1 })
  end
  return found, #list
end

local METHODS = {
  definition = 'textDocument/definition',
  implementation = 'textDocument/implementation',
  references = 'textDocument/references',
  type_definition = 'textDocument/typeDefinition',
}

--- Return the definitions, implementations or references of a symbol.
---@param task tideate.Task
---@param arguments { path: string, line: integer, symbol: string?, column: integer?, kind: string }
function M.locations(task, arguments)
  local extra = arguments.kind == 'references' and { context = { includeDeclaration = true } } or {}
  ask_at(task, arguments, METHODS[arguments.kind], extra, function(found, buf)
    for _, answer in ipairs(found.answers) do
      answer.result, answer.total = places(answer.result)
      if not answer.result then
        return task:fail(answer.client .. ': its answer makes no sense')
      end
    end
    task:done(requests.result(found, buf))
  end)
end

---@param contents any MarkupContent, MarkedString or MarkedString[]
---@return string
local function hover_text(contents)
  if type(contents) == 'string' then
    return contents
  elseif type(contents) ~= 'table' then
    return ''
  elseif contents.value then
    return tostring(contents.value)
  end
  return table.concat(vim.tbl_map(hover_text, contents), '\n')
end

--- Return type and documentation of a symbol.
---@param task tideate.Task
---@param arguments { path: string, line: integer, symbol: string?, column: integer? }
function M.hover(task, arguments)
  ask_at(task, arguments, 'textDocument/hover', {}, function(found, buf)
    for _, answer in ipairs(found.answers) do
      answer.result = hover_text(answer.result.contents):sub(1, MOST_BYTES)
    end
    task:done(requests.result(found, buf))
  end)
end

return M
