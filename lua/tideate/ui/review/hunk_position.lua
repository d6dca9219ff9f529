--- Position of a hunk in a buffer.
local M = {}

local FAR = 2000 -- lines searched in each direction

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

--- Where a hunk stands if the buffer has changed since it was made: the nearest place with its lines.
---@param buf integer
---@param hunk tideate.Hunk
---@param shift integer by how much the hunk before had moved
---@return integer row
function M.locate(buf, hunk, shift)
  local count = vim.api.nvim_buf_line_count(buf)
  local expected = math.max(0, math.min(hunk.start + shift, count))
  if #hunk.old == 0 or M.stands_at(buf, hunk, expected) then
    return expected
  end
  for distance = 1, math.min(count, FAR) do
    for _, row in ipairs({ expected - distance, expected + distance }) do
      if M.stands_at(buf, hunk, row) then
        return row
      end
    end
  end
  return math.min(expected, math.max(0, count - #hunk.old))
end

return M
