--- Buffers with unsaved changes: listed, and written to their files.
local M = {}

--- Whether a buffer's file is another one than was read. Neovim 0.10 would ask that when it writes, and wait for
--- a key that nobody knows is wanted.
---@param buf integer
---@return boolean
local function stale(buf)
  if vim.fn.has('nvim-0.11') == 1 then
    return false -- there the question answers itself, below
  end
  if vim.b[buf].tideate_stale then
    return true
  end
  local found = false
  local watching = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = buf,
    callback = function()
      found = true
      vim.api.nvim_set_vvar('fcs_choice', '') -- neither read again nor asked about
    end,
  })
  vim.cmd(('silent! checktime %d'):format(buf))
  vim.api.nvim_del_autocmd(watching)
  if found then
    -- it is told once only
    vim.b[buf].tideate_stale = true
    vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost' }, {
      buffer = buf,
      once = true,
      callback = function()
        vim.b[buf].tideate_stale = nil
      end,
    })
  end
  return found
end

--- What a file is recognised by as long as nobody writes it.
---@param buf integer
---@return string
local function stamp(buf)
  local stat = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf))
  return stat and ('%d %d.%d %d'):format(stat.ino, stat.mtime.sec, stat.mtime.nsec, stat.size) or ''
end

--- The file of a buffer with changes was moved: that it is another one now is no reason not to save it.
---@param buf integer
function M.note_moved(buf)
  vim.b[buf].tideate_moved = stamp(buf)
end

--- Write one buffer to its file, whatever window or mode the person is in.
---@param buf integer
---@return string? err
local function write(buf)
  local label = require('tideate.edit').label(buf)
  local other = ('%s was not saved: its file changed on disk since it was read'):format(label)
  local moved = vim.b[buf].tideate_moved ~= nil and vim.b[buf].tideate_moved == stamp(buf)
  if not moved and stale(buf) then
    return other
  end
  local fix = vim.bo[buf].fixendofline
  vim.bo[buf].fixendofline = false -- a file without a last line end keeps to it
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    -- no autocommands: what was reviewed is written, not what a formatter makes of it. Typed, because to the
    -- question whether a file that changed on disk is to be overwritten the end of the keys says no
    local command = [[execute "silent normal! :silent noautocmd lockmarks write%s ++p\<CR>"]]
    vim.cmd(command:format(moved and '!' or ''))
  end)
  vim.bo[buf].fixendofline = fix
  if ok and not vim.bo[buf].modified then
    vim.b[buf].tideate_moved = nil
    return
  elseif ok then
    return other
  end
  local why = tostring(err):match('E%d+:[^\n]*') or tostring(err)
  return ('%s cannot be saved: %s'):format(label, why)
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

--- The files of a run, and of the one that it continues, where these are several, whose buffers have changes that
--- were not saved.
---@param run tideate.Run
---@return string[] relative to its root
function M.of_run(run)
  if #run.files == 0 or not run.root then
    return {}
  end
  local earlier = require('tideate.state').get_status(require('tideate.run').continues(run.execution_id) or '')
  local files = vim.list_slice(run.files)
  for _, name in ipairs(earlier and earlier.root == run.root and earlier.files or {}) do
    if not vim.list_contains(files, name) then
      table.insert(files, name)
    end
  end
  local edit = require('tideate.edit')
  return vim.tbl_filter(function(name)
    local buf = edit.find(vim.fs.joinpath(run.root, name))
    return buf ~= nil and vim.bo[buf].modified
  end, #files > 1 and files or {})
end

return M
