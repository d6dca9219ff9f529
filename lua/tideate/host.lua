--- The Python host: one process per Neovim, started on first use, gone with Neovim.
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

---@class tideate.HostError
---@field error string what happened and what to do
---@field error_code string

---@class tideate.HostListener
---@field ready fun() it takes requests from now on
---@field gone fun(err: tideate.HostError) it ended or could not be started; requests without an answer get none

---@class tideate.Host
---@field channel integer
---@field pid integer
---@field state 'starting'|'ready'|'ended'
---@field listener tideate.HostListener
---@field stderr string[] the last lines
---@field timer uv.uv_timer_t
---@field version? string of the Python side
---@field unanswered integer

local function paths()
  return require('tideate.paths')
end

local STDERR_LINES = 20

local CODE = 'import sys; sys.path.insert(0, sys.argv[1]); '
  .. 'from tideate_core.editor.main import main; main(sys.argv[1])'

---@type tideate.Host?
local host

---@param name string
---@return string method as pynvim registers it
local function method(name)
  return ('%s/rplugin/python3/tideate.py:function:%s'):format(paths().root(), name)
end

---@param it tideate.Host
---@param lines string[] as `on_stderr` gives them; the first continues the last one before
local function keep_stderr(it, lines)
  it.stderr[#it.stderr] = (it.stderr[#it.stderr] or '') .. lines[1]
  for i = 2, #lines do
    paths().log('host: ' .. it.stderr[#it.stderr])
    it.stderr[#it.stderr + 1] = lines[i]
  end
  while #it.stderr > STDERR_LINES do
    table.remove(it.stderr, 1)
  end
end

---@param it tideate.Host
---@return string
local function last_words(it)
  for i = #it.stderr, 1, -1 do
    if it.stderr[i]:find('%S') then
      return (' It said: %s.'):format(vim.trim(it.stderr[i]))
    end
  end
  return ''
end

---@param it tideate.Host
---@param signal string
local function kill_group(it, signal)
  -- a job leads its own group, so what the host started goes with it
  pcall(vim.uv.kill, -it.pid, signal)
end

---@param it tideate.Host
---@param code integer
---@return tideate.HostError
local function died(it, code)
  local how = code > 128 and ('was killed by signal %d'):format(code - 128) or ('ended with code %d'):format(code)
  local when = it.state == 'starting' and 'The Python host %s before it was ready.%s' or 'The Python host %s.%s'
  local what = it.state == 'starting' and ' Run `:checkhealth tideate`, and `:Workflow install` if packages are missing.'
    or ' Run the workflow again: that starts a new one.'
  return {
    error = when:format(how, last_words(it)) .. what .. ' Log: ' .. paths().log_path(),
    error_code = 'HostDied',
  }
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
  kill_group(it, 'sigkill')
  pcall(vim.fn.chanclose, it.channel)
  if host == it then
    host = nil
  end
  paths().log(err.error)
  it.listener.gone(err)
end

---@param it tideate.Host
local function check_ready(it)
  if it.state ~= 'starting' then
    return
  end
  part(it, {
    error = ('The Python host was not ready within %g s and was ended.%s Run `:checkhealth tideate`. Log: %s'):format(
      M.limits.ready / 1000,
      last_words(it),
      paths().log_path()
    ),
    error_code = 'HostNotReady',
  })
end

---@param it tideate.Host
local function beat(it)
  if host ~= it or it.state ~= 'ready' then
    return
  end
  if not require('tideate.client').busy() then
    it.unanswered = 0
    return
  end
  if it.unanswered >= M.limits.silent_pings then
    return part(it, {
      error = ('The Python host has not answered for %g s and was ended. Run the workflow again: that starts a new one. Log: %s'):format(
        it.unanswered * M.limits.ping / 1000,
        paths().log_path()
      ),
      error_code = 'HostDied',
    })
  end
  it.unanswered = it.unanswered + 1
  M.notify('TideateSend', { id = 'ping', method = 'ping', params = vim.empty_dict() })
end

---@param it tideate.Host
local function watch(it)
  it.timer:stop()
  local due = false
  it.timer:start(M.limits.ping, M.limits.ping, function()
    -- one at a time: beats that pile up while a prompt holds the editor would count as silence
    if not due then
      due = true
      vim.schedule(function()
        due = false
        beat(it)
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
  local ok, err = pcall(vim.rpcnotify, host.channel, method(name), { payload })
  return ok, not ok and tostring(err) or nil
end

---@return tideate.HostError
local function no_python()
  return {
    error = 'tideate has no Python environment yet. Run `:Workflow install` (needs Python 3.11 or newer), '
      .. "or set the option 'python' to an interpreter that has tideate's packages.",
    error_code = 'HostMissing',
  }
end

---@param listener tideate.HostListener
---@param err tideate.HostError
local function fail_later(listener, err)
  -- never before the caller has returned
  vim.schedule(function()
    listener.gone(err)
  end)
end

---@param python string
---@param it tideate.Host
---@return integer|string channel, or why there is none
local function spawn(python, it)
  local _, channel = pcall(vim.fn.jobstart, { python, '-I', '-u', '-c', CODE, paths().root() }, {
    rpc = true,
    on_stderr = function(_, lines)
      keep_stderr(it, lines)
    end,
    on_exit = function(_, code)
      part(it, died(it, code))
    end,
  })
  return channel
end

local function stop_with_editor()
  vim.api.nvim_create_autocmd('VimLeavePre', {
    group = vim.api.nvim_create_augroup('tideate.host', { clear = true }),
    desc = 'End the Python host',
    callback = function()
      require('tideate.client').leave()
      M.stop()
    end,
  })
end

--- Start the host unless it is there. Returns at once; the listener hears how it went.
---@param listener tideate.HostListener
function M.start(listener)
  if host then
    return
  end
  local python, source = paths().python()
  if not python then
    return fail_later(listener, no_python())
  end
  paths().rotate_log()
  local it = { state = 'starting', listener = listener, stderr = { '' }, unanswered = 0 }
  local channel = spawn(python, it)
  if type(channel) ~= 'number' or channel <= 0 then
    return fail_later(listener, {
      error = ("The Python interpreter '%s' (from %s) cannot be started. Run `:Workflow install`, or correct it. %s"):format(
        python,
        source,
        type(channel) == 'string' and channel:match('E%d+:.*') or ''
      ),
      error_code = 'HostMissing',
    })
  end
  it.channel, it.pid = channel, vim.fn.jobpid(channel)
  it.timer = assert(vim.uv.new_timer())
  it.timer:start(M.limits.ready, 0, vim.schedule_wrap(function()
    check_ready(it)
  end))
  host = it
  stop_with_editor()
  paths().log(('started %s, pid %d'):format(python, it.pid))
  M.notify('TideateStart', {
    channel = channel,
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
function M.heard()
  if host then
    host.unanswered = 0
  end
end

---@return 'stopped'|'starting'|'ready'
function M.state()
  return host and host.state or 'stopped'
end

--- What is known about the living host; nil if there is none.
---@return {pid: integer, state: 'starting'|'ready', version: string?}?
function M.info()
  return host and { pid = host.pid, state = host.state, version = host.version } or nil
end

--- End the host and wait for that, for as long as `limits.leave`; it takes 2 to 3 ms.
function M.stop()
  if not host then
    return
  end
  local it = host --[[@as tideate.Host]]
  -- it puts itself and its children away when its channel closes
  pcall(vim.fn.chanclose, it.channel)
  if vim.fn.jobwait({ it.channel }, M.limits.leave)[1] == -1 then
    -- a stopped one would hold up the end of the editor by seconds
    kill_group(it, 'sigkill')
  end
end

return M
