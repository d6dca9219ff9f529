--- Notice about unfinished runs of the project; reads the store's mark file and starts no host.
local M = {}

--- Return the directory of all private state. `[state] directory` of `config.toml` is not read.
---@return string
local function state_dir()
  local named, base = vim.env.TIDEATE_STATE, vim.env.XDG_STATE_HOME
  if named and named ~= '' then
    return vim.fs.normalize(named)
  end
  base = base and base ~= '' and base or vim.fs.joinpath(vim.uv.os_homedir(), '.local', 'state')
  return vim.fs.joinpath(base, 'tideate')
end

--- Return the name of a directory's private state, as the host makes it.
---@param path string real path
---@return string
local function name_of(path)
  local name = vim.fs.basename(path):gsub('[^%w._-]+', '-'):gsub('^[-.]+', ''):gsub('[-.]+$', ''):sub(1, 40)
  return ('%s-%s'):format(name == '' and 'project' or name, vim.fn.sha256(path):sub(1, 16))
end

--- Return whether a process is alive.
---@param pid integer?
---@return boolean
local function is_alive(pid)
  return pid ~= nil and vim.uv.kill(pid, 0) == 0
end

--- Return whether a directory, or one above it, is a project with a dead process's unfinished runs.
---@param folder string
---@return boolean
local function has_unfinished(folder)
  local projects = vim.fs.joinpath(state_dir(), 'projects')
  local path = vim.uv.fs_stat(projects) and vim.uv.fs_realpath(folder)
  while path do
    local mark = vim.fs.joinpath(projects, name_of(path), 'unfinished')
    if vim.uv.fs_stat(mark) then
      local ok, lines = pcall(vim.fn.readfile, mark, '', 1)
      return ok and not is_alive(tonumber(lines[1]))
    end
    local above = vim.fs.dirname(path)
    path = above ~= path and above or nil
  end
  return false
end

--- Notify the user of unfinished runs once in this Neovim; the host then offers them no more.
function M.tell()
  if has_unfinished(vim.fn.getcwd()) then
    require('tideate.stored_runs').offered()
    require('tideate.ui').notify('this project has an unfinished run: :Workflow review or :Workflow resume')
  end
end

return M
