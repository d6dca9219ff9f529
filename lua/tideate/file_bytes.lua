--- The bytes of a buffer's file: as `:write` would make them, and as they are.
local M = {}

--- Encodings with the higher byte first, by those with the lower one first: iconv may take the former for the machine's.
local SWAPPED = { ['utf-16'] = 'utf-16le', ['ucs-2'] = 'ucs-2le' }
local LINE_ENDS = { unix = '\n', dos = '\r\n', mac = '\r' }
local MARK = '\239\187\191'
--- Events whose autocommands read or write a file in Neovim's place.
local IN_PLACE = { 'BufReadCmd', 'BufWriteCmd', 'FileReadCmd', 'FileWriteCmd' }
--- Events whose autocommands may translate a text after it is read.
local AROUND = { 'BufReadPre', 'BufReadPost', 'FileReadPre', 'FileReadPost' }
--- Patterns of autocommands that fit files of every kind; no codec has these.
local ANY_FILE = { ['*'] = true, ['*.*'] = true, ['?*'] = true, ['**'] = true }

--- The encoding that a buffer's text is written in; empty if it is written as it is.
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
  -- for a character that is missing iconv gives another one
  if bytes == nil or vim.iconv(bytes, name, 'utf-8') ~= text then
    return
  end
  return SWAPPED[encoding] and bytes:gsub('(.)(.)', '%2%1') or bytes
end

--- The characters of a text that the encoding of a buffer's file lacks, each once.
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
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
end

--- The bytes that `:write` makes of a text in a buffer under 'nofixendofline'.
---@param buf integer
---@param text string lines joined by \n
---@return string? bytes nil if the encoding of its file lacks a character
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
---@return string? nil if there is no regular file that can be read
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

--- Tell whether a buffer's file holds exactly what `:write` makes of its text.
---@param buf integer
---@return boolean
function M.holds_text(buf)
  local stands = read(vim.api.nvim_buf_get_name(buf))
  if stands == nil then
    return false
  elseif stands == M.of(buf, text_of(buf)) then
    return true
  end
  -- a buffer without a line has one empty line for Lua
  return text_of(buf) == '' and (stands == '' or stands == encode(MARK, encoding_of(buf)))
end

--- Tell whether most lines of a buffer's file are lines of its text.
---@param buf integer
---@return boolean
local function holds_most_lines(buf)
  local own, encoding = {}, encoding_of(buf) ---@type table<string, boolean>, string
  for _, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, true)) do
    own[encode(line, encoding) or ''] = true
  end
  local all, same = 0, 0
  local line_end = not vim.bo[buf].binary and LINE_ENDS[vim.bo[buf].fileformat] or '\n'
  local stands = read(vim.api.nvim_buf_get_name(buf)) or ''
  for _, line in ipairs(vim.split(stands, encode(line_end, encoding) or line_end, { plain = true })) do
    if own[line] then
      all, same = all + 1, same + (line == '' and 0 or 1)
    elseif line:find('\n', 1, true) or (encoding == '' and require('tideate.context').is_binary({ line })) then
      return false -- in the buffer it has another line end, or other characters
    else
      all = all + 1
    end
  end
  return same * 2 >= all
end

--- Find an autocommand for the file of a buffer.
---@param buf integer
---@param events string[]
---@param special boolean whether those for files of every kind and for this buffer alone do not count
---@return string? event
local function autocommand(buf, events, special)
  local path = vim.api.nvim_buf_get_name(buf)
  local name = vim.fs.basename(path)
  for _, found in ipairs(vim.api.nvim_get_autocmds({ event = events })) do
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

--- The event whose autocommands read or write the file of a buffer in Neovim's place, if there are any.
---@param buf integer
---@return string?
function M.replaced_by(buf)
  return autocommand(buf, IN_PLACE, false)
end

--- Tell whether a text with unsaved changes seems to be of the file's own kind: nothing translates it after it is
--- read, and most of the file's lines are in it.
---@param buf integer
---@return boolean
function M.seems_plain(buf)
  return not autocommand(buf, AROUND, true) and holds_most_lines(buf)
end

return M
