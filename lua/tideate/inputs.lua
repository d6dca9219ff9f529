--- The inputs that a workflow declares: parsed from the words after its name, missing ones asked for.
local M = {}

local ui = require('tideate.ui')
local registry = require('tideate.registry')

---@class tideate.Input values are texts as on a command line; the host converts them
---@field name string
---@field type 'string'|'integer'|'number'|'boolean'|'array'|'object'
---@field words string description of the type, like 'a whole number'
---@field description string
---@field required boolean
---@field default? string
---@field choices? string[]

---@class tideate.Gathered
---@field prompt string
---@field inputs table<string, string>

---@class tideate.Gathering
---@field name string workflow name or file
---@field folder string of the project
---@field selection? {start: integer, end: integer}
---@field wanted fun(): boolean whether the run is still wanted
---@field on_done fun(got: tideate.Gathered?) nil: run nothing

---@class tideate.Answers
---@field prompt string
---@field given table<string, string>
---@field typed boolean the user answered a question already
---@field left tideate.Input[] still to be asked for

--- Inputs of workflows given by file.
---@type table<string, tideate.Input[]>
local of_files = {}

--- Return whether a workflow has no inputs for sure.
---@param name string
---@return boolean
function M.has_none(name)
  local known = registry.get(name)
  return known ~= nil and (known.source == 'builtin' or known.source == 'editor')
end

--- Return the known inputs without asking the host.
---@param name string
---@return tideate.Input[]
function M.known(name)
  local workflow = registry.get(name)
  return workflow and workflow.inputs or of_files[name] or {}
end

---@param name string
---@param inputs tideate.Input[]
local function store_inputs(name, inputs)
  local workflow = registry.get(name)
  if workflow then
    workflow.inputs = inputs
  else
    of_files[name] = inputs
  end
end

---@param value string
---@return string quoted for a command line
local function quoted(value)
  if value ~= '' and not value:find('[%s"\\]') then
    return value
  end
  return ('"%s"'):format((value:gsub('["\\]', '\\%0')))
end

--- Keep the answers in the command line history.
---@param it tideate.Gathering
---@param answers tideate.Answers
local function keep(it, answers)
  local range = it.selection and ('%d,%d'):format(it.selection.start, it.selection['end']) or ''
  local words = { range .. 'Workflow', (it.name:gsub('[ \t\\]', '\\%0')) }
  local names = vim.tbl_keys(answers.given)
  table.sort(names)
  for _, name in ipairs(names) do
    table.insert(words, name .. '=' .. quoted(answers.given[name]))
  end
  if answers.prompt ~= '' then
    table.insert(words, answers.prompt)
  end
  vim.fn.histadd('cmd', table.concat(words, ' '))
end

---@param it tideate.Gathering
---@param answers tideate.Answers
local function give_up(it, answers)
  local label = require('tideate.workflow_lookup').label(it.name)
  if answers.typed then
    keep(it, answers)
    ui.notify(label .. ' was not started; your answers are in the command line history')
  else
    ui.notify(label .. ' was not started')
  end
  it.on_done(nil)
end

---@param it tideate.Gathering
---@param input tideate.Input
---@param default? string
---@param on_answer fun(value: string?)
local function ask(it, input, default, on_answer)
  local about = { input.description ~= '' and input.description or nil }
  if input.type ~= 'string' and not input.choices then
    table.insert(about, input.words)
  end
  local words = ('%s: %s'):format(require('tideate.workflow_lookup').label(it.name), input.name)
  if #about > 0 then
    words = ('%s (%s)'):format(words, table.concat(about, ', '))
  end
  words = require('tideate.ui.text').fit(words, vim.o.columns - 20)
  if input.choices then
    local plain = require('tideate.ui.text').plain
    vim.ui.select(input.choices, { prompt = words, kind = 'tideate.input', format_item = plain }, on_answer)
  else
    vim.ui.input({ prompt = words .. ': ', default = default }, on_answer)
  end
end

local ask_next

