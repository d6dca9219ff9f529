--- Placement and width of the drawing's window; finds the box of the current state.
local M = {}

local window = require('tideate.ui.window')

--- Minimum columns for a drawing beside the text; else it takes the whole width.
M.BESIDE = 140

--- Return the rows and byte ranges of the box with a double border.
---@param lines string[]
---@return {row: integer, first: integer, last: integer}[] 0-based, the end excluded
function M.marked_box(lines)
  local found, inside = {}, false
  for row, line in ipairs(lines) do
    local top = line:find('╔', 1, true)
    inside = inside or top ~= nil
    if inside then
      local first, last = math.huge, 0
      for _, border in ipairs({ '╔', '╗', '║', '╟', '╢', '╚', '╝' }) do
        local from, to = line:find(border, 1, true)
        while from do
          first, last = math.min(first, from), math.max(last, to)
          from, to = line:find(border, to + 1, true)
        end
      end
      table.insert(found, { row = row - 1, first = first - 1, last = last })
      if line:find('╚', 1, true) then
        break
      end
    end
  end
  return found
end

--- Return the width of a drawing whose window is not open yet.
---@return integer columns
function M.width()
  local columns = window.room()
  return columns >= M.BESIDE and math.floor(columns * 0.5) or columns
end

--- Open the window left of or above the others, away from the output.
---@param buf integer
---@return integer win
function M.open(buf)
  local columns, rows = window.room()
  local win ---@type integer
  if columns >= M.BESIDE then
    win = window.split(buf, 'left', M.width())
  else
    local height = math.max(6, math.floor(rows * 0.55))
    win = vim.api.nvim_open_win(buf, false, { split = 'above', win = -1, height = height })
  end
  window.list_options(win, { cursorline = false })
  return win
end

return M
