--- The Python host: one process for each Neovim, started on first use, ended with Neovim.
---
--- Only `client.lua` talks to it. This module knows whether it lives; it never waits for it.
local M = {}

---@class tideate.HostLimits milliseconds
---@field ready integer from the start to the ready message; the first start on a cold disk is slow
---@field ping integer between two pings while something runs
---@field silent_pings integer unanswered pings in a row after which the host is given up
---@field leave integer how long Neovim's end waits for the host's

--- A stopped host is given up after at most `ping * (silent_pings + 1)`: 12 s.
---@type tideate.HostLimits
M.limits = { ready = 20000, ping = 4000, silent_pings = 2, leave = 300 }

---@class tideate.HostListener
---@field ready fun() it takes requests from now on
---@field gone fun(err: tideate.HostError) it ended or could not be started; requests without an answer get none

---@class tideate.Host
---@field job tideate.Job
---@field state 'starting'|'ready'|'ended'
---@field listener tideate.HostListener
---@field timer uv.uv_timer_t
---@field version? string of the Python side
---@field python? string its interpreter; nil of Neovim's own Python host
---@field source? string what named it
---@field unanswered integer

---@type tideate.Host?
local host

--- Whether the options changed since the living host was started.
local outdated = false

local function paths()
  return require('tideate.paths')
end

local function errors()
  return require('tideate.host_errors')
end

---@param name string
---@return string method as pynvim registers it
local function method(name)
  local file = vim.fs.joinpath(paths().root(), 'rplugin', 'python3', 'tideate.py')
  -- the file's own links too: a plugin manager may link files one by one
  return ('%s:function:%s'):format(vim.uv.fs_realpath(file) or file, name)
end

--- Part with a host, for whatever reason, once.
---@param it tideate.Host
---@param err tideate.HostError
local function part(it, err)
  if it.state == 'ended' then
    return
  end
  it.state = 'ended'
  it.timer:stop()
  it.timer:close()
  -- what the host started may have survived it
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
    part(it, errors().not_ready(M.limits.ready / 1000, require('tideate.job').last_words(it.job)))
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
    return part(it, errors().silent(it.unanswered * M.limits.ping / 1000))
  end
  it.unanswered = it.unanswered + 1
  M.notify('TideateSend', { id = 'ping', method = 'ping', params = vim.empty_dict() })
end

---@param it tideate.Host
local function watch(it)
  it.timer:stop()
  local due = false
  it.timer:start(M.limits.ping, M.limits.ping, function()
    -- one at a time: pings that pile up while a prompt holds the editor would count as silence
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
---@return boolean ok, string? err what cannot be sent, e.g. a function in it
function M.notify(name, payload)
  if not host then
    return false, 'the host is not running'
  end
  local it = host
  local ok, err = pcall(vim.rpcnotify, it.job.channel, method(name), { payload })
  if not ok and it.job.shared and not pcall(vim.fn.jobpid, it.job.channel) then
    -- later: the caller may be about to note that it waits
    vim.schedule(function()
      part(it, errors().closed())
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
      -- a host that is not told to leave, because Neovim was killed or ended by a signal, leaves its runs to be resumed
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
      part(it, errors().died(code, it.state == 'ready', require('tideate.job').last_words(it.job)))
    end)
    if not job then
      return nil, errors().no_interpreter(python, source --[[@as string]], err or '')
    end
    it.job = job
  else
    it.job = require('tideate.job').classic()
    if not it.job then
      return nil, errors().no_python()
    end
  end
  paths().log(('started %s, pid %d'):format(python or 'as a remote plugin', it.job.pid))
  it.timer = assert(vim.uv.new_timer())
  it.timer:start(M.limits.ready, 0, vim.schedule_wrap(function()
    check_ready(it)
  end))
  return it
end

--- Start the host unless it is there. Returns at once; the listener hears how it went.
---@param listener tideate.HostListener
function M.start(listener)
  -- Neovim waits for the end of every process that it started, also of one that comes while it ends
  if host or vim.v.exiting ~= vim.NIL then
    return
  end
  if vim.fn.getcwd() == '' then
    return fail_later(listener, errors().no_directory())
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

--- The host said that it is ready.
---@param message {version: string?}
function M.on_ready(message)
  if not host or host.state ~= 'starting' then
    return
  end
  host.state, host.version = 'ready', message.version
  watch(host)
  host.listener.ready()
end

--- The host said that it cannot work, e.g. because of a wrong configuration file.
---@param message {error: string, error_code: string}
function M.on_broken(message)
  if host then
    part(host, { error = message.error, error_code = message.error_code })
  end
end

--- Whatever comes from the host shows that it lives.
function M.reset_unanswered()
  if host then
    host.unanswered = 0
  end
end

---@return 'stopped'|'starting'|'ready'
function M.state()
  return host and host.state or 'stopped'
end

--- What is known about the living host; nil if there is none.
---@return {pid: integer, state: 'starting'|'ready', version: string?, python: string?, source: string?}?
function M.info()
  return host
      and { pid = host.job.pid, state = host.state, version = host.version, python = host.python, source = host.source }
    or nil
end

--- End the host and wait for that, for as long as `limits.leave`. What still runs in it fails.
function M.stop()
  local it = host
  if it then
    require('tideate.job').stop(it.job, M.limits.leave)
    part(it, errors().replaced())
  end
end

--- Nothing waits for the host: end it if its options are old, so that the next command starts a new one.
function M.on_idle()
  if outdated and host and not require('tideate.client').busy() then
    outdated = false
    M.stop()
  end
end

--- The options changed: the next host gets them, at once or, while something runs, after that.
function M.options_changed()
  if host and host.job.shared then
    -- its engine lives as long as the other plugins' host
    local text = "setup() came after the first workflow: Neovim's own Python host takes its options after a restart"
    return require('tideate.ui').notify(text, vim.log.levels.WARN)
  end
  outdated = host ~= nil
  M.on_idle()
end

return M
