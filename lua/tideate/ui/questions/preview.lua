--- Float that shows a read-only text; `q`, `<Esc>` or leaving it closes it.
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
  local window = require('tideate.ui.window')
  local lines = require('tideate.ui.text.readable').lines(text)
  local buf = window.scratch(nil, { bufhidden = 'wipe' })
  api.nvim_buf_set_lines(buf, 0, -1, true, lines)
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
  local width = math.min(widest, 110)
  local win = window.popup(buf, window.centered(width, math.max(#lines, 3), {
    title = { { (' %s '):format(title), 'TideateTitle' } },
    footer = require('tideate.ui.text').keys({ { 'q', 'close' } }),
    zindex = 115,
  }), { 'q', '<Esc>' })
  -- only the window knows how its lines wrap
  local rows = api.nvim_win_text_height(win, {}).all
  local place = window.centered(width, math.max(rows, 3), { relative = 'editor' })
  local code = about and require('tideate.ui.questions.code_in_question').of(about)
  if code then
    local all = require('tideate.ui.window.float_layout').whole()
    local beside = require('tideate.ui.questions.code_in_question').beside
    place.row, place.height = beside(code, place.row, place.height, all.row, all.row + all.rows)
  end
  api.nvim_win_set_config(win, place)
  return win
end

return M
