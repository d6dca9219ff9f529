--- Position and height of a dialog, beside the code that it asks about.
local M = {}

local LEAST = 6 -- rows of a readable long text

--- Return the number of rows that wrapped lines take.
---@param lines tideate.Chunk[][]
---@param width integer
---@return integer
local function rows_of(lines, width)
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(require('tideate.ui.text').width(line) / width))
  end
  return rows
end

--- Return the code that a dialog asks about, if it is visible.
---@param dialog tideate.Dialog
---@return tideate.ui.CodeInQuestion?
function M.code(dialog)
  return require('tideate.ui.code_in_question').of(dialog.spec.about)
end

--- Return whether a dialog leaves the code visible.
---@param code tideate.ui.CodeInQuestion
---@param height integer
---@param at_top boolean
---@param free? tideate.Place
---@return boolean
function M.leaves_code(code, height, at_top, free)
  free = free or require('tideate.ui.float_layout').free()
  local top, bottom = free.row, free.row + free.rows
  top, bottom = at_top and top + height + 2 or top, at_top and bottom or bottom - height - 2
  return require('tideate.ui.code_in_question').shows(code, top, bottom)
end

--- Return whether a dialog belongs at the top: the bottom has the code or the line that the user writes.
---@param dialog tideate.Dialog
---@param height integer
---@param free tideate.Place
---@return boolean
local function belongs_at_top(dialog, height, free)
  local code = M.code(dialog)
  if code then
    local seen_above = M.leaves_code(code, height, false, free)
    if not seen_above or not M.leaves_code(code, height, true, free) then
      return not seen_above and M.leaves_code(code, height, true, free)
    end
  end
  local line = vim.fn.screenrow() - free.row
  return line > free.rows - height - 2 and line <= free.rows and line > height + 3
end

--- Return a lower height that leaves the code visible; nil if the code is visible already or never fits.
---@param dialog tideate.Dialog
---@param height integer
---@param at_top boolean
---@return integer?
local function height_beside_code(dialog, height, at_top)
  local code, free = M.code(dialog), require('tideate.ui.float_layout').free()
  if not code or free.rows > height + 2 and M.leaves_code(code, height, at_top, free) then
    return nil
  end
  for lower = math.min(height, free.rows - 2) - 1, LEAST, -1 do
    if M.leaves_code(code, lower, at_top, free) then
      return lower
    end
  end
end

---@param wanted integer columns of the text
---@param free tideate.Place
---@return integer
local function fitting(wanted, free)
  local most = free.columns - 2
  return most - wanted <= require('tideate.ui.window').EDGE and most or wanted
end

--- Compute the float's configuration and lines of a dialog.
---@param dialog tideate.Dialog
---@return table<string, any> config, tideate.Chunk[][] lines
function M.of(dialog)
  local place = require('tideate.ui.float_layout')
  local wanted = dialog.spec.width or 64
  local free = place.free()
  local width = fitting(wanted, free)
  local lines = dialog.spec.lines(width)
  local crowded = rows_of(lines, width) + 2 > free.rows
  if crowded then
    free = place.whole()
    free.rows = math.max(8, free.rows - (dialog.spec.leaves or 0))
    width = fitting(wanted, free)
    lines = dialog.spec.lines(width)
  end
  local height = math.max(1, math.min(rows_of(lines, width), free.rows - 2))
  if not dialog.win or dialog.at_top == nil then
    dialog.at_top = dialog.spec.at_top or belongs_at_top(dialog, height, free)
  end
  local lower = dialog.win and height_beside_code(dialog, height, dialog.at_top)
  if lower then
    height, free, crowded = lower, place.free(), false
  end
  local row = free.row + ((dialog.at_top or crowded) and 0 or math.max(0, free.rows - height - 2))
  dialog.aside = not dialog.called and not dialog:focused() and (dialog.aside or place.covers_cursor(row, height))
  if dialog.aside then
    row, height = place.beside_cursor(height)
  end
  return {
    relative = 'editor',
    width = width,
    height = height,
    row = row,
    col = free.col + math.max(0, math.floor((free.columns - width - 2) / 2)),
  },
    lines
end

return M
