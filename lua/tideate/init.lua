--- The public Lua API; see `:help tideate`.
local M = {}

M.version = '0.1.0'

--- Set options. Optional: everything works with the defaults.
---@param opts? table<string, any> see `:help tideate-config`
---@return boolean ok false after a mistake: a message names it, and nothing was set
function M.setup(opts)
  local ok, err = require('tideate.config').set(opts)
  if not ok then
    vim.notify(err --[[@as string]], vim.log.levels.ERROR)
  end
  return ok
end

--- Start a workflow on the current buffer. Returns at once.
---@param name string
---@param opts? tideate.RunOpts
---@param on_done? fun(result: tideate.RunResult) called once at the end
---@return string execution_id
function M.run(name, opts, on_done)
  return require('tideate.run').start(name, opts, on_done)
end

--- Register a workflow with Lua functions as steps.
---@param name string
---@param spec tideate.WorkflowSpec
---@return boolean ok, string? err
function M.register(name, spec)
  return require('tideate.registry').register(name, spec)
end

--- Return a known workflow.
---@param name string
---@return tideate.WorkflowInfo?
function M.get(name)
  return require('tideate.registry').get(name)
end

--- Return the known workflows, sorted by name; those of the project once the host has sent them.
---@return tideate.WorkflowInfo[]
function M.list()
  return require('tideate.registry').list()
end

--- Return the status of a run; default: the newest active one.
---@param execution_id? string
---@return tideate.Run?
function M.get_status(execution_id)
  return require('tideate.state').get_status(execution_id)
end

---@param execution_id? string
---@return boolean
local function is_known_to_host(execution_id)
  if execution_id then
    return not require('tideate.state').ended(execution_id)
  end
  return require('tideate.state').get_status() ~= nil
end

--- Return whether a run, or any run, is active.
---@param execution_id? string
---@return boolean
function M.is_running(execution_id)
  if require('tideate.run').is_asking(execution_id) then
    return true
  end
  return is_known_to_host(execution_id)
end

--- Send a request about a run; events and `on_done` report its effect.
---@param method string
---@param execution_id? string
---@param on_reply? fun(result: tideate.Result)
local function manage(method, execution_id, on_reply)
  require('tideate.client').request(method, { execution_id = execution_id }, on_reply or function(result)
    -- a run that ended meanwhile counts as cancelled
    local ended = method == 'cancel' and result.error_code == 'RunNotFound'
    if not ended then
      require('tideate.client').report(result)
    end
  end)
end

--- Cancel a run, or all runs. Files written by completed steps stay; a task is rolled back.
---@param execution_id? string
---@return boolean asked false without a run to cancel
function M.cancel(execution_id)
  local cancelled = require('tideate.run').cancel_asking(execution_id)
  if not is_known_to_host(execution_id) then
    return cancelled
  end
  manage('cancel', execution_id)
  return true
end

--- Pause a run before its next step; default: the newest.
---@param execution_id? string
---@return boolean asked false if it is not running
function M.pause(execution_id)
  local run = M.get_status(execution_id)
  if not run or not M.is_running(run.execution_id) then
    return false
  end
  local id = run.execution_id
  local function mark(wanted)
    require('tideate.state').set_pausing(id, wanted)
    require('tideate.ui').refresh(id)
  end
  mark(true)
  manage('pause', id, function(result)
    if not result.ok then
      mark(false)
      require('tideate.client').report(result)
    end
  end)
  return true
end

--- Send the model of a run a message before its next turn.
---@param execution_id? string default: the newest run
---@param text string
---@return boolean asked false if it is not running
function M.say(execution_id, text)
  local run = M.get_status(execution_id)
  if not run or not M.is_running(run.execution_id) then
    require('tideate.ui').notify('the run has ended; no model reads it any more', vim.log.levels.WARN)
    return false
  end
  require('tideate.client').request('say', { execution_id = run.execution_id, text = text }, require('tideate.client').report)
  return true
end

--- Resume a run. A paused run of this Neovim continues; one about to pause does not pause.
--- Any other run continues from its last completed step.
---@param execution_id? string or a prefix; default: the newest resumable run
---@param opts? {folder?: string, definition?: 'file'|'stored', ask?: boolean, on_done?: fun(result: tideate.RunResult)}
--- for a run of an earlier process: a folder of its project, the definition to use if the workflow changed since, whether
--- to ask for a confirmation, and a callback for its end
function M.resume(execution_id, opts)
  if not execution_id or require('tideate.state').ended(execution_id) then
    return require('tideate.stored_runs').resume(execution_id or '', opts)
  end
  if opts and opts.definition then
    require('tideate.stored_runs').say_no_definition('the run goes on as it began')
  end
  manage('resume', execution_id, function(result)
    if result.ok then
      require('tideate.state').set_pausing(execution_id, false)
      require('tideate.ui').refresh(execution_id)
    end
    require('tideate.client').report(result)
  end)
end

--- Roll back all files that a run changed, unless one was changed since.
---@param execution_id string
---@param on_done? fun(result: tideate.Result)
function M.rollback(execution_id, on_done)
  manage('rollback', execution_id, on_done)
end

---@return table? state nil before the first run: nothing is loaded
local function state_so_far()
  return package.loaded['tideate.state']
end

--- Return the number of questions in the inbox for a statusline; empty without one.
---@return string
local function inbox_words()
  local inbox = package.loaded['tideate.inbox']
  local count = inbox and inbox.count() or 0
  return count > 0 and ('inbox: %d'):format(count) or ''
end

--- Return a statusline text for the active runs and the known questions of the inbox; empty without any. Reads only
--- known state.
---@param opts? {width?: integer, escape?: boolean} columns for several runs, default: most of the screen;
--- escape: double `%` for statuslines that expand items (`%!`, lualine, heirline)
---@return string
function M.statusline(opts)
  local state, questions = state_so_far(), inbox_words()
  local taken = questions ~= '' and #questions + 2 or 0
  local line = state and state.statusline(opts and opts.width, taken) or ''
  line = line ~= '' and questions ~= '' and ('%s  %s'):format(line, questions) or line .. questions
  return opts and opts.escape and line ~= '' and require('tideate.run_status').escape(line) or line
end

--- Return the runs of a window's buffer for 'winbar' or 'statusline' in `%{%…%}`; empty without one.
---@param win? integer default: the window being drawn, else the current one
---@return string
function M.winbar(win)
  local state = state_so_far()
  if not state then
    return ''
  end
  win = win or tonumber(vim.g.statusline_winid) or 0
  if win ~= 0 and not vim.api.nvim_win_is_valid(win) then
    win = 0
  end
  local bar = state.winbar(vim.api.nvim_win_get_buf(win))
  if bar ~= '' then
    require('tideate.ui.highlights').define()
  end
  return bar
end

return M
