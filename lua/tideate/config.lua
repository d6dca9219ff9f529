--- Options: one schema for defaults, validation and help.
---
--- `setup()` is one of three sources. The host merges it with the `config.toml` of the user and of the
--- project and returns the result, so that Lua calls `get()` and never reads a file.
local M = {}

---@class tideate.Option
---@field key string dotted; `*` is a name chosen by the user
---@field type 'string'|'boolean'|'number'|'list'|'names'|'command'|'level'|'any' names and a command: a list, or `off`
---@field default? any nil: not set
---@field values? string[] allowed values
---@field least? integer smallest allowed number; default: any above 0
---@field lua? boolean only in `setup()`, not in `config.toml`
---@field help string

---@type tideate.Option[]
M.schema = {
  { key = 'adapter', type = 'string', default = 'local', help = 'Default model adapter: `local` (the bundled model, a demonstration), a name from `adapters`, or `provider:model`.' },
  { key = 'adapters.*.base_url', type = 'string', help = 'Address of an OpenAI-compatible server, including `/v1`.' },
  { key = 'adapters.*.model', type = 'string', help = 'Name of the model on this server; without `base_url`, `provider:model`.' },
  { key = 'adapters.*.acp', type = 'list', help = 'Program and arguments of an agent that speaks the Agent Client Protocol, instead of `base_url` and `model`.' },
  { key = 'adapters.*.options.*', type = 'any', help = 'Value of an option of the agent, by its id or category: `model`, `mode`.' },
  { key = 'adapters.*.api_key_env', type = 'string', help = 'Environment variable with the key.' },
  { key = 'adapters.*.api_key_command', type = 'list', help = 'Program and arguments that print the key.' },
  { key = 'adapters.*.context_tokens', type = 'number', help = 'Context window of the model in tokens, prompt and answer together; by default the known size.' },
  { key = 'adapters.*.tools', type = 'boolean', help = 'Whether the model can call tools. `false` asks for the whole answer in one request. Default: true.' },
  { key = 'adapters.*.timeout', type = 'number', help = 'Seconds without data from the server until a request fails. A failed request is repeated at most twice. Default: 120.' },
  { key = 'adapters.*.temperature', type = 'number', least = 0, help = 'Randomness of the answers.' },
  { key = 'adapters.*.max_tokens', type = 'number', help = 'Maximum length of an answer in tokens, including reasoning.' },
  { key = 'adapters.*.thinking', type = 'level', help = 'Reasoning before the answer: true, false, or an effort: `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.' },
  { key = 'adapters.*.headers.*', type = 'string', help = 'Extra header of each request.' },
  { key = 'adapters.*.extra_body.*', type = 'any', help = 'Extra key in the body of each request.' },
  { key = 'adapters.*.cache', type = 'boolean', help = 'Whether to request caching of the start of prompts, if the provider needs a request. Default: true.' },
  { key = 'agents.*.command', type = 'list', help = "Program and arguments that start the agent. The `agents` options can only be set in your own `config.toml`, as the shell reads it too." },
  { key = 'agents.*.writable', type = 'list', help = "Paths outside of the project whose changes are kept, besides the agent's own directories." },
  { key = 'agents.*.hidden', type = 'list', help = 'Paths that the agent cannot read, besides the usual places of secrets.' },
  { key = 'agents.*.visible', type = 'list', help = 'Paths that the agent can read although they are hidden by default.' },
  { key = 'agents.*.network', type = 'string', values = { 'on', 'loopback', 'off' }, help = 'Network of the agent: that of the machine, only local addresses of its own, or none. Default: on.' },
  { key = 'agents.*.permissions', type = 'string', values = { 'allow', 'ask' }, help = 'Answer to an agent that asks over ACP before a tool call: always yes, because you review its changes, or your answer. Default: allow.' },
  { key = 'agents.*.inherit', type = 'list', help = 'Names of environment variables to pass to the agent although they look like secrets.' },
  { key = 'rules', type = 'boolean', default = true, help = "Whether to send the project's instructions for AI tools (`AGENTS.md`, `CLAUDE.md`, `.cursorrules` and others) with each prompt." },
  { key = 'rules_files', type = 'list', default = {}, help = 'More files with instructions: a name looked for in each directory above a file, such as `CONTEXT.md`; a path; or a pattern.' },
  { key = 'memory', type = 'boolean', default = true, help = "Whether to send the project's memory to models: its `MEMORY.md` and the two most similar earlier runs." },
  { key = 'workflow.checkpoints', type = 'string', values = { 'files' }, help = '`files`: also export the checkpoint after each step to `.tideate/checkpoints/checkpoint_TIME.json`. Each file has all results of the run so far, so long runs write much. Only you can read the files: they contain your code and the answers of models. Pruning a run removes its files.' },
  { key = 'workflows.*.adapter', type = 'string', help = 'Adapter of this workflow.' },
  { key = 'workflows.*.require_confirmation', type = 'boolean', help = 'Whether this workflow asks before a step that requires a confirmation.' },
  { key = 'workflows.*.confirm', type = 'list', help = 'States of a machine to enter only after a confirmation.' },
  { key = 'workflows.*.tools', type = 'list', help = "Tools for the model in every state of a machine: tideate's own tools, groups of them, `SERVER/TOOL` or `SERVER/*`." },
  { key = 'workflows.*.states.*.tools', type = 'list', help = 'Tools in this state, instead of the tools of the workflow; an empty list allows none.' },
  { key = 'ui.output', type = 'string', default = 'float', values = { 'float', 'split', 'vsplit', 'tab' }, help = 'Where to show answers.' },
  { key = 'ui.panel', type = 'string', default = 'auto', values = { 'auto', 'below', 'right' }, help = 'Position of the panel of runs. `auto`: on the right from 160 columns, else below.' },
  { key = 'ui.border', type = 'string', help = "Border of floating windows, as for `nvim_open_win()`; by default 'winborder', else `rounded`." },
  { key = 'ui.notify', type = 'boolean', default = true, help = 'Whether to announce the end of a run.' },
  { key = 'editor.staged_diagnostics', type = 'names', default = { 'basedpyright', 'pyright', 'ty' }, help = 'Language servers, by their names in Neovim, that check staged edits. Each run starts a second instance of each server, which needs as much memory as the first. `*`: all active servers; `off`: none.' },
  { key = 'limits.max_file_kib', type = 'number', default = 2048, help = 'Largest file to send to a model, in KiB.' },
  { key = 'limits.attempts', type = 'number', default = 3, help = 'Maximum requests to a model for a usable answer. If the model repeats an answer, an edit or its errors, tideate stops earlier.' },
  { key = 'limits.revisions', type = 'number', default = 10, help = 'Revisions that a model may make in one review, from your comments; 0 for none.' },
  { key = 'limits.mention_tokens', type = 'number', default = 16000, help = 'Maximum size of the material from mentions in a prompt, in tokens of four characters.' },
  { key = 'limits.concurrency', type = 'number', default = 16, help = 'Steps, or items of a `for_each`, that one run works on at a time. The default is 64 for a workflow that only runs handlers. The bundled model answers one prompt at a time.' },
  { key = 'limits.max_moves', type = 'number', default = 100, help = 'Moves of a machine until it must leave.' },
  { key = 'limits.max_visits', type = 'number', default = 10, help = 'Visits of a machine to one state.' },
  { key = 'limits.turns', type = 'number', default = 60, help = 'Turns of models with tools in one step, over all its attempts; after the last one you review the work so far. Each item of a `for_each` counts as a step.' },
  { key = 'limits.tool_calls', type = 'number', default = 300, help = 'Tool calls in one step.' },
  { key = 'limits.tokens', type = 'number', help = 'Tokens, read and written, for the turns of one step; unlimited by default.' },
  { key = 'limits.run_turns', type = 'number', default = 1000, help = 'Turns in all steps of a run and of its child runs.' },
  { key = 'limits.run_tool_calls', type = 'number', default = 5000, help = 'Tool calls in a run.' },
  { key = 'limits.run_tokens', type = 'number', help = 'Tokens, read and written, for all turns of a run; unlimited by default.' },
  { key = 'limits.max_replans', type = 'number', default = 2, help = 'Plans of a task that its audit may reject before the task fails.' },
  { key = 'limits.cost_usd', type = 'number', help = 'Maximum cost of a run in US dollars. A request that would exceed it is not sent: you review the edits staged so far, or the run fails. If the price of a model is unknown, a notice reports it, and this limit does not apply to its requests.' },
  { key = 'history.keep_runs', type = 'number', default = 1000, help = 'Ended runs of each workflow to keep in `tideate history --prune`.' },
  { key = 'history.max_age_days', type = 'number', help = 'Maximum age of the kept runs, in days; unlimited by default.' },
  { key = 'history.max_mib', type = 'number', help = 'Maximum size of all files with large results, in MiB; unlimited by default.' },
  { key = 'mcp.strict', type = 'boolean', default = false, help = "Whether to validate each message of an MCP server against the protocol's schema and name the invalid field." },
  { key = 'mcp.servers.*.command', type = 'list', help = "Program and arguments of an MCP server, started in the project's root. tideate's own servers `git`, `filesystem`, `test` and `build` need none." },
  { key = 'mcp.servers.*.url', type = 'string', help = 'Address of a running MCP server: `http://`, `https://`, `ws://` or `wss://`.' },
  { key = 'mcp.servers.*.environment.*', type = 'string', help = 'Extra environment variable of the program.' },
  { key = 'mcp.servers.*.inherit', type = 'list', help = "Names of the editor's environment variables to pass to the program." },
  { key = 'mcp.servers.*.token_env', type = 'string', help = 'Environment variable with the bearer token for the address.' },
  { key = 'mcp.servers.*.token_command', type = 'list', help = 'Program and arguments that print the bearer token.' },
  { key = 'mcp.servers.*.timeout', type = 'number', help = 'Time limit of a call in seconds, if the step has none. Default: 120, or 3600 for `test` and `build`.' },
  { key = 'mcp.servers.*.capabilities', type = 'list', help = 'Capabilities that the server must have, such as `tools` or `resources`; without them it is not used.' },
  { key = 'mcp.servers.*.permissions', type = 'list', help = 'Patterns of the tools to allow, such as `read_*`, each call after a question. Default: all.' },
  { key = 'mcp.servers.*.enabled', type = 'boolean', help = 'Whether to use the server. Default: true.' },
  { key = 'snapshots.keep', type = 'number', default = 10, help = 'Snapshots to keep for each project.' },
  { key = 'snapshots.max_file_mib', type = 'number', default = 100, help = 'Largest file in a snapshot, in MiB; the snapshot names the files left out.' },
  { key = 'snapshots.max_total_mib', type = 'number', default = 4096, help = 'Largest size of a snapshot, in MiB; the snapshot names the files left out.' },
  { key = 'snapshots.ignored_directories', type = 'boolean', default = false, help = 'Whether a snapshot includes directories ignored by git.' },
  { key = 'ci.at_gate', type = 'string', default = 'ask', values = { 'ask', 'leave' }, help = 'Action at a question that needs a person, in a shell without a terminal. `ask`: decline it. `leave`: publish the run for a reviewer elsewhere.' },
  { key = 'ci.remote', type = 'string', default = 'origin', help = 'Remote to which the shell publishes runs.' },
  { key = 'inbox.refs', type = 'string', default = 'auto', values = { 'auto', 'refs', 'branches' }, help = 'Where to publish runs: below `refs/tideate`, as branches `tideate/…`, or as branches if the remote refuses other refs. Only your own `config.toml` can set the `inbox` options.' },
  { key = 'inbox.sign', type = 'boolean', default = false, help = 'Whether to sign runs and answers with `user.signingKey` even if `commit.gpgSign` is off.' },
  { key = 'inbox.allow', type = 'list', default = {}, help = 'Fingerprints of SSH keys (`SHA256:…`) and OpenPGP keys (`0x…`), or e-mail addresses, whose signatures count for runs and answers. By default, runs and answers need no signature.' },
  { key = 'inbox.max_fetch_mib', type = 'number', default = 512, help = 'Largest fetch of the inbox, in MiB; nothing of a larger one is kept.' },
  { key = 'fleet.database', type = 'string', help = 'Address of the PostgreSQL database of a fleet, without a password. Only your own `config.toml` can set the `fleet` options.' },
  { key = 'fleet.password_command', type = 'list', help = "Program and arguments that print the database's password." },
  { key = 'fleet.secret_command', type = 'list', help = 'Program and arguments that print the secret that the workers of a fleet share.' },
  { key = 'fleet.key', type = 'string', help = 'File of the SSH key that signs your submissions. By default it is `user.signingKey` of git.' },
  { key = 'fleet.allow', type = 'list', default = {}, help = 'Fingerprints of SSH keys (`SHA256:…`), or public keys, whose submissions a worker runs.' },
  { key = 'fleet.bundle_every', type = 'number', default = 5, help = 'Number of model turns after which a worker stores a bundle of the run.' },
  { key = 'fleet.rates.*', type = 'string', help = 'Rate limit of a provider or adapter for all workers together: starts of legs, as `NUMBER/SECONDS`.' },
  { key = 'land.executed', type = 'string', default = 'ask', values = { 'ask', 'refuse' }, help = 'Files that other tools execute, such as `.envrc`, hooks and CI files. `ask`: write them after your confirmation; `--yes` leaves them out. `refuse`: always leave them out. A notice names the files left out.' },
  { key = 'login.store', type = 'string', default = 'file', values = { 'file', 'keyring' }, help = 'Where `tideate login` stores credentials: in a file that only you can read, or in the keyring of the system (needs the extra `keyring`). Only your own `config.toml` can set it, as the shell reads it too. `tideate login --move` moves stored credentials.' },
  { key = 'state.directory', type = 'string', help = 'Directory of all private data, instead of `$XDG_STATE_HOME/tideate`: runs, snapshots, rollback data, trust. A project cannot set it; `$TIDEATE_STATE` overrides it.' },
  { key = 'telemetry.otlp', type = 'string', help = 'Address of an OpenTelemetry receiver (OTLP over HTTP), such as `http://127.0.0.1:4318`, for spans of runs, steps, turns of models and tool calls. Without it nothing is sent. Needs the extra `telemetry`.' },
  { key = 'telemetry.content', type = 'boolean', default = false, help = 'Whether spans include prompts, answers, arguments of tools and texts of errors.' },
  { key = 'verify.type_check', type = 'command', help = 'Command of the type check: program and arguments, or `off` if the project has none. By default it is detected.' },
  { key = 'verify.lint', type = 'command', help = 'Command of the linter, in the same form.' },
  { key = 'verify.tests', type = 'command', help = 'Command of the tests, in the same form. The separate arguments `{files}` and `{pattern}` are replaced by the tests that a model wants to run.' },
  { key = 'verify.build', type = 'command', help = 'Command of the build, in the same form.' },
  { key = 'verify.documentation', type = 'command', help = 'Command that builds the documentation, in the same form.' },
  { key = 'verify.timeout', type = 'number', default = 600, help = 'Time limit of each of these commands, in seconds.' },
  { key = 'verify.environment.*', type = 'string', help = 'Extra environment variable of these commands.' },
  { key = 'verify.inherit', type = 'list', default = {}, help = "Names of the editor's environment variables to pass to these commands." },
  { key = 'watch.enabled', type = 'boolean', default = false, help = 'Whether Neovim also makes the snapshots of `tideate watch`. Set in `setup()`, it starts the host a second after Neovim; else the watch begins with the first use of the host.' },
  { key = 'watch.settle', type = 'number', default = 2, help = 'Seconds without a change until a snapshot. If the files never settle, tideate makes one after 15 times as long.' },
  { key = 'watch.keep', type = 'number', least = 2, default = 100, help = 'Snapshots of a watch to keep. The older they are, the farther apart they are kept.' },
  { key = 'watch.max_mib', type = 'number', default = 1024, help = 'Largest size of all snapshots of a watch on disk, in MiB.' },
  { key = 'watch.leave_out', type = 'list', default = { '.tox', '.venv', '__pycache__', 'node_modules', 'venv' }, help = 'Names of directories to leave out if git ignores them. Directories with a `CACHEDIR.TAG`, such as caches and `target/`, are left out, too.' },
  { key = 'inbox.fetch_minutes', type = 'number', lua = true, help = 'Minutes between two fetches of the questions in the git remotes of the project; the first fetch starts the host a second after Neovim. By default, only `:Workflow inbox` fetches.' },
  { key = 'signs', type = 'boolean', lua = true, default = true, help = 'Whether to mark the lines of a run with signs while it runs.' },
  { key = 'picker', type = 'string', lua = true, default = 'auto', values = { 'auto', 'select', 'snacks', 'telescope', 'fzf-lua', 'mini' }, help = 'Picker of `:Workflow pick`: a plugin, or `select` for `vim.ui.select()`. `auto`: the first installed one of snacks, telescope, fzf-lua and mini.' },
  { key = 'python', type = 'string', lua = true, help = 'Python interpreter of the host; by default the one that `:Workflow install` creates.' },
  { key = 'log_level', type = 'string', lua = true, default = 'info', values = { 'debug', 'info', 'warning', 'error' }, help = "Level of the host's log." },
}

