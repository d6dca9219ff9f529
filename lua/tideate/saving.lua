--- Buffers that have changes: which there are, and writing them to their files.
local M = {}

--- Write one buffer to its file, whatever window or mode the person is in.
---@param buf integer
---@return string? err
local function write(buf)
  local fix = vim.bo[buf].fixendofline
  vim.bo[buf].fixendofline = false -- a file without a last line end keeps to it
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    -- no autocommands: what was reviewed is written, not what a formatter makes of it. Typed, because to the
    -- question whether a file that changed on disk is to be overwritten the end of the keys says no
    vim.cmd([[execute "silent normal! :silent noautocmd lockmarks write ++p\<CR>"]])
  end)
  vim.bo[buf].fixendofline = fix
  if ok and not vim.bo[buf].modified then
    return
  elseif ok then
    return ('%s was not saved: its file changed on disk since it was read'):format(require('tideate.edit').label(buf))
  end
  local why = tostring(err):match('E%d+:[^\n]*') or tostring(err)
  return ('%s cannot be saved: %s'):format(require('tideate.edit').label(buf), why)
end

--- Save buffers that have changes; the others stay as they are.
---@param params { numbers: integer[] }
---@return { saved: integer[] }? result, string? err
function M.save(params)
  local saved = {} ---@type integer[]
  for _, buf in ipairs(params.numbers) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
      local err = write(buf)
      if err then
        return nil, err
      end
      table.insert(saved, buf)
    end
  end
  return { saved = saved }
end

--- The files below a folder whose buffers have changes that were not saved.
---@param params { root: string }
---@return { paths: string[] }
function M.modified(params)
  local canonical = require('tideate.edit').canonical
  local root, paths = canonical(params.root), {} ---@type string, string[]
  local inside = root:sub(-1) == '/' and root or root .. '/'
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and vim.bo[buf].modified and name ~= '' then
      local path = canonical(name)
      if vim.startswith(path, inside) then
        table.insert(paths, path)
      end
    end
  end
  return { paths = paths }
end

return M
