--- The subcommands of `:Workflow`, in the order of the help.

---@class tideate.Subcommand
---@field name string
---@field args string how they are written in the help
---@field help string
---@field menu? boolean offered by the bare `:Workflow`
---@field complete? fun(lead: string): string[]
---@field run fun(rest: string, command: tideate.Subcommand)

local SHORT = 8 -- characters of an id that people read and type

---@param text string
---@param level? integer of `vim.log.levels`
local function say(text, level)
  require('tideate.ui').notify(text, level or vim.log.levels.INFO)
end

---@param result tideate.Result
---@return boolean ok
local function said_error(result)
  if not result.ok and not result.cancelled then
    say(result.error, vim.log.levels.ERROR)
  end
  return result.ok
end

---@param lines string[]
local function echo(lines)
  vim.api.nvim_echo({ { table.concat(lines, '\n') } }, false, {})
end

---@param wanted fun(run: tideate.Run): boolean
---@return fun(): string[] ids
local function ids(wanted)
  return function()
    local runs = vim.tbl_filter(wanted, require('tideate.state').runs())
    return vim.tbl_map(function(run)
      return run.execution_id:sub(1, SHORT)
    end, runs)
  end
end

---@param run tideate.Run
---@return boolean
local function is_active(run)
  return not require('tideate.state').ended(run.execution_id)
end

---@param run tideate.Run
---@return boolean
local function is_paused(run)
  return run.state == 'paused' or run.pausing
end

---@param run tideate.Run
---@return boolean
local function changed_files(run)
  return not is_active(run) and #run.files > 0
end

--- The newest run that is meant by a prefix, if there is one.
---@param prefix string may be empty
---@param fits fun(run: tideate.Run): boolean
---@return string? execution_id
local function found(prefix, fits)
  for _, run in ipairs(require('tideate.state').runs()) do
    if prefix ~= '' and vim.startswith(run.execution_id, prefix) or prefix == '' and fits(run) then
      return run.execution_id
    end
  end
end

--- The run that is meant: by the beginning of its id, else the newest that fits.
---@param prefix string may be empty
---@param fits fun(run: tideate.Run): boolean
---@param what string for the message when there is none
---@return string? execution_id
local function pick(prefix, fits, what)
  if #prefix == 32 then
    return prefix -- perhaps of an earlier Neovim: the host knows
  end
  local id = found(prefix, fits)
  if not id then
    local which = prefix == '' and '' or (" with the id '%s'"):format(prefix)
    say(('there is no %s%s; `:Workflow status` shows the runs'):format(what, which), vim.log.levels.WARN)
  end
  return id
end

---@param run tideate.Run
---@return string
local function status_line(run)
  local step = ''
  if run.total_steps > 0 then
    step = ('%d/%d %s'):format(run.step, run.total_steps, run.current_step)
  elseif run.step > 0 then
    step = ('%d %s'):format(run.step, require('tideate.state').place(run))
  end
  return ('%s  %-12s %-10s %-20s %6.1f s %6d tokens  %s'):format(
    run.execution_id:sub(1, SHORT),
    run.name,
    run.declined and 'declined' or require('tideate.state').word(run),
    step,
    run.elapsed_ms / 1000,
    run.tokens,
    (require('tideate.ui.text').fit(run.prompt:gsub('%s+', ' '), 40))
  )
end

---@param workflow tideate.WorkflowInfo
---@return string
local function list_line(workflow)
  local kind = workflow.kind == 'machine' and 'machine' or ''
  return ('%-16s %-10s %-8s %s'):format(workflow.name, workflow.source, kind, workflow.description)
end

local function show_list()
  local folder = require('tideate.context').folder()
  require('tideate.client').request('list', { folder = folder }, function(result)
    if not said_error(result) then
      return
    end
    require('tideate.registry').learn(result.workflows)
    local lines = vim.tbl_map(list_line, require('tideate.registry').list())
    echo(vim.list_extend(lines, result.notices or {}))
  end)
end

