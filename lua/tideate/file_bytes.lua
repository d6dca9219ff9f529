--- The bytes of a buffer's file, as they are and as `:write` would make them.
local M = {}

local api = vim.api

--- Encodings whose names iconv may read in the machine's byte order.
local SWAPPED = { ['utf-16'] = 'utf-16le', ['ucs-2'] = 'ucs-2le' }
local LINE_ENDS = { unix = '\n', dos = '\r\n', mac = '\r' }
local MARK = '\239\187\191'
--- Events of autocommands that read or write files instead of Neovim.
local IN_PLACE = { 'BufReadCmd', 'BufWriteCmd', 'FileReadCmd', 'FileWriteCmd' }
--- Events of autocommands that may convert a text after reading.
local AROUND = { 'BufReadPre', 'BufReadPost', 'FileReadPre', 'FileReadPost' }
--- Patterns of autocommands for every file; no codec uses them.
local ANY_FILE = { ['*'] = true, ['*.*'] = true, ['?*'] = true, ['**'] = true }

--- Return the encoding of a buffer's file; empty for UTF-8 and binary.
---@param buf integer
---@return string
local function encoding_of(buf)
  local name = vim.bo[buf].fileencoding
  return (vim.bo[buf].binary or name == 'utf-8') and '' or name
end

---@param text string
---@param encoding string
---@return string? bytes nil if the encoding lacks a character of the text
local function encode(text, encoding)
  if encoding == '' or text == '' then
    return text
  end
  local name = SWAPPED[encoding] or encoding
  local bytes = vim.iconv(text, 'utf-8', name)
  -- iconv replaces a missing character
  if bytes == nil or vim.iconv(bytes, name, 'utf-8') ~= text then
    return
  end
  return SWAPPED[encoding] and bytes:gsub('(.)(.)', '%2%1') or bytes
end

--- Return the characters that the encoding of a buffer's file lacks, without duplicates.
---@param buf integer
---@param text string
---@return string[] characters, string encoding
function M.missing(buf, text)
  local encoding, missing, seen = encoding_of(buf), {}, {} ---@type string, string[], table<string, boolean>
  if encode(text, encoding) then
    return missing, encoding
  end
  for character in text:gmatch('[%z\1-\127\192-\255][\128-\191]*') do
    if not seen[character] and not encode(character, encoding) then
      table.insert(missing, character)
    end
    seen[character] = true
  end
  return missing, encoding
end

---@param buf integer
---@return string lines joined by \n
local function text_of(buf)
  return table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
end

--- Return the bytes that `:write` makes of a text under 'nofixendofline'.
---@param buf integer
---@param text string lines joined by \n
---@return string? bytes nil if the encoding lacks a character
function M.of(buf, text)
  local options, encoding = vim.bo[buf], encoding_of(buf)
  local line_end = options.binary and '\n' or LINE_ENDS[options.fileformat]
  if line_end == '\r' then
    text = text:gsub('[\r\n]', { ['\r'] = '\n', ['\n'] = '\r' })
  elseif line_end == '\r\n' then
    text = text:gsub('\n', line_end)
  end
  if options.endofline then
    text = text .. line_end
  end
  if options.bomb and not options.binary then
    text = MARK .. text
  end
  local bytes = encode(text, encoding)
  return bytes and not options.binary and options.endoffile and bytes .. '\26' or bytes
end

---@param path string
---@return string? nil without a readable regular file
local function read(path)
  local stat = vim.uv.fs_stat(path)
  local file = stat and stat.type == 'file' and io.open(path, 'rb')
  if not file then
    return
  end
  local bytes = file:read('*a')
  file:close()
  return bytes
end

--- Return whether a buffer's file has exactly the bytes that `:write` makes of its text.
---@param buf integer
---@return boolean
function M.holds_text(buf)
  local stands = read(api.nvim_buf_get_name(buf))
  if stands == nil then
    return false
  elseif stands == M.of(buf, text_of(buf)) then
    return true
  end
  -- Lua reads a buffer without lines as one empty line
  return text_of(buf) == '' and (stands == '' or stands == encode(MARK, encoding_of(buf)))
end

--- Return whether most lines of a buffer's file are in its text.
---@param buf integer
---@return boolean
local function holds_most_lines(buf)
  local own, encoding = {}, encoding_of(buf) ---@type table<string, boolean>, string
  for _, line in ipairs(api.nvim_buf_get_lines(buf, 0, -1, true)) do
    own[encode(line, encoding) or ''] = true
  end
  local all, same = 0, 0
  local line_end = not vim.bo[buf].binary and LINE_ENDS[vim.bo[buf].fileformat] or '\n'
  local stands = read(api.nvim_buf_get_name(buf)) or ''
  for _, line in ipairs(vim.split(stands, encode(line_end, encoding) or line_end, { plain = true })) do
    if own[line] then
      all, same = all + 1, same + (line == '' and 0 or 1)
    elseif line:find('\n', 1, true) or (encoding == '' and require('tideate.context').is_binary({ line })) then
      return false -- another line end or other characters in the buffer
    else
      all = all + 1
    end
  end
  return same * 2 >= all
end

--- Find an autocommand for the file of a buffer.
---@param buf integer
---@param events string[]
---@param special boolean ignore those for every file and for this buffer alone
---@return string? event
local function autocommand(buf, events, special)
  local path = api.nvim_buf_get_name(buf)
  local name = vim.fs.basename(path)
  for _, found in ipairs(api.nvim_get_autocmds({ event = events })) do
    if found.buflocal then
      if found.buffer == buf and not special then
        return found.event
      end
    elseif not (special and ANY_FILE[found.pattern]) then
      local subject = found.pattern:find('/', 1, true) and path or name
      if vim.fn.match(subject, '\\C' .. vim.fn.glob2regpat(found.pattern)) >= 0 then
        return found.event
      end
    end
  end
end

--- Return the event whose autocommands read or write the buffer's file instead of Neovim.
---@param buf integer
---@return string?
function M.replaced_by(buf)
  return autocommand(buf, IN_PLACE, false)
end

--- Return whether a modified text is probably unconverted: no autocommand converts it after reading, and it has most of
--- the file's lines.
---@param buf integer
---@return boolean
function M.seems_plain(buf)
  return not autocommand(buf, AROUND, true) and holds_most_lines(buf)
end

return M
