--- Conversion of columns: characters from 1 (host), bytes from 0 (Neovim), UTF-16 units from 0 (protocol).
local M = {}

---@param buf integer
---@param row integer 0-based
---@return string
local function line_of(buf, row)
  return vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
end

--- Return the byte of a character; the end of the line beyond it.
---@param line string
---@param column integer 1-based, in characters
---@return integer byte 0-based
function M.byte(line, column)
  local byte = vim.fn.byteidxcomp(line, column - 1)
  return byte < 0 and #line or byte
end

---@param buf integer
---@param at {line: integer, column: integer} from the host
---@return integer row, integer byte
function M.place(buf, at)
  return at.line - 1, M.byte(line_of(buf, at.line - 1), at.column)
end

---@param buf integer
---@param row integer 0-based
---@param byte integer
---@return {line: integer, character: integer}
function M.to_protocol(buf, row, byte)
  local line = line_of(buf, row)
  return { line = row, character = vim.fn.strutf16len(line:sub(1, byte)) }
end

---@param buf integer
---@param position {line: integer, character: integer}
---@return integer row, integer byte
function M.from_protocol(buf, position)
  local line = line_of(buf, position.line)
  local byte = vim.fn.byteidxcomp(line, position.character, true)
  return position.line, byte < 0 and #line or byte
end

return M