---@param id string
local function roll_back(id)
  require('tideate').rollback(id, function(result)
    if said_error(result) then
      local files = result.files or {}
      say(#files == 0 and 'nothing was left to put back' or 'put back: ' .. table.concat(files, ', '))
    end
  end)
end

---@param prefix string
local function checkpoint(prefix)
  local id = found(prefix, is_active) or prefix
  if id == '' then
    return say('nothing is running; `c` in `:Workflow history` lists the checkpoints of a run', vim.log.levels.WARN)
  end
  require('tideate.stored').ask('checkpoint', { execution_id = id }, function(result)
    say(require('tideate.ui.runs_actions').made(result))
    require('tideate.ui.runs').refresh()
  end)
end

---@param path string
local function trust(path)
  local params = path ~= '' and { path = vim.fn.fnamemodify(vim.fs.normalize(path), ':p') }
    or { folder = require('tideate.context').folder() }
  require('tideate.client').request('trust', params, function(result)
    if said_error(result) then
      say('trusted as it is now: ' .. table.concat(result.paths, ', '))
    end
  end)
end

local function open_log()
  local path = require('tideate.paths').log_path()
  if not vim.uv.fs_stat(path) then
    return say(('there is no log yet; it will be %s'):format(path))
  end
  vim.cmd.split({ vim.fn.fnameescape(path) })
  vim.bo.readonly = true
  vim.cmd.normal({ 'G', bang = true })
end

---@type tideate.Subcommand[]
return {
  {
    name = 'cancel',
    args = '[id]',
    help = 'Cancel a run, or all of them',
    menu = true,
    complete = ids(is_active),
    run = function(prefix)
      local id = prefix ~= '' and pick(prefix, is_active, 'run') or nil
      if (prefix == '' or id) and not require('tideate').cancel(id) then
        say('nothing is running')
      end
    end,
  },
  {
    name = 'pause',
    args = '[id]',
    help = 'Let a run stop before its next step',
    complete = ids(is_active),
    run = function(prefix)
      local id = pick(prefix, is_active, 'running workflow')
      if id and not require('tideate').pause(id) then
        say('this run has ended')
      end
    end,
  },
  {
    name = 'resume',
    args = '[id]',
    help = 'Let a run go on: a paused one, else one that an ended Neovim or shell left; what it did is not done again',
    menu = true,
    complete = ids(is_paused),
    run = function(prefix)
      require('tideate').resume(found(prefix, is_paused) or prefix)
    end,
  },
  {
    name = 'status',
    args = '',
    help = 'Show the runs of this Neovim',
    menu = true,
    run = function()
      local runs = require('tideate.state').runs()
      echo(#runs > 0 and vim.tbl_map(status_line, runs) or { 'nothing is running, and nothing has run yet' })
    end,
  },
  {
    name = 'history',
    args = '[name] [state]',
    help = "Show the project's runs, those of earlier Neovims and of the shell too: all, or those that fit",
    menu = true,
    complete = function(lead)
      return require('tideate.ui.runs_list').words(lead)
    end,
    run = function(rest)
      require('tideate.ui.runs').history(rest)
    end,
  },
  {
    name = 'show',
    args = '[id]',
    help = 'Show a run with its steps, their results and its events',
    complete = ids(function()
      return true
    end),
    run = function(prefix)
      require('tideate.ui.runs').show(prefix ~= '' and prefix or nil)
    end,
  },
  {
    name = 'checkpoint',
    args = '[id]',
    help = 'Make a checkpoint of a run where it is now; `c` in the windows of the runs lists and restores them',
    complete = ids(is_active),
    run = checkpoint,
  },
  { name = 'list', args = '', help = 'Show the workflows', menu = true, run = show_list },
  {
    name = 'graph',
    args = '[name|file]',
    help = 'Draw a workflow, its states or its steps: that of the buffer, else the running one, or the named one',
    complete = function(lead)
      return require('tideate.machines').complete(lead)
    end,
    run = function(rest)
      require('tideate.machines').show_graph(rest)
    end,
  },
  {
    name = 'context',
    args = '',
    help = 'Show what can be mentioned in a prompt with @, and what each mention brings',
    menu = true,
    run = function()
      require('tideate.ui.contexts').show()
    end,
  },
  {
    name = 'rollback',
    args = '[id]',
    help = 'Put back the files that a run changed',
    complete = ids(changed_files),
    run = function(prefix)
      local id = pick(prefix, changed_files, 'run that changed a file')
      if id then
        roll_back(id)
      end
    end,
  },
  {
    name = 'output',
    args = '[id]',
    help = 'Show or hide the output window',
    menu = true,
    complete = ids(function()
      return true
    end),
    run = function(prefix)
      local id = prefix ~= '' and pick(prefix, is_active, 'run') or nil
      if prefix == '' or id then
        require('tideate.ui').toggle_output(id)
      end
    end,
  },
  { name = 'log', args = '', help = "Open the host's log", run = open_log },
  {
    name = 'trust',
    args = '[file]',
    help = "Trust the project's configuration and prompts, or a file, as they are now",
    complete = function(lead)
      return require('tideate.files').complete(lead, function()
        return true
      end)
    end,
    run = trust,
  },
  {
    name = 'install',
    args = '',
    help = "Make or renew the plugin's Python environment",
    run = function()
      require('tideate.install').run()
    end,
  },
  {
    name = 'health',
    args = '',
    help = 'Check the installation',
    menu = true,
    run = function()
      vim.cmd.checkhealth('tideate')
    end,
  },
}
