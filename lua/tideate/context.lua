--- The editor context of a run: buffer, selection, cursor.
local M = {}

local api = vim.api

---@class tideate.Context
---@field cwd string
---@field buffer tideate.BufferContext
---@field selection? {start: integer, end: integer} whole lines, 1-based, inclusive
---@field cursor {line: integer, column: integer} line 1-based, column a 0-based byte offset
---@field diagnostics tideate.Diagnostic[] of the buffer

---@class tideate.Diagnostic
---@field line integer 1-based
---@field column integer 1-based, in bytes
---@field severity string
---@field message string
---@field source string

---@class tideate.BufferContext
---@field path string absolute; empty without a file
---@field text string lines joined by "\n", without the last line end; empty if binary
---@field filetype string
---@field number integer
---@field tick integer `changedtick` of the text
---@field modifiable boolean
---@field binary boolean with a NUL, or not UTF-8

--- Valid characters of several bytes (RFC 3629), the longest first.
local CHARACTERS = {
  '\240[\144-\191][\128-\191][\128-\191]',
  '[\241-\243][\128-\191][\128-\191][\128-\191]',
  '\244[\128-\143][\128-\191][\128-\191]',
  '\224[\160-\191][\128-\191]',
  '[\225-\236\238\239][\128-\191][\128-\191]',
  '\237[\128-\159][\128-\191]',
  '[\194-\223][\128-\191]',
}

---@param line string
---@return boolean
local function is_utf8(line)
  for _, character in ipairs(line:find('[\128-\255]') and CHARACTERS or {}) do
    line = line:gsub(character, ' ')
  end
  return not line:find('[\128-\255]')
end

--- Return whether lines are binary.
---@param lines string[]
---@return boolean
function M.is_binary(lines)
  for _, line in ipairs(lines) do
    if line:find('\0', 1, true) or not is_utf8(line) then
      return true
    end
  end
  return false
end

---@param buf integer
---@return string path absolute; empty without a file, as for a terminal or a `scheme://` buffer
local function path_of(buf)
  local name = api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= '' or name:find('^%a[%w+.-]*://') then
    return ''
  end
  return name
end

---@param buf integer
---@return tideate.BufferContext
function M.buffer(buf)
  local tick = api.nvim_buf_get_changedtick(buf)
  local lines = api.nvim_buf_get_lines(buf, 0, -1, false)
  local binary = M.is_binary(lines)
  return {
    path = path_of(buf),
    text = binary and '' or table.concat(lines, '\n'),
    filetype = vim.bo[buf].filetype,
    number = buf,
    tick = tick,
    modifiable = vim.bo[buf].modifiable and not vim.bo[buf].readonly,
    binary = binary,
  }
end

local MOST_DIAGNOSTICS = 200
local SEVERITIES = { 'error', 'warning', 'info', 'hint' }

---@param text string?
---@return string with invalid bytes and NUL replaced
local function readable(text)
  text = text or ''
  return is_utf8(text) and text:gsub('%z', ' ') or vim.fn.strtrans(text)
end

--- Return the diagnostics of a buffer, the worst first, up to a limit.
---@param buf integer
---@return tideate.Diagnostic[]
function M.diagnostics(buf)
  local found = vim.diagnostic.get(buf)
  table.sort(found, function(a, b)
    if a.severity ~= b.severity then
      return a.severity < b.severity
    end
    return a.lnum < b.lnum
  end)
  return vim.tbl_map(function(one)
    return {
      line = one.lnum + 1,
      column = one.col + 1,
      severity = SEVERITIES[one.severity] or 'hint',
      message = (readable(one.message)),
      source = (readable(one.source)),
    }
  end, vim.list_slice(found, 1, MOST_DIAGNOSTICS))
end

--- Return the lines of the visual selection.
---@return {start: integer, end: integer}?
function M.visual()
  if not api.nvim_get_mode().mode:find('^[vV\22]') then
    return nil
  end
  local from, to = vim.fn.line('v'), vim.fn.line('.')
  return { start = math.min(from, to), ['end'] = math.max(from, to) }
end

---@param win integer
---@return boolean
local function is_ours(win)
  return vim.startswith(api.nvim_buf_get_name(api.nvim_win_get_buf(win)), 'tideate://')
end

--- Return the user's window: from a tideate window, the one they came from.
---@return integer
local function window()
  local current = api.nvim_get_current_win()
  if not is_ours(current) then
    return current
  end
  local wins = api.nvim_tabpage_list_wins(0)
  table.insert(wins, 1, vim.fn.win_getid(vim.fn.winnr('#')))
  for _, win in ipairs(wins) do
    if api.nvim_win_is_valid(win) and not is_ours(win) then
      return win
    end
  end
  return current
end

--- Return the path of the user's file.
---@return string path absolute
function M.path()
  return path_of(M.current())
end

--- Return the folder of the user's file, else the working directory.
---@return string path absolute
function M.folder()
  local path = M.path()
  return path ~= '' and vim.fs.dirname(path) or vim.fn.getcwd()
end

--- Return the user's buffer.
---@return integer
function M.current()
  return api.nvim_win_get_buf(window())
end

--- Capture the context of the user's buffer.
---@param range? {[1]: integer, [2]: integer} lines of the current buffer, 1-based; default: the visual selection
---@return tideate.Context
function M.capture(range)
  local visual = M.visual()
  local win = (range or visual) and api.nvim_get_current_win() or window()
  local cursor = api.nvim_win_get_cursor(win)
  local buf = api.nvim_win_get_buf(win)
  return {
    cwd = vim.fn.getcwd(),
    buffer = M.buffer(buf),
    selection = range and { start = range[1], ['end'] = range[2] } or visual,
    -- {0, 0} during a `-c` command, before the first redraw
    cursor = { line = math.max(cursor[1], 1), column = cursor[2] },
    diagnostics = M.diagnostics(buf),
  }
end

--- Return the context of a run: the given one, or the captured one with the given keys added.
---@param given? table
---@return tideate.Context
function M.complete(given)
  for _, key in ipairs({ 'cwd', 'buffer', 'selection', 'cursor', 'diagnostics' }) do
    if given and given[key] ~= nil then
      return given
    end
  end
  -- an empty table is no context
  return given and next(given) == nil and given or vim.tbl_extend('keep', given or {}, M.capture())
end

return M
