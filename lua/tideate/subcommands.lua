--- Table of the subcommands of `:Workflow`: function, arguments, completion and help, in the help's order.

local ui = require('tideate.ui')

---@class tideate.Subcommand
---@field name string
---@field args string arguments in the help
---@field help string
---@field menu? boolean offered by the bare `:Workflow`
---@field complete? fun(lead: string): string[]
---@field on_code? boolean acts on the range or the current buffer
---@field run fun(rest: string, command: tideate.Subcommand, context: tideate.Context?)

local run_choice = require('tideate.run_choice')

local function show_list()
  local folder = require('tideate.context').folder()
  require('tideate.client').request_or_tell('list', { folder = folder }, function(result)
    require('tideate.registry').set_host_workflows(result.workflows)
    require('tideate.ui.pages.workflows').show(require('tideate.registry').list(), result.notices or {})
  end)
end

---@param module string
---@param name string
---@return fun(...): any calls the function of a module that is loaded then
local function call(module, name)
  return function(...)
    return require('tideate.' .. module)[name](...)
  end
end

---@param prefix string
local function checkpoint(prefix)
  local id = run_choice.found(prefix, run_choice.is_active) or prefix
  if id == '' then
    return ui.warn('nothing is running; `C` in `:Workflow show` lists the checkpoints of a run')
  end
  require('tideate.stored_runs').ask('checkpoint', { execution_id = id }, function(result)
    ui.notify(require('tideate.ui.run_actions').made(result))
    require('tideate.ui.pages.run_page').refresh()
    require('tideate.ui.panel').refresh()
  end)
end

