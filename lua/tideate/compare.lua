--- `:Workflow compare`: several models answer one prompt.
local M = {}

local ui = require('tideate.ui')

local WORKFLOWS = { 'refactor', 'generate', 'multi_file', 'ask', 'summarize', 'agent' }

---@class tideate.CompareOpts
---@field workflow? string
---@field adapters? string[]
---@field prompt? string
---@field context tideate.Context

--- Parse the arguments of the command.
---@param rest string
---@return { workflow: string?, adapters: string[]?, prompt: string? }
local function parsed(rest)
  local opts, words, has_agents = {}, {}, false ---@type table, string[], boolean
  for word in rest:gmatch('%S+') do
    local models = word:match('^%-%-models=(.*)$')
    local agents = word:match('^%-%-agents=(.*)$')
    if models or agents then
      has_agents = has_agents or agents ~= nil
      local names = vim.split(models or agents, ',', { plain = true, trimempty = true })
      opts.adapters = vim.list_extend(opts.adapters or {}, vim.tbl_map(function(name)
        return agents and not vim.startswith(name, 'acp:') and 'acp:' .. name or name
      end, names))
    elseif #words == 0 and not opts.workflow and vim.list_contains(WORKFLOWS, word) then
      opts.workflow = word
    else
      table.insert(words, word)
    end
  end
  opts.workflow = opts.workflow or (has_agents and 'agent' or nil)
  opts.prompt = #words > 0 and table.concat(words, ' ') or nil
  return opts
end

--- Report the end of a comparison, and show an answer that is a text.
---@param result table<string, any>
local function finish(result)
  require('tideate.ui.output.beside').close()
  require('tideate.ui.panel').refresh()
  require('tideate.client').report(result)
  if not result.ok then
    return
  end
  local taken = vim.iter(result.runs):find(function(run)
    return run.execution_id == result.taken
  end)
  if #(result.files or {}) == 0 then
    require('tideate.ui.output').toggle(result.taken)
  end
  ui.notify(("accepted the answer of the adapter '%s'"):format(require('tideate.ui.text').name(taken.adapter)))
end

---@param opts tideate.CompareOpts
local function send(opts)
  require('tideate.client').request('compare', {
    name = opts.workflow,
    prompt = opts.prompt or '',
    context = opts.context,
    adapters = opts.adapters,
  }, finish)
end

---@param opts tideate.CompareOpts
local function ask_prompt(opts)
  if opts.prompt or opts.workflow == 'summarize' then
    return send(opts)
  end
  require('tideate.ui.prompt').open({ name = opts.workflow, context = opts.context }, function(prompt)
    if prompt then
      send(vim.tbl_extend('force', opts, { prompt = prompt }))
    end
  end)
end

--- Choose models until the user starts the comparison.
---@param opts tideate.CompareOpts
---@param listed string[]
---@param chosen string[]
local function choose_models(opts, listed, chosen)
  local items = #chosen > 1 and { '' } or {}
  vim.list_extend(items, listed)
  local function words(item)
    if item == '' then
      return ('compare these %d'):format(#chosen)
    end
    local mark = vim.list_contains(chosen, item) and '✓ ' or '  '
    return mark .. require('tideate.ui.text').name(item)
  end
  local prompt = #chosen == 0 and 'Compare which models?' or ('Compare %s with?'):format(table.concat(chosen, ', '))
  ui.select(items, { prompt = prompt, kind = 'tideate.model', format_item = words }, function(item)
    if item == '' then
      return ask_prompt(vim.tbl_extend('force', opts, { adapters = chosen }))
    elseif item then
      local others = vim.tbl_filter(function(one)
        return one ~= item
      end, chosen)
      choose_models(opts, listed, #others < #chosen and others or vim.list_extend(others, { item }))
    end
  end)
end

---@param opts tideate.CompareOpts
local function ask_models(opts)
  if opts.adapters then
    return ask_prompt(opts)
  end
  require('tideate.client').request_or_tell('models', { folder = require('tideate.context').folder() }, function(result)
    local listed = {}
    for _, model in ipairs(result.models) do
      if model.adapter ~= '' and not vim.list_contains(listed, model.adapter) then
        table.insert(listed, model.adapter)
      end
    end
    choose_models(opts, listed, {})
  end)
end

--- Run `:Workflow compare`.
---@param rest string
---@param context tideate.Context
function M.run(rest, context)
  local opts = vim.tbl_extend('force', parsed(rest), { context = context })
  if opts.workflow then
    return ask_models(opts)
  end
  ui.select(WORKFLOWS, { prompt = 'Compare models at which workflow?', kind = 'tideate.workflow' }, function(workflow)
    if workflow then
      ask_models(vim.tbl_extend('force', opts, { workflow = workflow }))
    end
  end)
end

--- Resume an interrupted comparison.
---@param prefix string prefix of the id of one of its runs
---@param folder? string
function M.resume(prefix, folder)
  local params = { execution_id = prefix, folder = folder or require('tideate.context').folder() }
  require('tideate.client').request('compare_resume', params, finish)
end

--- Complete `:Workflow compare` without asking the host.
---@param lead string
---@return string[]
function M.complete(lead)
  return vim.startswith(lead, '-') and { '--models=', '--agents=' } or WORKFLOWS
end

return M
