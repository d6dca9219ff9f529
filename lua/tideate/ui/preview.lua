--- A read-only text in a float.
local M = {}

local api = vim.api

local MOST = 200000 -- bytes with syntax colours

--- Show a text; `q`, `<Esc>` or leaving closes it.
---@param title string
---@param text string
---@param filetype string
---@param about? string run; its lines stay visible if there is space
---@return integer win
function M.open(title, text, filetype, about)
  local window, keys = require('tideate.ui.window'), require('tideate.ui.keys')
  local lines = require('tideate.ui.readable_text').lines(text)
  local buf = window.scratch()
  api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].modifiable = false
  -- syntax without ftplugins: the text is read-only
  if #text > MOST then
    vim.bo[buf].syntax = ''
  elseif not (filetype == 'markdown' and pcall(vim.treesitter.start, buf, 'markdown')) then
    vim.bo[buf].syntax = filetype
  end
  local widest = 40
  for _, line in ipairs(lines) do
    widest = math.max(widest, vim.fn.strdisplaywidth(line))
  end
  local back = api.nvim_get_current_win()
  local width = math.min(widest, 110)
  local win = window.over(buf, window.centered(width, math.max(#lines, 3), {
    title = { { (' %s '):format(title), 'TideateTitle' } },
    footer = require('tideate.ui.text').keys({ { 'q', 'close' } }),
    zindex = 115,
  }))
  -- only the window knows how its lines wrap
  local rows = api.nvim_win_text_height(win, {}).all
  local place = window.centered(width, math.max(rows, 3), { relative = 'editor' })
  local code = about and require('tideate.ui.code_in_question').of(about)
  if code then
    local all = require('tideate.ui.float_layout').whole()
    local beside = require('tideate.ui.code_in_question').beside
    place.row, place.height = beside(code, place.row, place.height, all.row, all.row + all.rows)
  end
  api.nvim_win_set_config(win, place)
  local function close()
    window.close(win)
    if window.visible(back) then
      api.nvim_set_current_win(back)
    end
  end
  keys.set(buf, { { lhs = { 'q', '<Esc>' }, run = close, desc = 'close' } })
  api.nvim_create_autocmd('WinLeave', {
    buffer = buf,
    once = true,
    callback = vim.schedule_wrap(function()
      window.close(win)
    end),
  })
  return win
end

return M
