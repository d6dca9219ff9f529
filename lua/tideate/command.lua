--- `:Workflow` as typed: parses the line, runs the subcommand or workflow, completes, opens the menu.
local M = {}

local ui = require('tideate.ui')

--- Subcommands of `:Workflow`; every other name is a workflow.
---@type tideate.Subcommand[]
M.subcommands = require('tideate.subcommands')

---@type table<string, string> alias → subcommand
local ALIASES = { logs = 'log' }

---@param name string
---@return tideate.Subcommand?
local function find(name)
  name = ALIASES[name] or name
  for _, command in ipairs(M.subcommands) do
    if command.name == name then
      return command
    end
  end
end

--- Return whether a name is a subcommand.
---@param name string
---@return boolean
function M.reserved(name)
  return find(name) ~= nil
end

--- Split arguments into the first word and the rest. A blank in a file name is written `\ `.
---@param args string
---@return string name, string rest
local function split(args)
  args = vim.trim(args)
  local name, rest = args:gsub('\\ ', '\0'):match('^(%S*)(.*)$')
  return (name:gsub('%z', ' ')), vim.trim((rest:gsub('%z', '\\ ')))
end

---@param name string
---@param rest string
---@param context tideate.Context?
---@param bang? boolean continue the newest conversation
local function dispatch(name, rest, context, bang)
  local command = find(name)
  if command and bang then
    local text = ('`:Workflow %s` takes no `!`'):format(name)
    return ui.fail(text)
  elseif command and command.args == '' and rest ~= '' then
    local text = ("`:Workflow %s` takes no argument, got '%s'"):format(name, rest)
    return ui.fail(text)
  elseif command then
    return command.run(rest, command, context)
  end
  local opts = { words = rest, context = context, continues = bang and 'last' or nil }
  require('tideate').run(require('tideate.workflow_lookup').resolve(name), opts)
end

---@param context tideate.Context captured before the menu opens
local function open_menu(context)
  require('tideate.model_choice').load()
  local entries = {}
  for _, workflow in ipairs(require('tideate.registry').list()) do
    if not find(workflow.name) then
      entries[#entries + 1] = { name = workflow.name, description = workflow.description }
    end
  end
  for _, command in ipairs(M.subcommands) do
    if command.menu then
      entries[#entries + 1] = { name = command.name, description = command.help }
    end
  end
  ui.menu(entries, function(entry)
    if entry then
      dispatch(entry.name, '', context)
    end
  end)
end

--- Run `:Workflow`.
---@param invocation {args: string, range: integer, line1: integer, line2: integer, bang?: boolean}
function M.execute(invocation)
  local name, rest = split(invocation.args)
  local bang = invocation.bang or false
  if name:sub(-1) == '!' then -- `:Workflow ask!` means `:Workflow! ask`
    name, bang = name:sub(1, -2), true
  end
  local command = find(name)
  if command and not command.on_code then
    return dispatch(name, rest, nil, bang)
  end
  local range = invocation.range > 0 and { math.max(invocation.line1, 1), math.max(invocation.line2, 1) } or nil
  local context = require('tideate.context').capture(range)
  if name == '' then
    return open_menu(context)
  end
  dispatch(name, rest, context, bang)
end

--- Sources of completions after an `@`.
---@type (fun(lead: string): string[])[]
M.mentions = {
  function(lead)
    return require('tideate.mentions').complete(lead)
  end,
}

---@param lead string
---@return string[]
local function first_words(lead)
  local names = vim.tbl_map(function(command)
    return command.name
  end, M.subcommands)
  for _, workflow in ipairs(require('tideate.registry').list()) do
    names[#names + 1] = workflow.name
  end
  local machines = require('tideate.workflow_lookup')
  return vim.list_extend(machines.merge(names, machines.found()), machines.files(lead))
end

---@param lead string
---@return string[]
local function mentions(lead)
  local found = {}
  for _, source in ipairs(M.mentions) do
    vim.list_extend(found, source(lead))
  end
  return found
end

---@param lead string
---@param before string text between `:Workflow` and the cursor
---@return string[]
local function candidates(lead, before)
  local name, rest = split(before)
  if rest == '' and not before:find('%s$') then
    return first_words(lead)
  end
  local command = find(name)
  if command then
    return command.complete and command.complete(lead) or {}
  end
  if lead:sub(1, 1) == '@' then
    return mentions(lead)
  end
  local words = rest:sub(1, #rest - #lead)
  return require('tideate.inputs').complete(require('tideate.workflow_lookup').resolve(name), lead, words)
end

--- Complete `:Workflow` without asking the host.
---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local before = line:sub(1, position):match('W[orkflw]*%s+(.*)$') or ''
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, candidates(lead, before))
end

return M
