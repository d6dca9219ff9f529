--- The panel's window: below the others, or at the side of a wide screen.
local M = {}

local api = vim.api

local WIDE = 160 -- minimum columns for the side
local WIDEST = 100

---@return boolean
function M.at_side()
  local kind = require('tideate.config').get('ui.panel')
  return kind == 'right' or kind ~= 'below' and vim.o.columns >= WIDE
end

---@param buf integer
---@return integer win entered only in plain normal mode
function M.open(buf)
  local window = require('tideate.ui.window')
  local columns, rows = window.room()
  local config = { split = 'below', win = -1, height = math.max(6, math.floor(rows * 0.45)) }
  if M.at_side() then
    config = { split = 'right', win = -1, width = math.min(WIDEST, math.floor(columns * 0.45)) }
  end
  require('tideate.ui.highlights').define()
  local win = api.nvim_open_win(buf, require('tideate.ui.typing').plain_normal(), config)
  window.list_options(win, {
    fillchars = 'eob: ',
    cursorline = true,
    winfixwidth = M.at_side(),
    winfixheight = not M.at_side(),
  })
  return win
end

--- Return the screen space that floats must leave to the panel.
---@param win integer?
---@return integer columns, integer rows of the panel
function M.taken(win)
  if not require('tideate.ui.window').visible(win) then
    return 0, 0
  end
  local height, width = api.nvim_win_get_height(win --[[@as integer]]), api.nvim_win_get_width(win --[[@as integer]])
  local row, col = unpack(api.nvim_win_get_position(win --[[@as integer]]))
  -- a panel that the user moved elsewhere takes no space of floats
  if col > 0 and col + width >= vim.o.columns then
    return width + 1, 0
  end
  return 0, row > 1 and width >= vim.o.columns and height + 1 or 0
end

return M
