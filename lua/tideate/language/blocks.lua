--- Folds and indentation of guidance blocks, read off the lines alone: they work without the host.
local M = {}

local MOVE = '^[%w_*]+[ \t]+to[ \t]+[%w_*]+[ \t]*:'

---@param line string
---@return boolean
local function indented(line)
  return line:find('^%s+%S') ~= nil
end

--- Whether the first line with text after this one belongs to a block.
---@param lnum integer
---@return boolean
local function block_follows(lnum)
  local following = vim.fn.nextnonblank(lnum + 1)
  return following > 0 and indented(vim.fn.getline(following))
end

--- 'foldexpr': a transition with its guidance is one fold.
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

--- 'indentexpr': guidance stands under its transition, as deep as the line before.
---@return integer
function M.indent()
  local before = vim.fn.getline(vim.v.lnum - 1)
  if before:find(MOVE .. '%s*$') then
    return vim.fn.indent(vim.v.lnum - 1) + vim.fn.shiftwidth()
  end
  return -1
end

return M
