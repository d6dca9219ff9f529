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
  { key = 'adapters.*.base_url', type = 'string', help = 'Address of an OpenAI-compatible server, up to and with `/v1`.' },
  { key = 'adapters.*.model', type = 'string', help = "The model's name on that server; without an address `provider:model`." },
  { key = 'adapters.*.api_key_env', type = 'string', help = 'Environment variable that holds the key.' },
  { key = 'adapters.*.api_key_command', type = 'list', help = 'Program and arguments that print the key.' },
  { key = 'adapters.*.context_tokens', type = 'number', help = 'How many tokens the model takes, prompt and answer; by default what is known of the model.' },
  { key = 'adapters.*.tools', type = 'boolean', help = 'Whether its model can call tools; it can, unless this is false: then it is asked in one go.' },
  { key = 'adapters.*.timeout', type = 'number', help = 'Seconds without a byte from the server after which a request fails, and is made again, three times at most; 120 by default.' },
  { key = 'adapters.*.temperature', type = 'number', least = 0, help = 'How much chance there is in the answers.' },
  { key = 'adapters.*.max_tokens', type = 'number', help = 'How long an answer may be, in tokens, thoughts included.' },
  { key = 'adapters.*.thinking', type = 'level', help = 'Whether the model thinks before it answers: true, false, or how much: `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.' },
  { key = 'adapters.*.headers.*', type = 'string', help = 'A header that is sent with every request.' },
  { key = 'adapters.*.extra_body.*', type = 'any', help = 'A key that is added to the body of every request.' },
  { key = 'adapters.*.cache', type = 'boolean', help = 'Whether what prompts begin with is cached where the provider wants to be told; true by default.' },
  { key = 'rules', type = 'boolean', default = true, help = 'Whether what the project says of work on it (`AGENTS.md`, `CLAUDE.md`, `.cursorrules` and others) is sent with what a model is asked.' },
  { key = 'rules_files', type = 'list', default = {}, help = 'More files of the project that are sent so: a name, looked for in each directory down to a file, as `CONTEXT.md`; a path; or a pattern.' },
  { key = 'memory', type = 'boolean', default = true, help = "Whether the project's memory is sent to models: its `MEMORY.md` and the two nearest earlier runs." },
  { key = 'workflow.checkpoints', type = 'string', values = { 'files' }, help = 'With `files` the checkpoint after each step is also exported to `.tideate/checkpoints/checkpoint_TIME.json`. Each file holds all results of the run until then, so that long runs write much. Only you can read the files: they hold your code and the answers of models. Pruning a run removes its files.' },
  { key = 'workflows.*.adapter', type = 'string', help = 'The adapter of this workflow.' },
  { key = 'workflows.*.require_confirmation', type = 'boolean', help = 'Whether this workflow asks where a step wants a confirmation.' },
  { key = 'workflows.*.confirm', type = 'list', help = 'States of a machine that are entered only after a question.' },
  { key = 'workflows.*.tools', type = 'list', help = "Tools that a machine's model may call in every state: tideate's own, groups of them, `SERVER/TOOL`, `SERVER/*`." },
  { key = 'workflows.*.states.*.tools', type = 'list', help = 'The same in one state, in place of those; an empty list: none.' },
  { key = 'ui.output', type = 'string', default = 'float', values = { 'float', 'split', 'vsplit', 'tab' }, help = 'Where answers are shown.' },
  { key = 'ui.panel', type = 'string', default = 'auto', values = { 'auto', 'below', 'right' }, help = 'Where the panel of runs stands; `auto`: on the right from 160 columns on, else below.' },
  { key = 'ui.border', type = 'string', help = "Border of floating windows, as in `nvim_open_win()`; without this that of 'winborder', else `rounded`." },
  { key = 'ui.notify', type = 'boolean', default = true, help = 'Whether the end of a run is announced.' },
  { key = 'editor.staged_diagnostics', type = 'names', default = { 'basedpyright', 'pyright', 'ty' }, help = 'Language servers of yours, by their names in Neovim, that say what a staged edit breaks: a second one of it is started for a run, which takes as much memory as yours. `*`: all that you use; `off`: none.' },
  { key = 'limits.max_file_kib', type = 'number', default = 2048, help = 'Larger files are not sent to a model, in KiB.' },
  { key = 'limits.attempts', type = 'number', default = 3, help = 'How often a model is asked for an answer that can be used; an edit is not asked for again after two equal answers.' },
  { key = 'limits.revisions', type = 'number', default = 10, help = 'How often a model may be asked, in one review, to revise its edit as your comments say; 0: never.' },
  { key = 'limits.mention_tokens', type = 'number', default = 16000, help = 'How many tokens of material the mentions of a prompt bring, at four characters each.' },
  { key = 'limits.concurrency', type = 'number', default = 16, help = 'How many steps, or items of a `for_each`, one run works on at a time. By default a workflow whose steps only run handlers may run 64. The bundled model answers one prompt at a time.' },
  { key = 'limits.max_moves', type = 'number', default = 100, help = 'How many moves a machine may make before it moves out.' },
  { key = 'limits.max_visits', type = 'number', default = 10, help = 'How often a machine may come to the same state.' },
  { key = 'limits.turns', type = 'number', default = 60, help = 'How many turns models that work with tools may take in one step, in all its attempts; then what they did is offered. An item of a `for_each` counts as a step.' },
  { key = 'limits.tool_calls', type = 'number', default = 300, help = 'How many tools they may call in a step.' },
  { key = 'limits.tokens', type = 'number', help = 'How many tokens, read and written, these turns may take; no limit by default.' },
  { key = 'limits.run_turns', type = 'number', default = 1000, help = 'How many turns all steps of a run may take, with those of the runs within it.' },
  { key = 'limits.run_tool_calls', type = 'number', default = 5000, help = 'How many tools may be called in a run.' },
  { key = 'limits.run_tokens', type = 'number', help = 'How many tokens, read and written, the turns of a run may take; no limit by default.' },
  { key = 'limits.max_replans', type = 'number', default = 2, help = 'How many plans of a task the audit may reject before the task fails.' },
  { key = 'limits.cost_usd', type = 'number', help = 'How many US dollars a run may spend: the request that would pass it is not sent; edits that a model staged until then are offered, else the run fails. Where the price of a model is not known, that is said and nothing is stopped.' },
  { key = 'history.keep_runs', type = 'number', default = 1000, help = 'How many ended runs of each workflow `tideate history --prune` keeps.' },
  { key = 'history.max_age_days', type = 'number', help = 'How old a run may be that it keeps, in days; without this, however old.' },
  { key = 'history.max_mib', type = 'number', help = 'How large the files with large results may be together, in MiB; without this, however large.' },
  { key = 'mcp.strict', type = 'boolean', default = false, help = "Whether every message to and from a server is held against the protocol's schema, and the field that is wrong is named." },
  { key = 'mcp.servers.*.command', type = 'list', help = "Program and arguments of an MCP server, which runs in the project's root. tideate's own servers `git`, `filesystem`, `test` and `build` need none." },
  { key = 'mcp.servers.*.url', type = 'string', help = 'Address of an MCP server that runs already: `http://`, `https://`, `ws://` or `wss://`.' },
  { key = 'mcp.servers.*.environment.*', type = 'string', help = 'A variable that the program gets beside the few that every program gets.' },
  { key = 'mcp.servers.*.inherit', type = 'list', help = 'Names of variables of the editor that it gets too.' },
  { key = 'mcp.servers.*.token_env', type = 'string', help = 'Environment variable that holds the bearer token for the address.' },
  { key = 'mcp.servers.*.token_command', type = 'list', help = 'Program and arguments that print that token.' },
  { key = 'mcp.servers.*.timeout', type = 'number', help = 'Seconds that a call may take where the step does not say; 120 by default, 3600 for `test` and `build`.' },
  { key = 'mcp.servers.*.capabilities', type = 'list', help = 'What the server has to offer, as `tools` or `resources`; one that lacks any of it is not used.' },
  { key = 'mcp.servers.*.permissions', type = 'list', help = 'Patterns of tools, as `read_*`, that may be used, each with its question; all of them by default.' },
  { key = 'mcp.servers.*.enabled', type = 'boolean', help = 'Whether the server is there; true by default.' },
  { key = 'snapshots.keep', type = 'number', default = 10, help = 'How many snapshots of a project are kept.' },
  { key = 'snapshots.max_file_mib', type = 'number', default = 100, help = 'Larger files are left out of a snapshot, which says so; in MiB.' },
  { key = 'snapshots.max_total_mib', type = 'number', default = 4096, help = 'What does not fit into a snapshot is left out, which it says; in MiB.' },
  { key = 'snapshots.ignored_directories', type = 'boolean', default = false, help = 'Whether a snapshot takes in what is in directories that git ignores.' },
  { key = 'land.executed', type = 'string', default = 'ask', values = { 'ask', 'refuse' }, help = 'Files that other tools execute, such as `.envrc`, hooks and CI files. `ask`: they are written after your yes, and left out with `--yes`. `refuse`: they are always left out. What is left out is named.' },
  { key = 'login.store', type = 'string', default = 'file', values = { 'file', 'keyring' }, help = "Where `tideate login` keeps credentials: in a file that only you can read, or in your system's keyring (needs the extra `keyring`). Only in your own `config.toml`, as the shell reads it, too. `tideate login --move` moves those that are stored already." },
  { key = 'state.directory', type = 'string', help = 'Where everything private is kept, in place of `$XDG_STATE_HOME/tideate`: runs, snapshots, what can be rolled back, trust. Not for a project to say. `$TIDEATE_STATE` comes before it.' },
  { key = 'telemetry.otlp', type = 'string', help = 'Address of a receiver of OpenTelemetry (OTLP over HTTP), as `http://127.0.0.1:4318`, that runs, steps, turns of models and tool calls are sent to as spans; nothing is sent without it. Needs the extra `telemetry`.' },
  { key = 'telemetry.content', type = 'boolean', default = false, help = 'Whether spans have prompts, answers, arguments of tools and the words of errors, too.' },
  { key = 'verify.type_check', type = 'command', help = 'How types are checked: program and arguments, or `off` where the project has no such check; by default what is detected.' },
  { key = 'verify.lint', type = 'command', help = 'How the code is linted, in the same way.' },
  { key = 'verify.tests', type = 'command', help = 'How the tests are run, in the same way. `{files}` and `{pattern}`, each an argument of its own, stand for the tests that a model wants to run.' },
  { key = 'verify.build', type = 'command', help = 'How the project is built, in the same way.' },
  { key = 'verify.documentation', type = 'command', help = 'How the documentation is built, in the same way.' },
  { key = 'verify.timeout', type = 'number', default = 600, help = 'Seconds for each of these commands.' },
  { key = 'verify.environment.*', type = 'string', help = 'A variable that they get beside the few that every program gets.' },
  { key = 'verify.inherit', type = 'list', default = {}, help = 'Names of variables of the editor that they get too.' },
  { key = 'signs', type = 'boolean', lua = true, default = true, help = 'Whether the lines that a run was started on have a sign while it runs.' },
  { key = 'picker', type = 'string', lua = true, default = 'auto', values = { 'auto', 'select', 'snacks', 'telescope', 'fzf-lua', 'mini' }, help = 'What `:Workflow pick` chooses with: a plugin, or `select` for `vim.ui.select()`; `auto`: the first of snacks, telescope, fzf-lua and mini that is there.' },
  { key = 'python', type = 'string', lua = true, help = 'The Python interpreter of the host; by default the one that `:Workflow install` made.' },
  { key = 'log_level', type = 'string', lua = true, default = 'info', values = { 'debug', 'info', 'warning', 'error' }, help = 'What the host writes to its log.' },
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

--- Return the options of `setup()` without those for Lua only.
---@return table<string, any>
function M.for_host()
  local options = vim.deepcopy(given)
  for _, option in ipairs(M.schema) do
    if option.lua then
      options[option.key] = nil
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
