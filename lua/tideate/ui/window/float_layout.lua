--- Layout of floats, so that they do not lie over each other.
local M = {}

local api = vim.api

local ASIDE = 4 -- rows of a float beside the line that the user is writing
local NARROWEST = 44 -- columns of a readable dialog

---@class tideate.Place
---@field row integer
---@field col integer
---@field rows integer with the border
---@field columns integer with the border

---@return tideate.Place the whole area for floats
function M.whole()
  local window = require('tideate.ui.window')
  local columns, rows = window.room()
  return { row = window.tabline(), col = 0, rows = rows, columns = columns }
end

--- Return the area beside or above the output window, if that is a float.
---@return tideate.Place
function M.free()
  local place = M.whole()
  local output = require('tideate.ui.output').float()
  if not output then
    return place
  end
  local config = api.nvim_win_get_config(output)
  if config.col > 0 then
    place.columns = config.col
  else
    place.rows = config.row - place.row
  end
  return place.columns >= NARROWEST and place or M.whole()
end

--- Return the row of a float that ends above the dialog at the bottom of the screen.
---@param height integer with the border
---@return integer row
function M.above_dialogs(height)
  local place = M.whole()
  local bottom = place.row + place.rows
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local config = api.nvim_win_get_config(win)
    if vim.w[win].tideate_dialog and config.row + config.height + 2 > bottom - height then
      bottom = config.row
    end
  end
  return bottom - height >= place.row and bottom - height or place.row
end

--- Return the screen row of the cursor, 0-based.
---@return integer
local function cursor_row()
  return vim.fn.screenpos(0, vim.fn.line('.'), vim.fn.col('.')).row - 1
end

--- Return whether a float at this position hides the line of the cursor.
---@param row integer
---@param height integer of the text
---@return boolean
function M.covers_cursor(row, height)
  local cursor = cursor_row()
  return cursor >= row and cursor < row + height + 2
end

--- Return the position of a small float that leaves the line of the cursor and the next one visible.
---@param height integer preferred height
---@return integer row, integer height
function M.beside_cursor(height)
  local place, cursor = M.whole(), cursor_row()
  local bottom = place.row + place.rows
  local above, below = cursor - 1 - place.row, bottom - cursor - 2
  height = math.max(1, math.min(height, ASIDE, math.max(above, below) - 2))
  return below >= above and bottom - height - 2 or place.row, height
end

--- Return whether rows overlap a dialog, or the cursor's line and its neighbours.
---@param row integer
---@param height integer with the border
---@return boolean
local function covers_anything(row, height)
  local cursor = cursor_row()
  if cursor >= row - 1 and cursor <= row + height then
    return true
  end
  return vim.iter(api.nvim_tabpage_list_wins(0)):any(function(win)
    local config = api.nvim_win_get_config(win)
    return vim.w[win].tideate_dialog and config.row < row + height and config.row + config.height + 2 > row
  end)
end

--- Return the row of a notice: at the bottom, or at the top if it would hide something there.
---@param height integer with the border
---@return integer row
function M.notice_row(height)
  local top, bottom = M.whole().row, M.above_dialogs(height)
  return covers_anything(bottom, height) and not covers_anything(top, height) and top or bottom
end

return M