local function open_log()
  local path = require('tideate.paths').log_path()
  if not vim.uv.fs_stat(path) then
    return ui.notify(('there is no log yet; it will be %s'):format(path))
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
    help = 'Cancel one run at once, several after a confirmation; `:Workflow review` reopens the review of a cancelled run',
    menu = true,
    complete = run_choice.ids(run_choice.is_active),
    run = function(prefix)
      local id = prefix ~= '' and run_choice.pick(prefix, run_choice.is_active, 'run') or nil
      if prefix ~= '' and not id then
        return
      end
      local runs = id and {} or vim.tbl_filter(run_choice.is_active, require('tideate.state').runs())
      require('tideate.ui.run_actions').cancel_all(runs, function()
        if not require('tideate').cancel(id) then
          ui.notify('nothing is running')
        end
      end)
    end,
  },
  {
    name = 'pause',
    args = '[id]',
    help = "Pause a run before its next step, or its model's next turn",
    complete = run_choice.ids(run_choice.is_active),
    run = function(prefix)
      local id = run_choice.pick(prefix, run_choice.is_active, 'running workflow')
      if id and not require('tideate').pause(id) then
        ui.notify('this run has ended')
      end
    end,
  },
  {
    name = 'say',
    args = '[id] {text}',
    help = 'Send a message to the model of a run, which reads it before its next turn',
    complete = run_choice.ids(run_choice.is_active),
    run = function(rest)
      local prefix, text = run_choice.split(rest, run_choice.is_active)
      local id = run_choice.pick(prefix, run_choice.is_active, 'running workflow')
      if id then
        require('tideate').say(id, text)
      end
    end,
  },
  {
    name = 'resume',
    args = '[id] [--definition=file|stored]',
    help = "Resume a paused run, or a run of an ended Neovim or shell; without an id the newest one, after a confirmation. Completed steps are not repeated. If the workflow changed since, `--definition` chooses its current or the run's own definition; otherwise you are asked",
    menu = true,
    complete = run_choice.resumable,
    run = function(rest)
      local prefix, definition = run_choice.resumed(rest)
      if prefix then
        local id = run_choice.found(prefix, run_choice.is_paused) or prefix
        require('tideate').resume(id, { definition = definition, ask = id == '' })
      end
    end,
  },
  {
    name = 'review',
    args = '[id, ref, snapshot, patch or path] [path]',
    help = "Reopen a waiting review, of this Neovim or of an ended Neovim or shell, with its decisions. With a run's id: the review of this run, even a declined one. With another argument, review changes of other programs: since a commit (`HEAD`), a branch or a snapshot, in a patch file, or in a folder or file since the last commit; rejected changes are reverted",
    menu = true,
    complete = call('review_changes', 'complete'),
    run = function(rest)
      if rest == '' then
        return require('tideate.stored_runs').review()
      end
      local function start()
        require('tideate.review_changes').start(rest)
      end
      if rest ~= 'last' and not rest:match('^%x%x%x%x+$') or vim.uv.fs_lstat(rest) then
        return start()
      end
      require('tideate.stored_runs').review_of(rest, start)
    end,
  },
  {
    name = 'retry',
    args = '[id[.step]] [--definition=file]',
    help = "Repeat an ended run, by default the newest failed one, from a step on, by default the first failed one, after a confirmation. Earlier results are reused. If the workflow changed since, the run's own definition is used, or with `--definition=file` the current one",
    complete = run_choice.steps,
    run = function(rest)
      local params = run_choice.retried(rest)
      if params then
        require('tideate.ui.run_actions').retry(params)
      end
    end,
  },
  {
    name = 'fork',
    args = '[id[.step]]',
    help = 'Start a new run from a step of an ended run, with another prompt, inputs, results or model. Change them in a form, and start the run with `:w`. Without an ID, choose the run',
    complete = run_choice.steps,
    run = call('ui.panel.fork', 'command'),
  },
  {
    name = 'diff',
    args = '[id] [id]',
    help = 'Compare two runs: inputs, steps, answers, files, checks, tokens, cost and time. Choose the runs that you do not name',
    complete = run_choice.stored_ids(run_choice.any, run_choice.any),
    run = call('ui.pages.comparison', 'command'),
  },
  {
    name = 'compare',
    args = '[workflow] [--models=a,b|--agents=a,b] [prompt]',
    help = 'Run one prompt with several models, then accept one answer, or hunks of several; `compare id` continues an interrupted comparison',
    menu = true,
    on_code = true,
    complete = call('compare', 'complete'),
    run = function(rest, _, context)
      if rest:match('^%x%x%x%x+$') then
        return require('tideate.compare').resume(rest)
      end
      require('tideate.compare').run(rest, context or require('tideate.context').capture())
    end,
  },
  {
    name = 'status',
    args = '',
    help = "Show or hide the panel of runs: active runs with their steps, turns of models and tool calls, and the project's earlier runs",
    menu = true,
    run = call('ui.panel', 'toggle'),
  },
  {
    name = 'history',
    args = '[name|text] [state]',
    help = "Show the project's runs in the panel, including runs of earlier Neovims and of the shell: all, or only runs with a name, a state or words; matching words are shown below each run. `workflow:refactor`, `file:a.py` and `since:2d` (or a date) filter further; `rolled-back` is a state too",
    menu = true,
    complete = call('ui.panel.list', 'words'),
    run = function(rest)
      require('tideate.ui.panel').open({ filter = rest })
    end,
  },
  {
    name = 'show',
    args = '[id]',
    help = 'Show a run with its steps, their results and its events',
    complete = run_choice.stored_ids(run_choice.any, run_choice.any),
    run = function(prefix)
      require('tideate.ui.pages.run_page').show(prefix ~= '' and prefix or nil)
    end,
  },
  {
    name = 'export',
    args = '[id] [markdown|json] [file]',
    help = 'Export a run, by default the newest, with its conversations, as Markdown or JSON, to a new buffer or a new file; the name of the file sets the format',
    complete = call('run_export', 'complete'),
    run = call('run_export', 'run'),
  },
  {
    name = 'checkpoint',
    args = '[id]',
    help = 'Create a checkpoint of the current state of a run; `C` in the window of a run lists and restores checkpoints',
    complete = run_choice.ids(run_choice.is_active),
    run = checkpoint,
  },
  {
    name = 'chat',
    args = '[id, last or new]',
    help = 'Open the last conversation of the project, one by its ID, or a new one. The next message includes the selected lines',
    menu = true,
    on_code = true,
    complete = call('ui.chat', 'complete'),
    run = call('ui.chat', 'run'),
  },
  {
    name = 'pick',
    args = '[what] [id]',
    help = "Choose with your picker: `runs` (the default), `workflows`, `models`, or `files` that a run changed",
    complete = call('pick', 'complete'),
    run = call('pick', 'run'),
  },
  { name = 'list', args = '', help = 'Show the workflows', menu = true, run = show_list },
  {
    name = 'graph',
    args = '[name|file]',
    help = 'Draw the states or steps of a workflow: the named one, else that of the buffer, else the running one',
    complete = call('workflow_lookup', 'complete'),
    run = call('workflow_lookup', 'show_graph'),
  },
  {
    name = 'context',
    args = '',
    help = 'Show the mentions (@) for prompts, with the content of each',
    menu = true,
    run = call('ui.pages.contexts', 'show'),
  },
  {
    name = 'model',
    args = '[--workflow=name] [model]',
    help = 'Choose the model for this Neovim, for all workflows or for one; `default` is the configured model',
    menu = true,
    complete = call('model_choice', 'complete'),
    run = call('model_choice', 'run'),
  },
  {
    name = 'login',
    args = '[provider|cancel]',
    help = 'Log in to a model provider, or store its key; without a name, choose from a list',
    menu = true,
    complete = call('login', 'complete'),
    run = call('login', 'run'),
  },
  {
    name = 'tools',
    args = '',
    help = "Show the project's MCP servers and their tools",
    menu = true,
    run = call('ui.pages.tools', 'show'),
  },
  {
    name = 'snapshot',
    args = '[name]',
    help = "Show the project's snapshots, to compare and restore; with a name, create one",
    menu = true,
    run = call('ui.pages.snapshots', 'run'),
  },
  {
    name = 'rollback',
    args = '[id]',
    help = 'Roll back the files that a run changed, after a list of them: by default the newest run of this Neovim, else a run chosen from the project',
    complete = run_choice.stored_ids(function()
      return false -- only the host knows which runs changed files
    end, run_choice.can('rollback')),
    run = function(prefix)
      local actions = require('tideate.ui.run_actions')
      if prefix == '' then
        actions.choose_to_roll_back()
      else
        actions.roll_back(prefix)
      end
    end,
  },
  {
    name = 'commit',
    args = '[id]',
    help = "Commit only the changes of a run, by default the newest run of this Neovim. The message opens in a buffer: `:w` commits, and `:q` keeps the message. Your other changes stay uncommitted",
    menu = true,
    complete = run_choice.stored_ids(function()
      return false -- only the host knows which runs changed files
    end, run_choice.can('rollback')),
    run = call('commit', 'command'),
  },
  {
    name = 'guard',
    args = '{command}',
    help = 'Run a program, such as an AI agent, in a terminal window and in a private copy of the project, with your unsaved changes. `gl` in the window, or the end of the program, opens the review of its changes. `--agent NAME` before the command names the agent behind it',
    run = call('guard', 'command'),
  },
  {
    name = 'land',
    args = '[id]',
    help = "Review the changes of a guarded program, even while it runs, and write the accepted ones; without an ID, those of the project's only session, or of the one that you choose. In the panel, `p` runs the program of a session again, and `c` discards it",
    menu = true,
    complete = call('guard', 'complete'),
    run = call('guard', 'choose_to_land'),
  },
  {
    name = 'inbox',
    args = '[remote]',
    help = 'Fetch and list the questions of runs that wait in the git remotes of the project, such as runs of CI. `<CR>` opens a question as if its run were here, and `a` continues the run here',
    menu = true,
    complete = call('inbox', 'complete'),
    run = call('inbox', 'command'),
  },
  {
    name = 'output',
    args = '[id]',
    help = 'Show or hide the output window',
    menu = true,
    complete = run_choice.ids(run_choice.any),
    run = function(prefix)
      local id = prefix ~= '' and run_choice.pick(prefix, run_choice.is_active, 'run') or nil
      if prefix == '' or id then
        ui.toggle_output(id)
      end
    end,
  },
  { name = 'log', args = '', help = "Open the host's log", run = open_log },
  {
    name = 'trust',
    args = '[file]',
    help = 'Show the programs that the project, or a file, could run, and trust its present content',
    complete = call('file_completion', 'complete'),
    run = call('trust', 'trust'),
  },
  {
    name = 'install',
    args = '[extra]',
    help = "Create or update the plugin's Python environment, or add an extra to it: `acp`, `anthropic`, `fleet`, `google`, `keyring` or `telemetry`",
    complete = call('install', 'complete'),
    run = call('install', 'command'),
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