---@type table<string, any> options of `setup()`
local given = {}
---@type table<string, any> merged options from the host
local resolved = {}

---@param options table<string, any>
---@param key string
---@return any
local function at(options, key)
  local value = options ---@type any
  for part in vim.gsplit(key, '.', { plain = true }) do
    if type(value) ~= 'table' then
      return nil
    end
    value = value[part]
  end
  return value
end

---@param path string[]
---@return tideate.Option? option, boolean section whether the schema has keys below this path
---@return string[] known valid last parts of the path
local function look_up(path)
  local known, found, section = {}, nil, false
  for _, option in ipairs(M.schema) do
    local parts = vim.split(option.key, '.', { plain = true })
    local same = true
    for i = 1, #path - 1 do
      same = same and (parts[i] == path[i] or parts[i] == '*')
    end
    local last = parts[#path]
    if same and last then
      if not vim.list_contains(known, last) then
        known[#known + 1] = last
      end
      if last == path[#path] or last == '*' then
        found = #parts == #path and option or found
        section = section or #parts > #path
      end
    end
  end
  return found, section, known
end

local LEVELS = { 'minimal', 'low', 'medium', 'high', 'xhigh', 'max' }

---@type table<string, fun(value: any): boolean>
local is = {
  string = function(value)
    return type(value) == 'string'
  end,
  boolean = function(value)
    return type(value) == 'boolean'
  end,
  number = function(value)
    return type(value) == 'number' and value > 0
  end,
  list = function(value)
    return vim.islist(value) and #value > 0
  end,
  names = function(value)
    return value == 'off' or (type(value) == 'table' and vim.islist(value) and #value > 0)
  end,
  command = function(value)
    return value == 'off' or (type(value) == 'table' and vim.islist(value) and #value > 0)
  end,
  level = function(value)
    return type(value) == 'boolean' or vim.list_contains(LEVELS, value)
  end,
  any = function()
    return true
  end,
}

---@type table<string, string> descriptions of types for errors
local shapes = {
  number = 'number above 0',
  command = "list of program and arguments, or 'off'",
  names = "list of names, or 'off'",
  level = 'boolean, or one of ' .. table.concat(LEVELS, ', '),
}

---@param option tideate.Option
---@param where string
---@param value any
---@return string? err
local function check_value(option, where, value)
  local enough = option.least and type(value) == 'number' and value >= option.least
  if not (enough or is[option.type](value)) then
    local shape = option.least and 'number from ' .. option.least or shapes[option.type] or option.type
    return ('%s: expected a %s, got %s'):format(where, shape, vim.inspect(value))
  end
  if option.values and not vim.list_contains(option.values, value) then
    local hint = require('tideate.did_you_mean').hint(value, option.values)
    return ("%s: '%s' is none of %s%s"):format(where, value, table.concat(option.values, ', '), hint)
  end
end

---@param options table<string, any>
---@param path string[]
---@param errors string[]
local function check(options, path, errors)
  local keys = vim.tbl_keys(options)
  -- tostring: a list has numbers for keys
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for _, key in ipairs(keys) do
    local value = options[key]
    local here = vim.list_extend(vim.deepcopy(path), { tostring(key) })
    local where = table.concat(here, '.')
    local option, section, known = look_up(here)
    if option then
      errors[#errors + 1] = check_value(option, where, value)
    elseif not section then
      local hint = require('tideate.did_you_mean').hint(tostring(key), known)
      errors[#errors + 1] = ("unknown option '%s'%s"):format(where, hint)
    elseif type(value) ~= 'table' then
      errors[#errors + 1] = ('%s: expected a table, got %s'):format(where, vim.inspect(value))
    else
      check(value, here, errors)
    end
  end
end

--- Return all mistakes in options.
---@param options any
---@return string[] errors
function M.validate(options)
  if type(options) ~= 'table' then
    return { ('setup() takes a table, got %s'):format(type(options)) }
  end
  local errors = {}
  check(options, {}, errors)
  return errors
end

--- Set the options of `setup()`; on a mistake the previous ones stay. A host with other options is
--- replaced when it is idle.
---@param options? table<string, any>
---@return boolean ok, string? err
function M.set(options)
  local errors = M.validate(options or {})
  if #errors > 0 then
    return false, 'tideate: setup(): ' .. table.concat(errors, '\ntideate: setup(): ')
  end
  options = options or {}
  if vim.deep_equal(given, options) then
    return true
  end
  given, resolved = vim.deepcopy(options), {}
  local minutes = at(given, 'inbox.fetch_minutes')
  -- without the option nothing is loaded
  if minutes or package.loaded['tideate.inbox_fetching'] then
    require('tideate.inbox_fetching').every(minutes)
  end
  -- a host that was never loaded has not started
  if package.loaded['tideate.host'] then
    require('tideate.host').options_changed()
  end
  return true
end

--- Return the value of an option: from the host, else from `setup()`, else the default.
---@param key string dotted, e.g. `ui.output`
---@return any
function M.get(key)
  for _, options in ipairs({ resolved, given }) do
    local value = at(options, key)
    if value ~= nil and value ~= vim.NIL then
      return value
    end
  end
  local option = look_up(vim.split(key, '.', { plain = true }))
  return option and option.default
end

--- Convert empty tables to dictionaries: Python would read them as lists.
---@param options table<string, any>
---@return table<string, any>
local function as_maps(options)
  if next(options) == nil then
    return vim.empty_dict()
  end
  for key, value in pairs(options) do
    options[key] = type(value) == 'table' and as_maps(value) or value
  end
  return options
end

--- Remove a value, and the sections that are empty without it.
---@param options table<string, any>
---@param path string[]
local function remove(options, path)
  local value = options[path[1]]
  if #path > 1 and type(value) == 'table' then
    remove(value, vim.list_slice(path, 2))
  end
  if #path == 1 or type(value) == 'table' and next(value) == nil then
    options[path[1]] = nil
  end
end

--- Return the options of `setup()` without those for Lua only.
---@return table<string, any>
function M.for_host()
  local options = vim.deepcopy(given)
  for _, option in ipairs(M.schema) do
    if option.lua then
      remove(options, vim.split(option.key, '.', { plain = true }))
    end
  end
  return as_maps(options)
end

--- Store the merged configuration from the host.
---@param options table<string, any>
function M.resolve(options)
  resolved = options
end

return M
