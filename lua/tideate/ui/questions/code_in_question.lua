--- The code that a question is about: kept visible beside the dialog and the output.
local M = {}

local api = vim.api

local LEAST = 4 -- rows of a readable text

---@class tideate.ui.CodeInQuestion
---@field win integer window of the lines
---@field first integer line
---@field last integer line
---@field rows? {[1]: integer, [2]: integer}[] screen rows of its lines, 0-based; -1: below the window

--- Return the lines that a run was started on, if a window of this tab page shows them.
---@param run? string
---@return tideate.ui.CodeInQuestion?
function M.of(run)
  local lines = run and require('tideate.ui.ranges').lines(run)
  local win = lines
    and vim.iter(require('tideate.ui.window').normal_windows()):find(function(one)
      return api.nvim_win_get_buf(one) == lines.buf
    end)
  return win and { win = win, first = lines.first, last = lines.last } or nil
end

--- Return the screen rows of the lines, computed once per lookup.
---@param code tideate.ui.CodeInQuestion
---@return {[1]: integer, [2]: integer}[] rows first and last row of each line
---@return boolean whole
local function rows_of(code)
  local from = math.max(code.first, vim.fn.line('w0', code.win))
  local to = math.min(code.last, vim.fn.line('w$', code.win))
  if not code.rows then
    code.rows = {}
    for line = from, to do
      local first = vim.fn.screenpos(code.win, line, 1).row - 1
      local last = vim.fn.screenpos(code.win, line, math.max(1, vim.fn.col({ line, '$' }, code.win) - 1)).row - 1
      table.insert(code.rows, { first, last })
    end
  end
  return code.rows, from == code.first and to == code.last
end

--- Return whether all lines, or as many as fit, are between two screen rows.
---@param code tideate.ui.CodeInQuestion
---@param top integer 0-based
---@param bottom integer exclusive
---@return boolean
function M.shows(code, top, bottom)
  local lines, whole = rows_of(code)
  local rows = 0
  for _, line in ipairs(lines) do
    local first, last = line[1], line[2] < 0 and bottom or line[2]
    whole = whole and first >= top and last < bottom
    rows = rows + math.max(0, math.min(last, bottom - 1) - math.max(first, top) + 1)
  end
  return whole or rows >= bottom - top
end

--- Move a float off the visible lines, above or below them.
---@param code tideate.ui.CodeInQuestion
---@param row integer 0-based, preferred
---@param height integer without the border
---@param top integer
---@param bottom integer exclusive
---@return integer row, integer height unchanged without space beside the lines
function M.beside(code, row, height, top, bottom)
  local from = math.max(code.first, vim.fn.line('w0', code.win))
  local to = math.min(code.last, vim.fn.line('w$', code.win))
  local first = vim.fn.screenpos(code.win, from, 1).row - 1
  local last = vim.fn.screenpos(code.win, to, math.max(1, vim.fn.col({ to, '$' }, code.win) - 1)).row - 1
  if from > to or first < 0 or last < 0 or row > last or row + height + 2 <= first then
    return row, height
  end
  local above, below = first - top - 2, bottom - last - 3
  local most = math.max(above, below)
  if most < math.min(height, LEAST) then
    return row, height
  end
  height = math.min(height, most)
  return below >= height and last + 1 or first - height - 2, height
end

--- Scroll the window so that the lines begin at its top. If that moves the cursor, entering the window restores cursor
--- and view.
---@param code tideate.ui.CodeInQuestion
---@param on_entered fun() the user entered the window: the view is restored
---@return fun() restore_view unless the user scrolled or moved since
function M.bring(code, on_entered)
  local win, buf = code.win, api.nvim_win_get_buf(code.win)
  local function view()
    return api.nvim_win_call(win, vim.fn.winsaveview)
  end
  local function restore(to)
    api.nvim_win_call(win, function()
      vim.fn.winrestview(to)
    end)
  end
  local before = view()
  local margin = math.min(math.max(0, vim.wo[win].scrolloff), math.floor(api.nvim_win_get_height(win) / 2))
  local topline = math.max(1, code.first - 1)
  local last = topline + api.nvim_win_get_height(win) - 1 - margin
  local lnum = math.max(math.min(before.lnum, last), topline == 1 and 1 or topline + margin)
  restore({ topline = topline, skipcol = 0, lnum = math.min(lnum, api.nvim_buf_line_count(buf)) })
  local after, entering = view(), nil ---@type vim.fn.winsaveview.ret, integer?
  local function go_back()
    if entering then
      api.nvim_del_autocmd(entering)
      entering = nil
    end
    if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf and vim.deep_equal(view(), after) then
      restore(before)
    end
  end
  if after.lnum ~= before.lnum or after.col ~= before.col then
    entering = api.nvim_create_autocmd('WinEnter', {
      callback = function()
        if api.nvim_get_current_win() == win then
          go_back()
          on_entered()
        end
      end,
    })
  end
  return go_back
end

return M
