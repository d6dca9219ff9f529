--- Find the current rows of a review's hunks in a changed buffer by comparison with the base text.
local M = {}

local api = vim.api

---@type fun(before: string, after: string, options: table<string, any>): any
M.diff = vim.text and vim.text.diff or vim.diff

--- Return whether the lines of a hunk are at a row.
---@param buf integer
---@param hunk tideate.Hunk
---@param row integer
---@return boolean
function M.stands_at(buf, hunk, row)
  if row < 0 or row + #hunk.old > api.nvim_buf_line_count(buf) then
    return false
  end
  return vim.deep_equal(api.nvim_buf_get_lines(buf, row, row + #hunk.old, true), hunk.old)
end

local MATCHED = 60 -- lines of a change whose lines are matched

---@class tideate.LineChange
---@field first integer 0-based
---@field last integer not included
---@field new integer number of new lines

--- Match the lines of a change.
---@param one integer[] a change
---@param before string[]
---@param now string[]
---@return integer[][]
local function matched(one, before, now)
  local old = vim.list_slice(before, one[1], one[1] + one[2] - 1)
  local new = vim.list_slice(now, one[3], one[3] + one[4] - 1)
  local texts = { table.concat(old, '\n') .. '\n', table.concat(new, '\n') .. '\n' }
  local parts = M.diff(texts[1], texts[2], { result_type = 'indices', linematch = MATCHED }) --[[@as integer[][] ]]
  return vim.tbl_map(function(part)
    return { one[1] + part[1] - 1, part[2], one[3] + part[3] - 1, part[4] }
  end, parts)
end

--- Return the changes of a text in order. Lines are matched within a change only: matching a whole text is quadratic.
---@param before string
---@param now string
---@return tideate.LineChange[]
local function changes_of(before, now)
  local found, lines = {}, nil ---@type integer[][], string[][]?
  for _, one in ipairs(M.diff(before, now, { result_type = 'indices' })) do
    local size = one[2] + one[4]
    if one[2] == 0 or one[4] == 0 or size == 2 or size > MATCHED then
      table.insert(found, one)
    else
      lines = lines or { vim.split(before, '\n', { plain = true }), vim.split(now, '\n', { plain = true }) }
      vim.list_extend(found, matched(one, lines[1], lines[2]))
    end
  end
  return vim.tbl_map(function(one)
    local first = one[2] == 0 and one[1] or one[1] - 1
    return { first = first, last = first + one[2], new = one[4] }
  end, found)
end

--- Return how many lines a text grew before a place.
---@param before string
---@param now string
---@return fun(start: integer): integer shift
local function shifts(before, now)
  local changes = changes_of(before, now)
  local index, shift = 1, 0
  return function(start)
    while changes[index] do
      local one = changes[index]
      if one.last > start then
        break
      end
      index, shift = index + 1, shift + one.new - (one.last - one.first)
    end
    return shift
  end
end

--- Return a lookup of the current lines of a hunk; nil if a change crosses its edge.
---@param buf integer
---@param before string base text of the hunks
---@return fun(hunk: tideate.Hunk): string[]?
function M.lines_now(buf, before)
  local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
  local changes = changes_of(before .. '\n', table.concat(lines, '\n') .. '\n')
  return function(hunk)
    local from, to = hunk.start, hunk.start + #hunk.old
    local shift, grown = 0, 0
    for _, one in ipairs(changes) do
      local size = one.new - (one.last - one.first)
      if one.last <= from then
        shift = shift + size
      elseif one.first >= to then
        break
      elseif one.first < from or one.last > to then
        return nil
      else
        grown = grown + size
      end
    end
    return vim.list_slice(lines, from + shift + 1, to + shift + grown)
  end
end

--- Return a lookup of the rows of hunks, for hunks in order, by comparing the base text with the current one. A place is
--- never guessed: for changed lines it is their former position.
---@param buf integer
---@param before string base text of the hunks
---@return fun(hunk: tideate.Hunk): integer row
function M.finder(buf, before)
  local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
  local now = table.concat(lines, '\n')
  local shift_at = now ~= before and shifts(before .. '\n', now .. '\n')
  return function(hunk)
    local shift = shift_at and shift_at(hunk.start) or 0
    return math.max(0, math.min(hunk.start + shift, #lines))
  end
end

return M
