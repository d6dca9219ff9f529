--- Cursors, scroll positions and letter marks of a buffer, kept on their text through an edit.
--- Neovim 0.10 and 0.11 drop a letter mark if its line changes, 0.12 may move it one line too far, and
--- every version moves a cursor off its text.
local M = {}

local api = vim.api

local ns = api.nvim_create_namespace('tideate.buffer_views')

---@class tideate.buffer_views.Anchor
---@field row integer
---@field column integer

---@param buf integer
---@param row integer 0-based
---@param column integer
---@return integer id
local function anchor(buf, row, column)
  local line = api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
  return api.nvim_buf_set_extmark(buf, ns, row, math.min(column, #line), {})
end

---@param buf integer
---@param id integer
---@return integer row, integer column
local function position(buf, id)
  local found = api.nvim_buf_get_extmark_by_id(buf, ns, id, {})
  return math.min(found[1], api.nvim_buf_line_count(buf) - 1), found[2]
end

---@param buf integer
---@return fun()[] restorers
local function save_windows(buf)
  return vim.tbl_map(function(win)
    local view = api.nvim_win_call(win, vim.fn.winsaveview)
    local cursor = anchor(buf, view.lnum - 1, view.col)
    local top = anchor(buf, view.topline - 1, 0)
    return function()
      if not api.nvim_win_is_valid(win) or api.nvim_win_get_buf(win) ~= buf then
        return
      end
      local row, column = position(buf, cursor)
      local topline = position(buf, top) + 1
      api.nvim_win_call(win, function()
        local now = vim.fn.winsaveview()
        if now.lnum ~= row + 1 or now.col ~= column or now.topline ~= topline then
          vim.fn.winrestview({ lnum = row + 1, col = column, topline = topline, curswant = column })
        end
      end)
    end
  end, vim.fn.win_findbuf(buf))
end

---@param buf integer
---@return fun()[] restorers
local function save_marks(buf)
  local restorers = {}
  for letter in ('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'):gmatch('.') do
    local mark = api.nvim_buf_get_mark(buf, letter)
    if mark[1] > 0 and mark[1] <= api.nvim_buf_line_count(buf) then
      local row = mark[1] - 1
      -- spans the line: invalid exactly if the line was deleted
      local line = api.nvim_buf_set_extmark(buf, ns, row, 0, {
        end_row = row + 1,
        end_col = 0,
        invalidate = true,
      })
      table.insert(restorers, function()
        local found = api.nvim_buf_get_extmark_by_id(buf, ns, line, { details = true })
        if not found[3].invalid and api.nvim_buf_get_mark(buf, letter)[1] ~= found[1] + 1 then
          local text = api.nvim_buf_get_lines(buf, found[1], found[1] + 1, false)[1]
          if text then
            api.nvim_buf_set_mark(buf, letter, found[1] + 1, math.min(mark[2], #text), {})
          end
        end
      end)
    end
  end
  return restorers
end

--- Save cursors, views and marks of buffers.
---@param bufs integer[]
---@return { restore: fun() } saved call `restore` once
function M.save(bufs)
  local restorers = {} ---@type fun()[]
  for _, buf in ipairs(bufs) do
    vim.list_extend(restorers, save_windows(buf))
    vim.list_extend(restorers, save_marks(buf))
  end
  return {
    restore = function()
      for _, restore in ipairs(restorers) do
        restore()
      end
      for _, buf in ipairs(bufs) do
        api.nvim_buf_clear_namespace(buf, ns, 0, -1)
      end
    end,
  }
end

return M
