--- Folds and indentation of guidance blocks, computed from the lines alone.
local M = {}

local MOVE = '^[%w_*]+[ \t]+to[ \t]+[%w_*]+[ \t]*:'
--- Lines that belong in the first column.
local OPENINGS = { '^%s*:', '^%s*[%w_*]+[ \t]+to[ \t]+[%w_*]+[ \t]*:?[ \t]*$' }

---@param line string
---@return boolean
local function indented(line)
  return line:find('^%s+%S') ~= nil
end

--- Return whether the next nonblank line belongs to a block.
---@param lnum integer
---@return boolean
local function block_follows(lnum)
  local following = vim.fn.nextnonblank(lnum + 1)
  return following > 0 and indented(vim.fn.getline(following))
end

--- 'foldexpr': fold a transition with its guidance.
---@return string
function M.fold()
  local lnum = vim.v.lnum
  local line = vim.fn.getline(lnum)
  if not line:find('%S') then
    return block_follows(lnum) and '=' or '0'
  elseif indented(line) then
    return '='
  end
  return line:find(MOVE) and block_follows(lnum) and '>1' or '0'
end

---@param line string
---@return boolean
local function opens(line)
  return line:find(OPENINGS[1]) ~= nil or line:find(OPENINGS[2]) ~= nil
end

---@param lnum integer
---@param line string
---@return boolean whether text is being typed on this line, not just moved to it
local function typed(lnum, line)
  local row, byte = unpack(vim.api.nvim_win_get_cursor(0))
  return vim.api.nvim_get_mode().mode:find('^[iR]') ~= nil and row == lnum and line:sub(1, byte):find('%S') ~= nil
end

---@param lnum integer
---@return boolean whether an empty line or a transition's condition is above
local function may_begin_block(lnum)
  local above = vim.fn.getline(lnum - 1)
  return not above:find('%S') or above:find('^:') ~= nil
end

--- 'indentexpr': indent guidance under its transition, as deep as the line before. After an empty line a new line begins
--- in the first column, so that the next transition is not part of the guidance.
---@return integer
function M.indent()
  local lnum = vim.v.lnum
  local line, above = vim.fn.getline(lnum), vim.fn.getline(lnum - 1)
  if typed(lnum, line) then
    return indented(line) and opens(line) and may_begin_block(lnum) and 0 or -1
  elseif not line:find('%S') and not above:find('%S') then
    return 0
  elseif above:find(MOVE .. '%s*$') and (indented(line) or not opens(line)) then
    return vim.fn.indent(lnum - 1) + vim.fn.shiftwidth()
  end
  return -1
end

return M
