--- Two texts side by side in a tab page, in Neovim's diff mode.
local M = {}

local api = vim.api
local text = require('tideate.ui.text')
local window = require('tideate.ui.window')

local MOST = 200000 -- bytes with syntax colours

---@class tideate.ui.Side
---@field title string
---@field text? string nil: the side has no text

---@param side tideate.ui.Side
---@param filetype string
---@return integer buf
local function buffer(side, filetype)
  local buf = window.scratch(nil, { bufhidden = 'wipe' })
  local plain = text.plain
  local lines = vim.tbl_map(plain, vim.split(side.text or '', '\n', { plain = true }))
  api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].modifiable = false
  -- syntax without ftplugins: the text is read-only
  vim.bo[buf].syntax = #(side.text or '') <= MOST and filetype or ''
  return buf
end

---@param win integer
---@param side tideate.ui.Side
local function dress(win, side)
  window.options(win, {
    winbar = text.bar({
      { ' ' .. side.title .. ' ', 'TideateTitle' },
      { side.text and '' or 'there is none ', 'TideateHint' },
      { ' q', 'TideateKey' },
      { ' close ', 'TideateHint' },
    }),
  })
  api.nvim_win_call(win, vim.cmd.diffthis)
end

--- Show two texts; `q` closes both.
---@param left tideate.ui.Side
---@param right tideate.ui.Side
---@param path? string chooses their syntax
function M.open(left, right, path)
  local filetype = path and vim.filetype.match({ filename = path }) or ''
  local bufs = { buffer(left, filetype), buffer(right, filetype) }
  require('tideate.ui.highlights').define()
  vim.cmd.tabnew()
  local empty, wins = api.nvim_get_current_buf(), { api.nvim_get_current_win() }
  vim.bo[empty].bufhidden = 'wipe'
  api.nvim_win_set_buf(wins[1], bufs[1])
  wins[2] = api.nvim_open_win(bufs[2], true, { split = 'right', win = wins[1] })
  window.show_as_removed(wins[1])
  local function close()
    vim.tbl_map(window.close, wins)
  end
  for index, side in ipairs({ left, right }) do
    dress(wins[index], side)
    require('tideate.ui.keys').set(bufs[index], { { lhs = { 'q' }, run = close, desc = 'close both' } })
    -- closing one closes both
    api.nvim_create_autocmd('BufWinLeave', { buffer = bufs[index], once = true, callback = vim.schedule_wrap(close) })
  end
end

return M
