--- Position of a hunk in a buffer.
local M = {}

local FAR = 2000 -- lines searched in each direction

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

--- Where a hunk stands if the buffer has changed since it was made: the nearest place with its lines.
---@param buf integer
---@param hunk tideate.Hunk
---@param shift integer by how much the hunk before had moved
---@return integer row
local function locate(buf, hunk, shift)
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

--- The text of a buffer, as it is compared.
---@param buf integer
---@return string
function M.text(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n') .. '\n'
end

--- What finds the rows of hunks, one after the other. A text that is known from before is compared with the one
--- that stands there now; else the nearest place with a hunk's lines is looked for.
---@param buf integer
---@param file tideate.ReviewFile
---@param base string? the text that they were made for
---@return fun(hunk: tideate.Hunk): integer row
function M.finder(buf, file, base)
  if file.tick == vim.api.nvim_buf_get_changedtick(buf) then
    return function(hunk)
      return hunk.start
    end
  end
  local count = vim.api.nvim_buf_line_count(buf)
  local shift_at = base and shifts(base, M.text(buf))
  local shift = 0
  return function(hunk)
    if shift_at then
      return math.max(0, math.min(hunk.start + shift_at(hunk.start), count))
    end
    local row = locate(buf, hunk, shift)
    shift = row - hunk.start
    return row
  end
end

return M
