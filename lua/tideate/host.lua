--- Start, state and stop of the Python host: one per Neovim, started on first use.
---
--- Only `client.lua` talks to it. This module watches its life and never waits for it.
local M = {}

---@class tideate.HostLimits milliseconds
---@field ready integer from start to ready message; slow on a cold disk
---@field ping integer between pings while requests are pending
---@field silent_pings integer unanswered pings in a row until the host is given up
---@field leave integer wait for the host's end when Neovim exits

--- A stopped host is given up after at most `ping * (silent_pings + 1)` = 12 s.
---@type tideate.HostLimits
M.limits = { ready = 20000, ping = 4000, silent_pings = 2, leave = 300 }

---@class tideate.HostListener
---@field ready fun() it accepts requests now
---@field gone fun(err: tideate.HostError) it ended or could not start; pending requests get no answer

---@class tideate.Host
---@field job tideate.Job
---@field state 'starting'|'ready'|'ended'
---@field listener tideate.HostListener
---@field timer uv.uv_timer_t
---@field version? string of the Python side
---@field python? string its interpreter; nil: Neovim's own Python host
---@field source? string source of the interpreter
---@field unanswered integer

---@type tideate.Host?
local host

--- Whether the options changed since the host started.
local outdated = false

local function paths()
  return require('tideate.paths')
end

---@param name string
---@param ... any
---@return tideate.HostError
local function error_of(name, ...)
  return require('tideate.host_errors').of(name, ...)
end

---@param name string
---@return string method name registered by pynvim
local function method(name)
  local file = vim.fs.joinpath(paths().root(), 'rplugin', 'python3', 'tideate.py')
  -- resolve links: a plugin manager may link single files
  return ('%s:function:%s'):format(vim.uv.fs_realpath(file) or file, name)
end

--- Drop a host, once.
---@param it tideate.Host
---@param err tideate.HostError
local function part(it, err)
  if it.state == 'ended' then
    return
  end
  it.state = 'ended'
  it.timer:stop()
  it.timer:close()
  -- processes of the host may have survived it
  require('tideate.job').kill(it.job)
  if host == it then
    host = nil
  end
  paths().log(err.error)
  it.listener.gone(err)
end

---@param it tideate.Host
local function check_ready(it)
  if it.state == 'starting' then
    part(it, error_of('not_ready', M.limits.ready / 1000, require('tideate.job').last_words(it.job)))
  end
end

---@param it tideate.Host
local function ping(it)
  if host ~= it or it.state ~= 'ready' then
    return
  end
  if not require('tideate.client').busy() then
    it.unanswered = 0
    return
  end
  if it.unanswered >= M.limits.silent_pings then
    return part(it, error_of('silent', it.unanswered * M.limits.ping / 1000))
  end
  it.unanswered = it.unanswered + 1
  M.notify('TideateSend', { id = 'ping', method = 'ping', params = vim.empty_dict() })
end

---@param it tideate.Host
local function watch(it)
  it.timer:stop()
  local due = false
  it.timer:start(M.limits.ping, M.limits.ping, function()
    -- one at a time: pings that pile up behind a prompt would count as silence
    if not due then
      due = true
      vim.schedule(function()
        due = false
        ping(it)
      end)
    end
  end)
end

--- Send a notification to the host.
---@param name 'TideateStart'|'TideateSend'
---@param payload table<string, any>
---@return boolean ok, string? err if it cannot be sent, for example a function
function M.notify(name, payload)
  if not host then
    return false, 'the host is not running'
  end
  local it = host
  local ok, err = pcall(vim.rpcnotify, it.job.channel, method(name), { payload })
  if not ok and it.job.shared and not pcall(vim.fn.jobpid, it.job.channel) then
    -- later: the caller may not have registered its request yet
    vim.schedule(function()
      part(it, error_of('closed'))
    end)
  end
  return ok, not ok and tostring(err) or nil
end

---@param listener tideate.HostListener
---@param err tideate.HostError
local function fail_later(listener, err)
  -- never before the caller has returned
  vim.schedule(function()
    listener.gone(err)
  end)
end

