--- Format and parse a plan as text: one file a line, `modify path — why` or `move a -> b — why`.
local M = {}

---@class tideate.PlannedFile
---@field path string
---@field action 'create'|'modify'|'delete'|'move'
---@field why string
---@field move_to? string

---@class tideate.PlanError
---@field row integer 0-based
---@field message string

M.ACTIONS = { 'create', 'modify', 'delete', 'move' }

--- Separators between a path and its reason.
local SEPARATORS = { '—', '–', '--', '-' }

M.HELP = {
  '# create|modify|delete PATH — why',
  '# move PATH -> PATH — why',
}

--- Find the separator before the reason.
---@param text string
---@return integer? from, integer? to of the separator
local function find_separator(text)
  local from, to
  for _, separator in ipairs(SEPARATORS) do
    local at, stop = (text .. ' '):find(' ' .. separator .. ' ', 1, true)
    if at and (not from or at < from) then
      from, to = at, stop
    end
  end
  return from, to
end

--- Quote a path if it would be read differently, and escape invisible characters.
---@param path string
---@return string
local function quoted(path)
  local shown = require('tideate.ui.text').name(path)
  if shown ~= path then
    return '"' .. shown:gsub('"', '\\"') .. '"'
  elseif find_separator(path) or path:find('->', 1, true) or path:find('^"') or vim.trim(path) ~= path then
    return '"' .. path:gsub('"', '\\"') .. '"'
  end
  return path
end

---@param file tideate.PlannedFile
---@return string
local function format_file(file)
  local line = file.action .. ' ' .. quoted(file.path)
  if file.action == 'move' then
    line = line .. ' -> ' .. quoted(file.move_to or '')
  end
  local why = (file.why or ''):gsub('[ \t\n]+', ' ')
  return require('tideate.ui.text').plain(why == '' and line or line .. ' — ' .. why)
end

---@param files tideate.PlannedFile[]
---@param out table<tideate.PlannedFile, boolean>? files left out, written as comments
---@return string[]
function M.format(files, out)
  local lines = vim.list_extend({}, M.HELP)
  for _, file in ipairs(files) do
    table.insert(lines, (out and out[file] and '# ' or '') .. format_file(file))
  end
  return lines
end

local NAMED = { n = '\n', r = '\r', t = '\t', ['\\'] = '\\', ['"'] = '"' }

--- Decode an escape of a quoted path.
---@param text string from the backslash on
---@return string character, integer size of the escape
local function unescaped(text)
  local byte = text:match('^\\x(%x%x)')
  local code = text:match('^\\u(%x%x%x%x)') or text:match('^\\U(%x%x%x%x%x%x%x%x)')
  if byte then
    return string.char(tonumber(byte, 16)), 4
  elseif code then
    return vim.fn.nr2char(tonumber(code, 16), true), 2 + #code
  end
  return NAMED[text:sub(2, 2)] or text:sub(1, 2), 2
end

---@param text string beginning with a quote
---@return string path, string rest both empty without a closing quote
local function read_quoted(text)
  local index, path = 2, {}
  while index <= #text do
    local char, size = text:sub(index, index), 1
    if char == '"' then
      return table.concat(path), text:sub(index + 1)
    elseif char == '\\' then
      char, size = unescaped(text:sub(index))
    end
    table.insert(path, char)
    index = index + size
  end
  return '', ''
end

--- Read a path from the beginning of a text.
---@param text string
---@return string path, string rest
local function read_path(text)
  if text:sub(1, 1) == '"' then
    return read_quoted(text)
  end
  local ends = find_separator(text) or #text + 1
  local arrow = text:find('->', 1, true)
  ends = arrow and arrow < ends and arrow or ends
  return vim.trim(text:sub(1, ends - 1)), text:sub(ends)
end

---@param rest string text after the paths
---@return string? why nil if it is not a reason
local function read_why(rest)
  local from, to = find_separator(rest)
  if from == 1 then
    return vim.trim(rest:sub(to + 1))
  end
  return vim.trim(rest) == '' and '' or nil
end

---@param action string
---@param rest string
---@return tideate.PlannedFile? file, string? err
local function read_paths(action, rest)
  local text = rest
  local path, to
  path, rest = read_path(text)
  local arrow = rest:match('^%s*%->%s*(.*)$')
  if arrow then
    to, rest = read_path(arrow)
  end
  local why = read_why(rest)
  if path == '' and not arrow then
    return nil, ('%s needs a path%s'):format(action, text:find('^"') and ', between two quotes' or '')
  elseif action ~= 'move' and arrow then
    return nil, ("only move has a '->'; %s takes one path; a path with '->' in it stands in quotes"):format(action)
  elseif action == 'move' and (path == '' or (to or '') == '') then
    return nil, 'move needs two paths: move PATH -> PATH'
  elseif path == to then
    return nil, 'move needs two different paths'
  elseif not why then
    return nil, ("what does '%s' mean? A reason follows ' — '"):format(vim.trim(rest))
  end
  return { action = action, path = path, move_to = to, why = why }
end

---@param line string
---@return tideate.PlannedFile? file, string? err
local function parse_line(line)
  local action, rest = line:match('^(%S+)%s*(.*)$')
  if not vim.list_contains(M.ACTIONS, action) then
    local hint = require('tideate.did_you_mean').hint(action, M.ACTIONS)
    hint = hint ~= '' and hint or ': create, modify, delete or move'
    return nil, ("'%s' is not an action%s"):format(action, hint)
  end
  return read_paths(action, rest)
end

--- Parse a commented file; nil for any other comment.
---@param line string
---@return tideate.PlannedFile?
local function parse_comment(line)
  local text = vim.trim((line:match('^%s*#+%s*(.*)$') or ''))
  return text ~= '' and (parse_line(text)) or nil
end

--- Comment or uncomment the line of a file.
---@param lines string[]
---@param path string
---@param out boolean
---@return integer? row 0-based
---@return string? line the new line
function M.comment(lines, path, out)
  for row, line in ipairs(lines) do
    local commented = parse_comment(line)
    local file = commented or (not line:find('^%s*#') and parse_line(vim.trim(line))) or nil
    if file and file.path == path and (commented ~= nil) ~= out then
      return row - 1, out and '# ' .. line or (line:gsub('^%s*#+%s*', ''))
    end
  end
end

--- Parse a plan.
---@param lines string[]
---@return tideate.PlannedFile[] files, tideate.PlanError[] errors, tideate.PlannedFile[] out commented files
function M.parse(lines)
  local files, errors, seen = {}, {}, {} ---@type tideate.PlannedFile[], tideate.PlanError[], table<string, integer>
  local out = {} ---@type tideate.PlannedFile[]
  for index, line in ipairs(lines) do
    table.insert(out, parse_comment(line))
    if line:find('%S') and not line:find('^%s*#') then
      local file, err = parse_line(vim.trim(line))
      for _, path in ipairs(file and { file.path, file.move_to } or {}) do
        if seen[path] and not err then
          err = ('%s is in line %d already'):format(path, seen[path])
        end
        seen[path] = seen[path] or index
      end
      if file and not err then
        table.insert(files, file)
      else
        table.insert(errors, { row = index - 1, message = err })
      end
    end
  end
  out = vim.tbl_filter(function(file)
    return not seen[file.path]
  end, out)
  return files, errors, out
end

return M
