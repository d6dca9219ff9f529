--- Escape untrusted text: characters that a terminal obeys, hides or reorders.
--- `tideate_core/util/escaping.py` does the same in Python; a test compares both.
local M = {}

local CHUNK = 65536 -- bytes per piece
local MOST_MARKS = 3
local CHARACTER = '[%z\1-\127\194-\244]?[\128-\191]*'
local FORM, KEYCAP, JOINER, NON_JOINER = 0xfe0f, 0x20e3, 0x200d, 0x200c
local NAMED = { ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t' }

---@class tideate.ui.Characters
---@field bytes string[]
---@field codes integer[] -1: invalid UTF-8
---@field hidden table<integer, boolean> escaped characters by index

---@type table<string, table<integer, boolean>>
local known = {}

--- Return whether a code point is in a table of ranges.
---@param name string
---@param code integer?
---@return boolean
local function is(name, code)
  if not code then
    return false
  end
  known[name] = known[name] or {}
  local found = known[name][code]
  if found == nil then
    found = false
    for _, range in ipairs(require('tideate.ui.text.escaping_tables')[name]) do
      found = found or (code >= range[1] and code <= range[2])
    end
    known[name][code] = found
  end
  return found
end

---@param bytes string
---@return integer code -1: invalid UTF-8
local function code_of(bytes)
  local first, size = bytes:byte(), #bytes
  if size == 1 then
    return first < 0x80 and first or -1
  end
  local lead = size == 2 and 0xc0 or size == 3 and 0xe0 or size == 4 and 0xf0 or 256
  local code = first - lead
  if code < 0 or code >= (size == 2 and 0x20 or size == 3 and 0x10 or 0x08) then
    return -1
  end
  for index = 2, size do
    code = code * 64 + bytes:byte(index) - 0x80
  end
  local least = ({ 0, 0x80, 0x800, 0x10000 })[size]
  return code >= least and code <= 0x10ffff and code or -1
end

---@param text string
---@return tideate.ui.Characters
local function characters(text)
  local bytes, codes, at = {}, {}, 1
  while at <= #text do
    local first = text:byte(at)
    local size = first < 0xc0 and 1 or first < 0xe0 and 2 or first < 0xf0 and 3 or 4
    local one = text:match('^' .. CHARACTER, at):sub(1, size)
    local code = #one == size and code_of(one) or -1
    one = code >= 0 and one or text:sub(at, at)
    bytes[#bytes + 1], codes[#codes + 1] = one, code
    at = at + #one
  end
  return { bytes = bytes, codes = codes, hidden = {} }
end

---@param code integer?
---@return boolean
local function is_ascii_letter(code)
  return code ~= nil and ((code >= 65 and code <= 90) or (code >= 97 and code <= 122))
end

---@param found tideate.ui.Characters
---@param first integer
---@param last integer
---@param alone boolean also hide words of look-alikes only
local function unmask_word(found, first, last, alone)
  local ascii, wholly = false, true
  for index = first, last do
    ascii = ascii or is_ascii_letter(found.codes[index])
    wholly = wholly and is('looks', found.codes[index])
  end
  for index = first, (ascii or (alone and wholly)) and last or 0 do
    found.hidden[index] = is('looks', found.codes[index]) or nil
  end
end

--- Return whether a sign is between characters of paths, options or hosts.
---@param found tideate.ui.Characters
---@param index integer
---@return boolean
local function is_within_name(found, index)
  local function in_name(at)
    local code = found.codes[at]
    return is_ascii_letter(code) or code == 46 or (code ~= nil and code >= 48 and code <= 57)
  end
  return (found.hidden[index - 1] == true or in_name(index - 1)) and not found.hidden[index + 1] and in_name(index + 1)
end

--- Hide look-alikes of ASCII letters and signs in a part between blanks.
---@param found tideate.ui.Characters
---@param first integer
---@param last integer
---@param strict boolean
local function unmask(found, first, last, strict)
  local alone, word = strict, nil ---@type boolean, integer?
  for index = first, last do
    alone = alone or is_ascii_letter(found.codes[index])
  end
  for index = first, last + 1 do
    local code = index <= last and found.codes[index] or nil
    if code and (is('letters', code) or is('looks', code)) then
      word = word or index
    elseif word then
      unmask_word(found, word, index - 1, alone)
      word = nil
    end
  end
  local signs = {}
  for index = first, last do
    if is('signs', found.codes[index]) and is_within_name(found, index) then
      signs[#signs + 1] = index
    end
  end
  for _, index in ipairs(signs) do
    found.hidden[index] = true
  end
end

--- Return whether an odd character only selects the form of its neighbour.
---@param found tideate.ui.Characters
---@param index integer
---@return boolean
local function is_kept(found, index)
  local codes = found.codes
  local function is_key(code)
    return code ~= nil and ((code >= 48 and code <= 57) or code == 35 or code == 42)
  end
  local code, before, after = codes[index], codes[index - 1], codes[index + 1]
  local bare = before == FORM and codes[index - 2] or before
  if found.hidden[index - 1] then
    return false
  elseif code == FORM then
    return is('emoji', before) or (is_key(before) and after == KEYCAP)
  elseif code == KEYCAP then
    return before == FORM and is_key(bare)
  elseif (code == JOINER or code == NON_JOINER) and is('joined', before) and is('joined', after) then
    return true
  end
  return code == JOINER and is('emoji', bare) and is('emoji', after)
end

--- Hide invisible characters and stacked marks.
---@param found tideate.ui.Characters
---@param strict boolean
local function hide_odd(found, strict)
  local marks = 0
  for index, code in ipairs(found.codes) do
    local is_mark = is('marks', code)
    marks = is_mark and marks + 1 or 0
    if is_mark then
      local base = found.codes[index - marks] or 0
      local seen = base >= 0x80 and not found.hidden[index - marks] and marks <= MOST_MARKS
      found.hidden[index] = not seen or found.hidden[index]
    elseif code < 0 or (strict and (is('signs', code) or code == 9 or code == 10)) then
      found.hidden[index] = true
    elseif is('odd', code) then
      found.hidden[index] = found.hidden[index] or strict or not is_kept(found, index)
    end
  end
end

---@param bytes string one character, or an invalid byte
---@param code integer
---@return string
local function escaped(bytes, code)
  if NAMED[bytes] then
    return NAMED[bytes]
  elseif code < 0x80 then
    return ('\\x%02x'):format(bytes:byte())
  end
  return (code < 0x10000 and '\\u%04x' or '\\U%08x'):format(code)
end

---@param text string
---@param strict boolean
---@return string
local function shown(text, strict)
  local found = characters(text)
  local first = 1
  for index = 1, #found.codes + 1 do
    local code = found.codes[index]
    if code == nil or code == 32 or code == 9 or code == 10 then
      unmask(found, first, index - 1, strict)
      first = index + 1
    end
  end
  hide_odd(found, strict)
  for index in pairs(found.hidden) do
    if found.hidden[index] then
      found.bytes[index] = escaped(found.bytes[index], found.codes[index])
    end
  end
  return table.concat(found.bytes)
end

--- Transform a long text in pieces cut between characters.
---@param text string
---@param change fun(piece: string): string
---@return string
local function in_pieces(text, change)
  local parts, at = {}, 1
  while at <= #text do
    local stop = math.min(at + CHUNK - 1, #text)
    while stop < #text and stop > at and text:byte(stop + 1) >= 0x80 and text:byte(stop + 1) < 0xc0 do
      stop = stop - 1
    end
    parts[#parts + 1] = change(text:sub(at, stop))
    at = stop + 1
  end
  return table.concat(parts)
end

--- Escape characters that a terminal obeys, hides or reorders, and look-alikes of ASCII letters. Line feeds and tabs
--- stay.
---@param text string
---@return string
function M.text(text)
  if not text:find('[^\9\10\32-\126]') then
    return text
  end
  return in_pieces(text, function(piece)
    return shown(piece, false)
  end)
end

--- Escape a name unambiguously on one line; a backslash is doubled.
---@param name string
---@return string
function M.name(name)
  name = name:gsub('\\', '\\\\')
  if not name:find('[^\32-\126]') then
    return name
  end
  return in_pieces(name, function(piece)
    return shown(piece, true)
  end)
end

--- Write many blanks in a row as `\x20{200}`: they could push text out of sight.
---@param line string
---@return string
function M.shortened_runs(line)
  line = line:gsub((' '):rep(100) .. ' *', function(run)
    return (' \\x20{%d} '):format(#run)
  end)
  return (line:gsub(('\t'):rep(25) .. '\t*', function(run)
    return (' \\t{%d} '):format(#run)
  end))
end

return M
