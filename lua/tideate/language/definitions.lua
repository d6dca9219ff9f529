--- Buffers with definitions in YAML and JSON: those of the project and the person, and files that were run.
local M = {}

--- Whether a path is that of a definition, by its end.
---@param path string
---@return boolean
function M.is_definition(path)
  local ending = path:lower():match('%.(%w+)$')
  return ending == 'yaml' or ending == 'yml' or ending == 'json'
end

---@return string folder of the person's workflows
local function own()
  local config = vim.env.XDG_CONFIG_HOME
  config = config and config ~= '' and config or vim.fs.joinpath(vim.uv.os_homedir(), '.config')
  return vim.fs.joinpath(config, 'tideate', 'workflows')
end

--- Whether a file is where workflows are looked for.
---@param path string
---@return boolean
function M.is_kept(path)
  local folder = vim.fs.dirname(vim.fs.normalize(path))
  return M.is_definition(path) and (vim.endswith(folder, '/.tideate/workflows') or folder == vim.fs.normalize(own()))
end

--- A buffer was opened.
---@param buf integer
function M.open(buf)
  if M.is_kept(vim.api.nvim_buf_get_name(buf)) then
    require('tideate.language').attach(buf, true)
  end
end

--- A file was run: its buffer, where it has one, is checked from now on.
---@param path string
function M.ran(path)
  local buf = M.is_definition(path) and vim.fn.bufnr('^' .. vim.fn.escape(path, '^$.*?[]{},\\') .. '$') or -1
  if buf > 0 and vim.api.nvim_buf_is_loaded(buf) then
    require('tideate.language').attach(buf, true)
  end
end

return M