local function stop_with_editor()
  vim.api.nvim_create_autocmd('VimLeavePre', {
    group = vim.api.nvim_create_augroup('tideate.host', { clear = true }),
    desc = 'End the Python host',
    callback = function()
      -- without `leave` (Neovim was killed), the host leaves its runs to be resumed
      if vim.v.dying == 0 and require('tideate.client').busy() then
        M.notify('TideateSend', { id = 'leave', method = 'leave', params = vim.empty_dict() })
      end
      require('tideate.client').leave()
      if host then
        require('tideate.job').stop(host.job, M.limits.leave)
      end
    end,
  })
end

---@param listener tideate.HostListener
---@return tideate.Host? it, tideate.HostError? err
local function open(listener)
  local it = { state = 'starting', listener = listener, unanswered = 0 }
  local python, source = paths().python()
  it.python, it.source = python, source
  if python then
    local job, err = require('tideate.job').start(python, function(code)
      part(it, require('tideate.host_errors').died(code, it.state == 'ready', require('tideate.job').last_words(it.job)))
    end)
    if not job then
      return nil, error_of('no_interpreter', python, source --[[@as string]], err or '')
    end
    it.job = job
  else
    it.job = require('tideate.job').classic()
    if not it.job then
      return nil, error_of('no_python')
    end
  end
  paths().log(('started %s, pid %d'):format(python or 'as a remote plugin', it.job.pid))
  it.timer = assert(vim.uv.new_timer())
  it.timer:start(M.limits.ready, 0, vim.schedule_wrap(function()
    check_ready(it)
  end))
  return it
end

--- Start the host if it is not running. Returns at once; the listener gets the result.
---@param listener tideate.HostListener
function M.start(listener)
  -- Neovim waits at its exit for every child process, even a new one
  if host or vim.v.exiting ~= vim.NIL then
    return
  end
  if vim.fn.getcwd() == '' then
    return fail_later(listener, error_of('no_directory'))
  end
  paths().rotate_log()
  local it, err = open(listener)
  if not it then
    return fail_later(listener, err --[[@as tideate.HostError]])
  end
  host, outdated = it, false
  stop_with_editor()
  M.notify('TideateStart', {
    channel = it.job.channel,
    cwd = vim.fn.getcwd(),
    setup = require('tideate.config').for_host(),
    log = paths().log_path(),
    log_level = require('tideate.config').get('log_level'),
    version = require('tideate').version,
  })
end

--- Handle the ready message.
---@param message {version: string?}
function M.on_ready(message)
  if not host or host.state ~= 'starting' then
    return
  end
  host.state, host.version = 'ready', message.version
  watch(host)
  host.listener.ready()
end

--- Handle the message that the host cannot work, for example after a wrong configuration file.
---@param message {error: string, error_code: string}
function M.on_broken(message)
  if host then
    part(host, { error = message.error, error_code = message.error_code })
  end
end

--- Reset the count of unanswered pings after any message.
function M.reset_unanswered()
  if host then
    host.unanswered = 0
  end
end

---@return 'stopped'|'starting'|'ready'
function M.state()
  return host and host.state or 'stopped'
end

--- Return facts about the running host.
---@return {pid: integer, state: 'starting'|'ready', version: string?, python: string?, source: string?}?
function M.info()
  return host
      and { pid = host.job.pid, state = host.state, version = host.version, python = host.python, source = host.source }
    or nil
end

--- Stop the host and wait up to `limits.leave`. Its runs fail.
function M.stop()
  local it = host
  if it then
    require('tideate.job').stop(it.job, M.limits.leave)
    part(it, error_of('replaced'))
  end
end

--- Stop an idle host with old options; the next command starts a new one.
function M.on_idle()
  if outdated and host and not require('tideate.client').busy() then
    outdated = false
    M.stop()
  end
end

--- Restart the host with new options, at once or when it is idle.
function M.options_changed()
  if host and host.job.shared then
    -- its engine lives as long as the host of the other plugins
    local text = "setup() ran after the first workflow: restart Neovim to pass the options to its Python host"
    return require('tideate.ui').warn(text)
  end
  outdated = host ~= nil
  M.on_idle()
end

return M
