--- Replacement of lines that keeps marks in unchanged text.
local M = {}

---@class tideate.Hunk
---@field start integer first line replaced, 0-based
---@field old string[]
---@field new string[]

---@param text string
---@param at integer 1-based byte
---@return boolean inside whether a byte is within a character
local function inside_character(text, at)
  local byte = text:byte(at)
  return byte ~= nil and byte >= 0x80 and byte < 0xC0
end

--- Return the numbers of equal bytes at the start and end of two texts, in whole characters.
---@param old string
---@param new string
---@return integer prefix, integer suffix
local function common(old, new)
  local shorter = math.min(#old, #new)
  local prefix = 0
  while prefix < shorter and old:byte(prefix + 1) == new:byte(prefix + 1) do
    prefix = prefix + 1
  end
  while prefix > 0 and (inside_character(old, prefix + 1) or inside_character(new, prefix + 1)) do
    prefix = prefix - 1
  end
  local suffix = 0
  while suffix < shorter - prefix and old:byte(#old - suffix) == new:byte(#new - suffix) do
    suffix = suffix + 1
  end
  while suffix > 0 and inside_character(old, #old - suffix + 1) do
    suffix = suffix - 1
  end
  return prefix, suffix
end

--- Return row and column of a byte in joined lines.
---@param text string
---@param row integer the text's first row
---@param offset integer 0-based
---@return integer row, integer column
local function position(text, row, offset)
  local before = text:sub(1, offset)
  local _, breaks = before:gsub('\n', '')
  local last = before:match('[^\n]*$')
  return row + breaks, #last
end

---@param buf integer
---@param row integer
---@param old string
---@param new string
local function replace_text(buf, row, old, new)
  if old == new then
    return
  end
  local prefix, suffix = common(old, new)
  local first, first_column = position(old, row, prefix)
  local last, last_column = position(old, row, #old - suffix)
  local lines = vim.split(new:sub(prefix + 1, #new - suffix), '\n', { plain = true })
  vim.api.nvim_buf_set_text(buf, first, first_column, last, last_column, lines)
end

--- Replace a hunk's lines in a buffer. Whole lines are inserted and deleted as lines; within lines only
--- differing bytes change.
---@param buf integer
---@param start integer 0-based
---@param old string[] current lines
---@param new string[]
function M.replace(buf, start, old, new)
  if #old == 0 or #new == 0 then
    vim.api.nvim_buf_set_lines(buf, start, start + #old, true, new)
  elseif #old == #new then
    for index = #old, 1, -1 do
      replace_text(buf, start + index - 1, old[index], new[index])
    end
  else
    replace_text(buf, start, table.concat(old, '\n'), table.concat(new, '\n'))
  end
end

--- Start a new undo block, so that an edit does not merge with the user's typing.
---@param buf integer
function M.fence(buf)
  vim.api.nvim_buf_call(buf, function()
    -- setting the option closes the block, even to the same value
    vim.cmd('let &l:undolevels = &l:undolevels')
  end)
end

return M
