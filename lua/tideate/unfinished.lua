--- Notice about unfinished runs and waiting sessions of the project; reads their files and starts no host.
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

--- Return the private state of the project of a directory, if there is any.
---@param folder string
---@return string?
local function state_of(folder)
  local projects = vim.fs.joinpath(state_dir(), 'projects')
  local path = vim.uv.fs_stat(projects) and vim.uv.fs_realpath(folder)
  while path do
    local state = vim.fs.joinpath(projects, name_of(path))
    if vim.uv.fs_stat(state) then
      return state
    end
    local above = vim.fs.dirname(path)
    path = above ~= path and above or nil
  end
end

--- Return whether a dead process left unfinished runs.
---@param state string
---@return boolean
local function has_unfinished(state)
  local ok, lines = pcall(vim.fn.readfile, vim.fs.joinpath(state, 'unfinished'), '', 1)
  return ok and not is_alive(tonumber(lines[1]))
end

--- Return whether the changes of a guarded program wait.
---@param state string
---@return boolean
local function has_waiting(state)
  local sessions = vim.fs.joinpath(state, 'guard', 'sessions')
  for name in vim.fs.dir(sessions) do
    local ok, lines = pcall(vim.fn.readfile, vim.fs.joinpath(sessions, name, 'session.json'))
    if ok and table.concat(lines):find('"state": *"waiting"') then
      return true
    end
  end
  return false
end

--- Notify the user of unfinished runs and waiting sessions once in this Neovim; the host then offers no runs.
function M.tell()
  local state = state_of(vim.fn.getcwd())
  if state and has_waiting(state) then
    require('tideate.ui').notify('the changes of a guarded program wait: :Workflow land')
  end
  if state and has_unfinished(state) then
    require('tideate.stored_runs').offered()
    require('tideate.ui').notify('this project has an unfinished run: :Workflow review or :Workflow resume')
  end
end

return M