---@param it tideate.Gathering
---@param answers tideate.Answers
---@param input tideate.Input
---@param value string
local function check(it, answers, input, value)
  local params = { name = it.name, folder = it.folder, input = input.name, value = value }
  require('tideate.client').request('input_check', params, function(result)
    if not it.wanted() then
      return
    elseif not result.ok then
      require('tideate.client').report(result)
      return give_up(it, answers)
    elseif result.problem and result.problem ~= '' then
      ui.fail(result.problem)
      return ask_next(it, answers, value)
    end
    answers.given[input.name] = value
    answers.typed = true
    table.remove(answers.left, 1)
    ask_next(it, answers)
  end)
end

--- Ask for the next missing input; an empty answer gives up.
---@param it tideate.Gathering
---@param answers tideate.Answers
---@param default? string rejected answer
function ask_next(it, answers, default)
  local input = answers.left[1]
  if not input then
    return it.on_done({ prompt = answers.prompt, inputs = answers.given })
  end
  -- later: a prompt may wait for keys, and the next messages must not
  vim.schedule(function()
    if not it.wanted() then
      return
    end
    -- later again: a list of choices still covers the screen
    ask(it, input, default, vim.schedule_wrap(function(value)
      if not it.wanted() then
        return
      elseif not value or not value:find('%S') then
        return give_up(it, answers)
      end
      check(it, answers, input, value)
    end))
  end)
end

---@param it tideate.Gathering
---@param result tideate.Result of `inputs`
---@param expecting tideate.ui.Expecting
local function take(it, result, expecting)
  local inputs = result.inputs or {} ---@type tideate.Input[]
  store_inputs(it.name, inputs)
  for _, notice in ipairs(result.notices or {}) do
    ui.warn(notice)
  end
  if #(result.mistakes or {}) > 0 then
    expecting.stop()
    ui.fail(table.concat(result.mistakes, '\n'))
    return it.on_done(nil)
  end
  local left = vim.tbl_filter(function(input)
    return vim.list_contains(result.missing or {}, input.name)
  end, inputs)
  local answers = { prompt = result.prompt or '', given = result.given or {}, typed = false, left = left }
  if #left == 0 then
    expecting.stop()
    return ask_next(it, answers)
  end
  expecting.when_free(function()
    ask_next(it, answers)
  end)
end

--- Collect the inputs of a run from a command line and the user. Returns at once.
---@param it tideate.Gathering
---@param words string text after the workflow's name
function M.gather(it, words)
  local expecting = require('tideate.ui.typing').expect()
  local params = { name = it.name, words = words, folder = it.folder }
  require('tideate.client').request('inputs', params, function(result)
    if not it.wanted() then
      expecting.stop()
    elseif result.ok then
      result.prompt = result.prompt or words
      take(it, result, expecting)
    else
      expecting.stop()
      if result.error and not result.cancelled then
        ui.fail(result.error)
      end
      it.on_done(nil)
    end
  end)
end

--- Return the inputs named on a line; nil once the prompt has begun.
---@param words string
---@param inputs table<string, tideate.Input>
---@return table<string, true>?
local function named(words, inputs)
  local names = {}
  for word in words:gsub('="[^"]*"', '='):gsub('\\.', '_'):gmatch('%S+') do
    local name = word:match('^([%w_]+)=')
    if not inputs[name or ''] then
      return nil
    end
    names[name] = true
  end
  return names
end

--- Complete inputs and values after a workflow's name, without asking the host.
---@param workflow string
---@param lead string
---@param before string text between the name and the lead
---@return string[]
function M.complete(workflow, lead, before)
  local inputs = {} ---@type table<string, tideate.Input>
  for _, input in ipairs(M.known(workflow)) do
    inputs[input.name] = input
  end
  local taken = named(before, inputs)
  if not taken then
    return {}
  end
  local input = inputs[lead:match('^([%w_]+)=') or '']
  if input then
    return vim.tbl_map(function(value)
      return input.name .. '=' .. value:gsub('[ \t]', '\\%0')
    end, input.choices or { input.default })
  end
  local names = {}
  for _, one in ipairs(M.known(workflow)) do
    names[#names + 1] = not taken[one.name] and one.name .. '=' or nil
  end
  return names
end

return M
