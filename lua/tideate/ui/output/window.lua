--- Placement and head of the output window.
local M = {}

local api = vim.api
local window = require('tideate.ui.window')

local FOR_CODE = 22 -- rows left for a question and its code, if the screen has as many
local LOWEST = 4 -- rows
local GRAPH_BESIDE = require('tideate.ui.graph.window').BESIDE

---@return table<string, any> configuration of a float that leaves the code readable
function M.float_config()
  local columns, lines = window.room()
  local taken_columns, taken_rows = require('tideate.ui.panel').taken()
  columns, lines = columns - taken_columns, lines - taken_rows
  local width, height, row, col
  local graph_wants_width = columns < GRAPH_BESIDE and require('tideate.ui.graph').is_visible()
  if columns >= 120 and not graph_wants_width then
    width = math.floor(columns * 0.45)
    height = lines - 2
    row, col = vim.o.showtabline == 2 and 1 or 0, columns - width - 2
  else
    width = columns - 2
    height = math.max(5, math.floor(lines * 0.45))
    if require('tideate.ui.questions.dialog').shows_code() then
      height = math.max(LOWEST, math.min(height, lines - 2 - FOR_CODE))
    end
    row, col = lines - height - 2, 0
  end
  return { width = width, height = math.max(1, height), row = row, col = col, zindex = 40 }
end

--- Open the window as configured, without entering it.
---@param buf integer
---@return integer win, string kind
function M.open(buf)
  local kind = require('tideate.config').get('ui.output')
  if kind == 'split' then
    return window.split(buf, 'below', math.max(6, math.floor(vim.o.lines * 0.35))), kind
  elseif kind == 'vsplit' then
    return window.split(buf, 'right', math.floor(vim.o.columns * 0.45)), kind
  elseif kind == 'tab' then
    local here = api.nvim_get_current_tabpage()
    vim.cmd('tab sbuffer ' .. buf)
    local win = api.nvim_get_current_win()
    api.nvim_set_current_tabpage(here)
    return win, kind
  end
  local config = vim.tbl_extend('force', M.float_config(), { title = ' tideate ', footer = ' ' })
  return window.float(buf, false, config), 'float'
end

--- Draw the title, the steps and the keys.
---@param win integer
---@param kind string
---@param run tideate.Run
---@param keys tideate.Key[]
function M.head(win, kind, run, keys)
  local text, progress = require('tideate.ui.text'), require('tideate.ui.progress')
  local width = api.nvim_win_get_width(win)
  local title = progress.title(run)
  if kind == 'float' then
    local footer = text.keys(require('tideate.ui.keys').words(keys), width)
    window.configure(win, { title = text.fit_chunks(title, width), footer = footer })
    window.options(win, { winbar = text.bar(progress.fitting_steps(run, width)) })
  else
    local steps = progress.fitting_steps(run, math.max(0, width - text.width(title)))
    window.options(win, { winbar = text.bar(text.fit_chunks(vim.list_extend(title, steps), width)) })
  end
end

--- Scroll to the end of the text.
---@param win integer
---@param buf integer
function M.to_end(win, buf)
  local last = api.nvim_buf_get_lines(buf, -2, -1, true)[1]
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), #last })
end

--- Set the window options of a text for reading.
---@param win integer
function M.set_reading_options(win)
  local reasoning = require('tideate.ui.transcript.reasoning')
  local options = vim.tbl_extend('force', reasoning.options, {
    wrap = true,
    linebreak = true,
    smoothscroll = true,
    scrolloff = 0,
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    -- a margin; with a status column Neovim misplaces rows of a line that begins above the window
    statuscolumn = '',
    foldcolumn = '1',
    spell = false,
    list = false,
    winfixbuf = true,
  })
  window.options(win, options)
  reasoning.dim(win)
end

--- Return whether the window may take the focus: in normal mode, and not from the panel.
---@return boolean
function M.may_focus()
  return require('tideate.ui.typing').plain_normal()
    and not window.is_float(0)
    and vim.bo.filetype ~= 'tideate-panel'
end

return M
