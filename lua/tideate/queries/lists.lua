--- Open buffers and the quickfix list.
local M = {}

local api = vim.api
local edit = require('tideate.edit')

local MOST_ENTRIES = 100

--- List the user's loaded buffers; `buffer_read` returns their texts.
---@param task tideate.Task
function M.buffers(task)
  local found = {}
  local current = require('tideate.context').current()
  task:each(api.nvim_list_bufs(), function(buf)
    if api.nvim_buf_is_valid(buf) and edit.is_file(buf) then
      local name = api.nvim_buf_get_name(buf)
      table.insert(found, {
        number = buf,
        path = name ~= '' and edit.canonical(name) or '',
        filetype = vim.bo[buf].filetype,
        lines = api.nvim_buf_line_count(buf),
        modified = vim.bo[buf].modified,
        visible = #vim.fn.win_findbuf(buf) > 0,
        current = buf == current,
      })
    end
  end, function()
    task:done({ buffers = found })
  end)
end

---@param item table<string, any> of `getqflist()`
---@return table<string, any>
local function entry(item)
  local name = item.bufnr > 0 and api.nvim_buf_is_valid(item.bufnr) and api.nvim_buf_get_name(item.bufnr) or ''
  return {
    path = name ~= '' and edit.canonical(name) or '',
    line = item.lnum,
    text = item.text:sub(1, 500),
    type = item.type,
  }
end

--- Return the first entries of the current quickfix list.
---@param task tideate.Task
function M.quickfix(task)
  local list = vim.fn.getqflist({ id = 0, size = 0, title = 0 })
  local numbers, found = {}, {}
  for index = 1, math.min(list.size, MOST_ENTRIES) do
    numbers[index] = index
  end
  task:each(numbers, function(index)
    local item = vim.fn.getqflist({ id = list.id, idx = index, items = 0 }).items[1]
    if item then
      table.insert(found, entry(item))
    end
  end, function()
    task:done({ title = list.title, total = list.size, entries = found })
  end)
end

return M
