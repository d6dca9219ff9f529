--- Attach language support to buffers of YAML and JSON workflows: of project and user, or run before.
local M = {}

--- Return whether a path has the extension of a definition.
---@param path string
---@return boolean
function M.is_definition(path)
  local ending = path:lower():match('%.(%w+)$')
  return ending == 'yaml' or ending == 'yml' or ending == 'json'
end

--- Return whether a file is in a folder of workflows.
---@param path string
---@return boolean
function M.is_kept(path)
  local folder = vim.fs.dirname(vim.fs.normalize(path))
  local is_own = folder == vim.fs.normalize(require('tideate.paths').user_workflows())
  return M.is_definition(path) and (is_own or vim.endswith(folder, '/.tideate/workflows'))
end

--- Attach to an opened buffer.
---@param buf integer
function M.open(buf)
  if M.is_kept(vim.api.nvim_buf_get_name(buf)) then
    require('tideate.language').attach(buf, true)
  end
end

--- Attach to the buffer of a workflow file that was run.
---@param path string
function M.ran(path)
  local buf = M.is_definition(path) and vim.fn.bufnr('^' .. vim.fn.escape(path, '^$.*?[]{},\\') .. '$') or -1
  if buf > 0 and vim.api.nvim_buf_is_loaded(buf) then
    require('tideate.language').attach(buf, true)
  end
end

return M
