-- Run by public_surface.py in a headless Neovim: all that a person's configuration can hold on to, as JSON.
vim.opt.runtimepath:prepend(vim.env.TIDEATE_REPOSITORY)
local before = vim.api.nvim_get_commands({})
vim.cmd.runtime('plugin/tideate.lua')

--- The Lua interface.
---@return table<string, string> kind and number of parameters by name
local function functions()
  local out = {}
  for name, value in pairs(require('tideate')) do
    local info = type(value) == 'function' and debug.getinfo(value, 'u')
    out[name] = info and ('function, %d parameters'):format(info.nparams) or type(value)
  end
  return out
end

--- The commands that the plugin adds to Neovim.
---@return table<string, string> attributes by name
local function commands()
  local out = {}
  for name, command in pairs(vim.api.nvim_get_commands({})) do
    if not before[name] then
      out[name] = ('nargs=%s range=%s bang=%s'):format(command.nargs, tostring(command.range), tostring(command.bang))
    end
  end
  return out
end

---@return table<string, string> the keys that a mapping stands for, by mode and `<Plug>` name
local function mappings()
  local out = {}
  for _, mode in ipairs({ 'n', 'x', 'o', 'i', 's', 't', 'c' }) do
    for _, mapping in ipairs(vim.api.nvim_get_keymap(mode)) do
      if vim.startswith(mapping.lhs, '<Plug>(tideate') then
        out[mode .. ' ' .. mapping.lhs] = mapping.rhs
      end
    end
  end
  return out
end

--- What completion offers after `:Workflow`, without the workflows.
---@param workflows table<string, boolean>
local function subcommands(workflows)
  return vim.tbl_filter(function(name)
    return not workflows[name]
  end, vim.fn.getcompletion('Workflow ', 'cmdline'))
end

--- Those of these names that no workflow may take.
---@param names string[]
local function reserved(names)
  return vim.tbl_filter(function(name)
    local ok = require('tideate').register(name, { steps = { 'a' }, handlers = { a = function() end } })
    return not ok
  end, names)
end

---@param events string[] their names on the wire
---@return table<string, string|false> the autocmd's pattern by event
local function autocmds(events)
  local out = {}
  local fired
  vim.notify = function() end
  vim.api.nvim_create_autocmd('User', {
    pattern = 'Tideate*',
    callback = function(event)
      fired = event.match
    end,
  })
  for _, name in ipairs(events) do
    fired = nil
    require('tideate.events').dispatch({ name = name, execution_id = 'x', at = 0, data = {} })
    out[name] = fired or false
  end
  return out
end

---@return table<string, table> the options of `setup()` by key
local function options()
  local out = {}
  for _, option in ipairs(require('tideate.config').schema) do
    out[option.key] = { type = option.type, default = option.default, values = option.values, setup_only = option.lua }
  end
  return out
end

local workflows = {}
for _, workflow in ipairs(require('tideate').list()) do
  workflows[workflow.name] = true
end
local found = subcommands(workflows)
local candidates = vim.list_extend(vim.deepcopy(found), vim.json.decode(vim.env.TIDEATE_CANDIDATES))
local surface = {
  functions = functions(),
  workflows = vim.tbl_keys(workflows),
  commands = commands(),
  mappings = mappings(),
  subcommands = found,
  reserved_names = reserved(candidates),
  options = options(),
  autocmds = autocmds(vim.json.decode(vim.env.TIDEATE_EVENTS)),
}
io.stdout:write(vim.json.encode(surface))
