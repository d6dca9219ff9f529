--- Layout of floats, so that they do not lie over each other.
local M = {}

local NARROWEST = 44 -- columns a dialog can be read in

---@class tideate.Place
---@field row integer
---@field col integer
---@field rows integer with the border
---@field columns integer with the border

---@return tideate.Place all that floats may use
function M.whole()
  local columns, rows = require('tideate.ui.window').room()
  local top = (vim.o.showtabline == 2 or (vim.o.showtabline == 1 and #vim.api.nvim_list_tabpages() > 1)) and 1 or 0
  return { row = top, col = 0, rows = rows, columns = columns }
end

--- The part beside or above the output, if that is a float.
---@return tideate.Place
function M.free()
  local place = M.whole()
  local output = require('tideate.ui.output').float()
  if not output then
    return place
  end
  local config = vim.api.nvim_win_get_config(output)
  if config.col > 0 then
    place.columns = config.col
  else
    place.rows = config.row - place.row
  end
  return place.columns >= NARROWEST and place or M.whole()
end

--- The row in which a float of this height ends above the dialog that stands at the bottom, if one does.
---@param height integer with the border
---@return integer row
function M.above_dialogs(height)
  local place = M.whole()
  local bottom = place.row + place.rows
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local config = vim.api.nvim_win_get_config(win)
    if vim.w[win].tideate_dialog and config.row + config.height + 2 > bottom - height then
      bottom = config.row
    end
  end
  return bottom - height >= place.row and bottom - height or place.row
end

return M
