--- Position of a hunk in a buffer.
local M = {}

---@type fun(before: string, after: string, options: table<string, any>): any
M.diff = vim.text and vim.text.diff or vim.diff

--- Whether a hunk's lines stand where it says.
---@param buf integer
---@param hunk tideate.Hunk
---@param row integer
---@return boolean
function M.stands_at(buf, hunk, row)
  if row < 0 or row + #hunk.old > vim.api.nvim_buf_line_count(buf) then
    return false
  end
  return vim.deep_equal(vim.api.nvim_buf_get_lines(buf, row, row + #hunk.old, true), hunk.old)
end

--- By how many lines a text grew before each place in it.
---@param before string
---@param now string
---@return fun(start: integer): integer shift
local function shifts(before, now)
  local changes = M.diff(before, now, { result_type = 'indices' }) --[[@as integer[][] ]]
  local index, shift = 1, 0
  return function(start)
    while changes[index] do
      local at, old, _, new = unpack(changes[index])
      if (old == 0 and at or at - 1 + old) > start then
        break
      end
      index, shift = index + 1, shift + new - old
    end
    return shift
  end
end

--- What finds the rows of hunks, one after the other, by comparing the text that they were made for with the one
--- that stands there now. A place is never guessed: of a hunk whose lines were changed it is where they stood.
---@param buf integer
---@param before string the text that they were made for
---@return fun(hunk: tideate.Hunk): integer row
function M.finder(buf, before)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local now = table.concat(lines, '\n')
  local shift_at = now ~= before and shifts(before .. '\n', now .. '\n')
  return function(hunk)
    local shift = shift_at and shift_at(hunk.start) or 0
    return math.max(0, math.min(hunk.start + shift, #lines))
  end
end

return M
