--- Responses of the language server, computed from a buffer's outline.
local M = {}

local columns = require('tideate.language.columns')
local outlines = require('tideate.language.outline')
local KIND = { state = 20, keyword = 14, boundary = 12 } -- EnumMember, Keyword, Value
local SYMBOL = 22 -- EnumMember
local READ, WRITE = 2, 3

---@class tideate.Position of the protocol
---@field line integer
---@field character integer

---@class tideate.Asked.Place
---@field textDocument {uri: string}
---@field position tideate.Position

---@class tideate.Asked.Rename: tideate.Asked.Place
---@field newName string

---@alias tideate.Range {start: tideate.Position, end: tideate.Position}

---@param buf integer
---@param at {line: integer, column: integer}
---@param length integer bytes; a name is ASCII
---@return tideate.Range
local function range_of(buf, at, length)
  local row, byte = columns.place(buf, at)
  return { start = columns.to_protocol(buf, row, byte), ['end'] = columns.to_protocol(buf, row, byte + length) }
end

--- Return a response about the state under the cursor; nil without one.
---@param respond fun(buf: integer, state: tideate.MachineState, params: tideate.Asked.Place, row: integer, first: integer): any
---@return fun(buf: integer, outline: tideate.Outline, params: tideate.Asked.Place): any
local function about_state(respond)
  return function(buf, outline, params)
    local row, byte = columns.from_protocol(buf, params.position)
    local state, first = outlines.at(buf, outline, row, byte)
    return state and respond(buf, state, params, row, first) or nil
  end
end

