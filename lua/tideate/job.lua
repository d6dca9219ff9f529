--- Operating system process of the Python host: start, last output, kill; used by `host.lua`.
local M = {}

---@class tideate.Job
---@field channel integer
---@field pid integer
---@field stderr string[] last lines
---@field shared boolean other plugins use it too: never stop it

local STDERR_LINES = 20

local CODE = 'import sys; sys.path.insert(0, sys.argv[1]); '
  .. 'from tideate_core.editor.main import main; main(sys.argv[1])'

local function paths()
  return require('tideate.paths')
end

---@param job tideate.Job
---@param lines string[] from `on_stderr`; the first continues the previous last one
local function keep_stderr(job, lines)
  job.stderr[#job.stderr] = (job.stderr[#job.stderr] or '') .. lines[1]
  for i = 2, #lines do
    paths().log('host: ' .. job.stderr[#job.stderr])
    job.stderr[#job.stderr + 1] = lines[i]
  end
  while #job.stderr > STDERR_LINES do
    table.remove(job.stderr, 1)
  end
end

--- Return the last line of its output as a sentence; empty without one.
---@param job tideate.Job
---@return string
function M.last_words(job)
  for i = #job.stderr, 1, -1 do
    if job.stderr[i]:find('%S') then
      return (' It said: %s.'):format(vim.trim(job.stderr[i]))
    end
  end
  return ''
end

--- Start the process. Returns at once.
---@param python string
---@param on_exit fun(code: integer)
---@return tideate.Job? job, string? err message of Neovim
function M.start(python, on_exit)
  local job = { stderr = { '' }, shared = false }
  local _, channel = pcall(vim.fn.jobstart, { python, '-I', '-u', '-c', CODE, paths().root() }, {
    rpc = true,
    -- the state directory of `setup()` must be known before any file is read
    env = paths().named_state() and { TIDEATE_STATE = paths().named_state() } or nil,
    on_stderr = function(_, lines)
      keep_stderr(job, lines)
    end,
    on_exit = function(_, code)
      on_exit(code)
    end,
  })
  if type(channel) ~= 'number' or channel <= 0 then
    return nil, type(channel) == 'string' and channel:match('E%d+:.*') or ''
  end
  job.channel, job.pid = channel, vim.fn.jobpid(channel)
  return job
end

--- Return whether `:UpdateRemotePlugins` registered the plugin.
---@return boolean
function M.has_classic()
  return vim.fn.exists('#FuncUndefined#TideateStart') == 1 or vim.fn.exists('*TideateStart') == 1
end

--- Return Neovim's own Python host, started if needed; that blocks for about 50 ms.
---@return tideate.Job?
function M.classic()
  if not M.has_classic() then
    return nil
  end
  local ok, channel = pcall(vim.fn['remote#host#Require'], 'python3')
  if ok and type(channel) == 'number' and channel > 0 then
    return { channel = channel, pid = vim.fn.jobpid(channel), stderr = {}, shared = true }
  end
end

--- Kill the process and its children.
---@param job tideate.Job
function M.kill(job)
  if job.shared then
    return
  end
  -- a job leads its own process group
  pcall(vim.uv.kill, -job.pid, 'sigkill')
  pcall(vim.fn.chanclose, job.channel)
end

--- Stop the process and wait, usually 2 to 3 ms.
---@param job tideate.Job
---@param within integer milliseconds until it is killed
function M.stop(job, within)
  if job.shared then
    return
  end
  -- it stops itself and its children when its channel closes
  pcall(vim.fn.chanclose, job.channel)
  if vim.fn.jobwait({ job.channel }, within)[1] == -1 then
    -- a stopped process would delay the editor's exit by seconds
    M.kill(job)
  end
end

return M
