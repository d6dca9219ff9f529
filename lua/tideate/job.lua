--- The process of the Python host: started, read from and ended; `host.lua` gives it its purpose.
local M = {}

---@class tideate.Job
---@field channel integer
---@field pid integer
---@field stderr string[] the last lines
---@field shared boolean whether other plugins live in it too: it is not ours to end

local STDERR_LINES = 20

local CODE = 'import sys; sys.path.insert(0, sys.argv[1]); '
  .. 'from tideate_core.editor.main import main; main(sys.argv[1])'

local function paths()
  return require('tideate.paths')
end

---@param job tideate.Job
---@param lines string[] as `on_stderr` gives them; the first continues the last one before
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

--- The last thing that it wrote, as a sentence; empty if it wrote nothing.
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

--- Start it. Returns at once.
---@param python string
---@param on_exit fun(code: integer)
---@return tideate.Job? job, string? err as Neovim says it
function M.start(python, on_exit)
  local job = { stderr = { '' }, shared = false }
  local _, channel = pcall(vim.fn.jobstart, { python, '-I', '-u', '-c', CODE, paths().root() }, {
    rpc = true,
    -- what `setup()` says of it has to be known before any file is read
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

--- Whether `:UpdateRemotePlugins` registered the plugin.
---@return boolean
function M.has_classic()
  return vim.fn.exists('#FuncUndefined#TideateStart') == 1 or vim.fn.exists('*TideateStart') == 1
end

--- The host of a person who ran `:UpdateRemotePlugins`, started if needed; that blocks for about 50 ms.
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

--- End it at once, with everything that it started.
---@param job tideate.Job
function M.kill(job)
  if job.shared then
    return
  end
  -- a job leads its own group, so what it started goes with it
  pcall(vim.uv.kill, -job.pid, 'sigkill')
  pcall(vim.fn.chanclose, job.channel)
end

--- End it and wait for that; it takes 2 to 3 ms.
---@param job tideate.Job
---@param within integer milliseconds, then it is killed
function M.stop(job, within)
  if job.shared then
    return
  end
  -- it puts itself and its children away when its channel closes
  pcall(vim.fn.chanclose, job.channel)
  if vim.fn.jobwait({ job.channel }, within)[1] == -1 then
    -- a stopped one would hold up the end of the editor by seconds
    M.kill(job)
  end
end

return M