--- Return a response for each mention of the state under the cursor.
---@param respond fun(range: tideate.Range, mention: tideate.Mention, params: tideate.Asked.Place): any
---@return fun(buf: integer, outline: tideate.Outline, params: tideate.Asked.Place): any[]?
local function about_mentions(respond)
  return about_state(function(buf, state, params)
    return vim.tbl_map(function(mention)
      return respond(range_of(buf, mention, #state.name), mention, params)
    end, state.references)
  end)
end

---@param outline tideate.Outline
---@param name string
---@param from 'source'|'target'
---@return tideate.Move[]
local function moves(outline, name, from)
  return vim.tbl_filter(function(move)
    return move[from] == name
  end, outline.transitions)
end

---@param name string
---@param outline tideate.Outline
---@return string
local function ways(name, outline)
  local lines = {}
  local function list(word, found, other)
    for _, move in ipairs(found) do
      local when = move.when ~= '' and ': ' .. move.when:gsub('%s+', ' ') or ''
      table.insert(lines, ('- %s `%s`%s'):format(word, move[other], when))
    end
  end
  list('from', moves(outline, name, 'target'), 'source')
  list('to', moves(outline, name, 'source'), 'target')
  return table.concat(lines, '\n')
end

---@param state tideate.MachineState
---@param outline tideate.Outline
---@return {kind: 'markdown', value: string}
local function described(state, outline)
  local parts = { ('**%s**'):format(state.name) }
  if state.guidance ~= '' then
    table.insert(parts, state.guidance)
  end
  table.insert(parts, '---')
  table.insert(parts, ways(state.name, outline))
  return { kind = 'markdown', value = table.concat(parts, '\n\n') }
end

---@param state tideate.MachineState
---@param line integer
---@return boolean mentioned on another line; on this line it may be half a typed name
local function elsewhere(state, line)
  return vim.iter(state.references):any(function(mention)
    return mention.line ~= line
  end)
end

---@param outline tideate.Outline
---@param line integer
---@param boundary boolean whether `*` is valid here
---@return table[] items
local function names(outline, line, boundary)
  local items = {}
  for _, state in ipairs(outline.states) do
    if elsewhere(state, line) then
      table.insert(items, { label = state.name, kind = KIND.state, documentation = described(state, outline) })
    end
  end
  if boundary then
    table.insert(items, { label = '*', kind = KIND.boundary, detail = 'entry or exit' })
  end
  return items
end

---@param buf integer
---@param outline tideate.Outline
---@param params tideate.Asked.Place
---@return {isIncomplete: boolean, items: table[]}
function M.completion(buf, outline, params)
  local row, byte = columns.from_protocol(buf, params.position)
  local before = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1]:sub(1, byte)
  local items
  if before:find('^%s*[%w_*]+%s+[%w_]*$') then
    items = { { label = 'to', kind = KIND.keyword } }
    if before:find('^%s') then
      vim.list_extend(items, names(outline, row + 1, false))
    end
  else
    local in_move = before:find('^%s*[%w_*]*$') or before:find('^%s*[%w_*]+%s+to%s+[%w_*]*$')
    items = names(outline, row + 1, in_move ~= nil)
  end
  return { isIncomplete = false, items = items }
end

---@type fun(buf: integer, outline: tideate.Outline, params: tideate.Asked.Place): {uri: string, range: tideate.Range}?
M.definition = about_state(function(buf, state, params)
  return { uri = params.textDocument.uri, range = range_of(buf, state, #state.name) }
end)

---@type fun(buf: integer, outline: tideate.Outline, params: tideate.Asked.Place): {uri: string, range: tideate.Range}[]?
M.references = about_mentions(function(range, _, params)
  return { uri = params.textDocument.uri, range = range }
end)

---@param buf integer
---@param outline tideate.Outline
---@param params tideate.Asked.Place
---@return {contents: {kind: string, value: string}, range: tideate.Range}?
function M.hover(buf, outline, params)
  return about_state(function(_, state, _, row, first)
    local range = {
      start = columns.to_protocol(buf, row, first),
      ['end'] = columns.to_protocol(buf, row, first + #state.name),
    }
    return { contents = described(state, outline), range = range }
  end)(buf, outline, params)
end

---@param buf integer
---@param outline tideate.Outline
---@return table[] symbols
function M.symbols(buf, outline)
  return vim.tbl_map(function(state)
    local targets = vim.tbl_map(function(move)
      return move.target
    end, moves(outline, state.name, 'source'))
    local range = range_of(buf, state, #state.name)
    return {
      name = state.name,
      kind = SYMBOL,
      detail = #targets > 0 and 'to ' .. table.concat(targets, ', ') or '',
      range = range,
      selectionRange = range,
    }
  end, outline.states)
end

---@type fun(buf: integer, outline: tideate.Outline, params: tideate.Asked.Place): {range: tideate.Range, kind: integer}[]?
M.highlights = about_mentions(function(range, mention)
  return { range = range, kind = mention.kind == 'target' and WRITE or READ }
end)

--- Return the name under the cursor; without one the client reports it: an error message would get a prefix.
---@type fun(buf: integer, outline: tideate.Outline, params: tideate.Asked.Place): {range: tideate.Range, placeholder: string}?
M.prepare_rename = about_state(function(buf, state, _, row, first)
  local at = { line = row + 1, column = vim.fn.charidx(vim.fn.getbufline(buf, row + 1)[1] .. ' ', first) + 1 }
  return { range = range_of(buf, at, #state.name), placeholder = state.name }
end)

--- Rename a state in transitions only: in guidance its name may be a normal word.
---@param buf integer
---@param outline tideate.Outline
---@param params tideate.Asked.Rename
---@return {changes: table<string, table[]>}? edit, string? err
function M.rename(buf, outline, params)
  local name, before = params.newName, nil ---@type string, string?
  local edits = about_state(function(_, state)
    before = state.name
    return vim.tbl_map(function(mention)
      return { range = range_of(buf, mention, #state.name), newText = name }
    end, state.references)
  end)(buf, outline, params)
  if not edits then
    return nil, 'there is no state under the cursor'
  elseif not name:find('^[%a_][%w_]*$') then
    return nil, ("a state's name is letters, digits and `_`, and begins with no digit; got '%s'"):format(name)
  elseif name ~= before and outlines.state(outline, name) then
    return nil, ("there is a state '%s' already, and two would become one"):format(name)
  end
  return { changes = { [params.textDocument.uri] = edits } }
end

return M
