--- Paths of the plugin, its Python environment and its log.
local M = {}

--- Return the plugin's directory with links resolved, as in Neovim's manifest.
---@return string
function M.root()
  local here = debug.getinfo(1, 'S').source:sub(2)
  return assert(vim.uv.fs_realpath(vim.fn.fnamemodify(here, ':p:h:h:h')))
end

--- Return the environment of `:Workflow install`.
---@return string
function M.venv()
  return vim.fs.joinpath(vim.fn.stdpath('data') --[[@as string]], 'tideate', 'venv')
end

--- Return the configured directory of private state: `$TIDEATE_STATE`, else from `setup()`.
---@return string?
function M.named_state()
  local named = vim.env.TIDEATE_STATE
  if not named or named == '' then
    named = require('tideate.config').get('state.directory')
  end
  return named and vim.fs.normalize(named) or nil
end

--- Return the project root of a folder, found as by the host.
---@param folder string
---@return string?
function M.project(folder)
  local marker = vim.fs.find({ '.tideate', '.git' }, { path = folder, upward = true })[1]
  return marker and vim.fs.dirname(marker)
end

---@param variable string
---@param default string below the home directory
---@return string directory of the user by the XDG specification
local function user_directory(variable, default)
  local named = vim.env[variable]
  return named and named ~= '' and named or vim.fs.joinpath(vim.uv.os_homedir(), default)
end

--- Return the folder of the user's workflows.
---@return string
function M.user_workflows()
  return vim.fs.joinpath(user_directory('XDG_CONFIG_HOME', '.config'), 'tideate', 'workflows')
end

---@return string
function M.log_path()
  local named = M.named_state() or vim.fs.joinpath(user_directory('XDG_STATE_HOME', '.local/state'), 'tideate')
  return vim.fs.joinpath(named, 'host.log')
end

--- Return the interpreter of the host: the first one set or found.
---@return string? python, string? source
function M.python()
  local named = require('tideate.config').get('python')
  if named then
    return vim.fn.expand(named), "the option 'python'"
  end
  local from_env = vim.env.TIDEATE_PYTHON
  if from_env and from_env ~= '' then
    return from_env, '$TIDEATE_PYTHON'
  end
  for _, venv in ipairs({ vim.fs.joinpath(M.root(), '.venv'), M.venv() }) do
    local python = vim.fs.joinpath(venv, 'bin', 'python')
    if vim.uv.fs_stat(python) then
      return python, venv
    end
  end
end

--- Append a line to the log.
---@param text string
function M.log(text)
  require('tideate.private_file').append(M.log_path(), os.date('!%Y-%m-%dT%H:%M:%SZ ') .. text .. '\n')
end

--- Return a message handler for `xpcall` that logs an error with its traceback and returns its text.
---@param what string
---@return fun(err: any): string
function M.logging(what)
  return function(err)
    local text = type(err) == 'string' and err or vim.inspect(err)
    M.log(debug.traceback(('%s: %s'):format(what, text), 2))
    return text
  end
end

--- Create the log's directory and rotate a large log.
function M.rotate_log()
  local path = M.log_path()
  require('tideate.private_file').make_directory(vim.fs.dirname(path))
  local stat = vim.uv.fs_stat(path)
  if stat and stat.size > 1024 * 1024 then
    vim.uv.fs_rename(path, path .. '.1')
  end
end

return M
