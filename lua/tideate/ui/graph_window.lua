--- Where a drawing stands, and where in it the marked state is.
local M = {}

--- The rows and bytes of the box with the double border.
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

--- Where the output of a run, on the right or below, leaves it in sight.
---@param buf integer
---@return integer win
function M.open(buf)
  local window = require('tideate.ui.window')
  local columns, rows = window.room()
  local wide = columns >= 120
  local win = wide and window.split(buf, 'left', math.floor(columns * 0.5))
    or window.split(buf, 'above', math.max(6, math.floor(rows * 0.6)))
  window.options(win, {
    wrap = false,
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    foldcolumn = '0',
    foldenable = false,
    statuscolumn = '',
    spell = false,
    list = false,
    cursorline = false,
    colorcolumn = '',
    winfixbuf = true,
  })
  return win
end

return M
