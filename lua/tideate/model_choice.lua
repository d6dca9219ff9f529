--- Models chosen for this Neovim: for all workflows, or for single ones.
local M = {}

local ui = require('tideate.ui')
local context = require('tideate.context')

--- Word that returns to the configured model.
local DEFAULT = 'default'

---@class tideate.ListedModel
---@field adapter string adapter name
---@field model string
---@field source 'configuration'|'known'|'live'
---@field context_tokens? integer
---@field input_price? number US dollars for a million tokens
---@field output_price? number

---@type string? adapter for all workflows
local for_all
---@type table<string, string> adapters by workflow
local of = {}
---@type string[] adapters last sent by the host, for completion
local known = {}

--- Return the adapter chosen for a workflow; nil: as configured.
---@param workflow string
---@return string?
function M.adapter_for(workflow)
  return of[workflow] or for_all
end

--- Describe the choices.
---@return string[] lines
function M.lines()
  local lines = for_all and { 'model: ' .. for_all } or {}
  local names = vim.tbl_keys(of)
  table.sort(names)
  for _, name in ipairs(names) do
    lines[#lines + 1] = ('model of %s: %s'):format(name, of[name])
  end
  return lines
end

---@param adapter string? nil: as configured
---@param workflow string?
local function set(adapter, workflow)
  if workflow then
    of[workflow] = adapter
  else
    for_all = adapter
  end
  local whose = workflow and 'the model of ' .. workflow or 'the model'
  ui.notify(('%s is %s'):format(whose, adapter or 'the configured one again'))
end

--- Choose a model for this Neovim, after the host has found it.
---@param adapter string an adapter's name, or `default`
---@param workflow? string for this workflow only
function M.choose(adapter, workflow)
  if adapter == DEFAULT then
    return set(nil, workflow)
  end
  require('tideate.client').request_or_tell('model_check', { name = adapter, folder = context.folder() }, function()
    set(adapter, workflow)
  end)
end

---@param model tideate.ListedModel
---@return string
local function item_line(model)
  if model.adapter == DEFAULT then
    return ('%s (%s)'):format(DEFAULT, model.model)
  end
  local facts = { model.adapter ~= model.model and not model.adapter:find(':', 1, true) and model.model or nil }
  if model.context_tokens then
    facts[#facts + 1] = ('%.0fk tokens'):format(model.context_tokens / 1000)
  end
  if model.input_price then
    facts[#facts + 1] = ('$%g in, $%g out for a million'):format(model.input_price, model.output_price)
  end
  local name = require('tideate.ui.text').name(model.adapter)
  return #facts > 0 and ('%s  (%s)'):format(name, table.concat(facts, ', ')) or name
end

---@param result tideate.Result
---@param workflow string?
local function select(result, workflow)
  ---@type tideate.ListedModel[]
  local models = vim.tbl_filter(function(model)
    return model.adapter ~= ''
  end, result.models)
  known = vim.tbl_map(function(model)
    return model.adapter
  end, models)
  table.insert(models, 1, { adapter = DEFAULT, model = result.default, source = 'configuration' })
  local prompt = workflow and ('Model of %s'):format(workflow) or 'Model'
  local items = vim.tbl_map(function(model)
    return { text = item_line(model), value = model }
  end, models)
  require('tideate.pickers').open(prompt, items, function(model)
    M.choose(model.adapter, workflow)
  end, 'tideate.model')
end

--- Run `:Workflow model`.
---@param rest string
function M.run(rest)
  local workflow, name ---@type string?, string?
  for word in rest:gmatch('%S+') do
    local of_one = word:match('^%-%-workflow=(.+)$')
    if of_one then
      workflow = of_one
    elseif name or vim.startswith(word, '-') then
      return ui.fail(("`:Workflow model [--workflow=NAME] [MODEL]`: '%s' is too much"):format(word))
    else
      name = word
    end
  end
  if name then
    return M.choose(name, workflow)
  end
  require('tideate.client').request_or_tell('models', { folder = context.folder() }, function(result)
    select(result, workflow)
  end)
end

--- Complete `:Workflow model` without asking the host.
---@param lead string
---@return string[]
function M.complete(lead)
  local start = '--workflow='
  if not vim.startswith(lead, '-') then
    return vim.list_extend({ DEFAULT, 'local' }, known)
  end
  return vim.tbl_map(function(workflow)
    return start .. workflow.name
  end, require('tideate.registry').list())
end

--- Load the model's client in the host while the user types.
---@param workflow? string
function M.load(workflow)
  local adapter = workflow and M.adapter_for(workflow) or for_all
  local params = { folder = context.folder(), adapter = adapter }
  -- the run reports mistakes in the configuration
  require('tideate.client').request('load_model', params, function() end)
end

return M
