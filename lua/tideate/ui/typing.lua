--- Detection of typing, so that no dialog takes keys meant for something else.
local M = {}

local api = vim.api

--- Milliseconds: `quiet` without a key, `look` between two checks.
M.limits = { quiet = 700, look = 50 }

local MOST_DROPPED = 1000 -- keys; a mapping or a macro may produce them endlessly

local ns = api.nvim_create_namespace('tideate.idle')
local watchers = 0
local last_key = 0

--- Watch keys until `stop`; a dialog that opens soon then knows the last one.
---@return fun() stop
function M.watch()
  watchers = watchers + 1
  if watchers == 1 then
    last_key = vim.uv.now()
    vim.on_key(function()
      last_key = vim.uv.now()
    end, ns)
  end
  local stopped = false
  return function()
    if stopped then
      return
    end
    stopped = true
    watchers = watchers - 1
    if watchers == 0 then
      vim.on_key(nil, ns)
    end
  end
end

---@class tideate.ui.Expecting
---@field free fun(): boolean whether nothing was typed since, so that the next key answers the question; ends the watch
---@field when_free fun(callback: fun()) calls back once; ends the watch
---@field stop fun()

--- Watch for keys after a command that may ask a question: it asks at once if nothing was typed since, else when the
--- user stops typing.
---@return tideate.ui.Expecting
function M.expect()
  local own, typed = api.nvim_create_namespace(''), false
  local function stop()
    vim.on_key(nil, own)
  end
  vim.on_key(function()
    typed = true
    stop()
  end, own)
  return {
    stop = stop,
    free = function()
      stop()
      return not typed and M.plain_normal()
    end,
    when_free = function(callback)
      stop()
      if typed or vim.fn.getcmdwintype() ~= '' or vim.fn.reg_recording() ~= '' then
        M.when_quiet(callback)
      else
        vim.schedule(callback)
      end
    end,
  }
end

--- Return whether Neovim is in plain normal mode, of a terminal too: no pending command or key, no macro running or
--- being recorded.
---@return boolean
function M.plain_normal()
  local mode = api.nvim_get_mode()
  return (mode.mode == 'n' or mode.mode == 'nt')
    and not mode.blocking
    and vim.fn.state('moa') == ''
    and vim.fn.getcmdwintype() == ''
    and vim.fn.reg_executing() == ''
    and vim.fn.reg_recording() == '' -- the `q` that ends it would answer
    and vim.fn.getchar(1) == 0
end

--- Discard typed-ahead keys.
function M.drop_typed_ahead()
  for _ = 1, MOST_DROPPED do
    if vim.fn.getchar(0) == 0 then
      return
    end
  end
end

--- Call back once, when the user is in plain normal mode and has not typed for a while.
---@param callback fun()
---@return fun() cancel
function M.when_quiet(callback)
  local stop = M.watch()
  local timer = assert(vim.uv.new_timer())
  local done = false
  local watching ---@type integer
  local function finish()
    if not done then
      done = true
      pcall(api.nvim_del_autocmd, watching)
      timer:stop()
      timer:close()
      stop()
    end
  end
  local look = vim.schedule_wrap(function()
    vim.uv.update_time()
    if not done and vim.uv.now() - last_key >= M.limits.quiet and M.plain_normal() then
      finish()
      callback()
    end
  end)
  timer:start(M.limits.look, M.limits.look, look)
  -- a pending command can hold back the timer's callbacks
  watching = api.nvim_create_autocmd('ModeChanged', {
    callback = function()
      if not done then
        timer:start(M.limits.look, M.limits.look, look)
      end
    end,
  })
  return finish
end

return M
