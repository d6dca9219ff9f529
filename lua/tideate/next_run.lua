--- Runs that ended runs propose to follow them: offered to the person, begun with their yes.
local M = {}

---@class tideate.NextRun a run that goes on with the conversation of the one that proposed it
---@field workflow string
---@field prompt string
---@field message string what is left to do
---@field files {path: string, why: string}[]
---@field continues string the run that proposed it
---@field asks boolean whether the person is asked; else only told
---@field adapter? string

---@param next_run tideate.NextRun
---@return string markdown
local function details(next_run)
  return table.concat(
    vim.tbl_map(function(file)
      return '- ' .. file.path .. (file.why ~= '' and ': ' .. file.why or '')
    end, next_run.files),
    '\n'
  )
end

---@param next_run tideate.NextRun
---@return string
local function later(next_run)
  return ('`:Workflow! %s` goes on with it as long as nothing else has run'):format(next_run.workflow)
end

---@param next_run tideate.NextRun
local function begin(next_run)
  require('tideate').run(next_run.workflow, {
    prompt = next_run.prompt,
    continues = next_run.continues,
    context = { cwd = require('tideate.reply').folder(next_run.continues) },
    adapter = next_run.adapter,
  })
end

--- Offer what a run proposed, unless who started it went on with it already.
---@param next_run tideate.NextRun
---@param workflow string that proposed it
function M.offer(next_run, workflow)
  if require('tideate.run').is_continued(next_run.continues) then
    return
  elseif not next_run.asks then
    return require('tideate.ui').notify(('%s; %s'):format(next_run.message, later(next_run)))
  end
  local question = {
    execution_id = next_run.continues,
    workflow = workflow,
    step = 'next',
    kind = 'gate',
    message = ('%s. Go on as %s with the same conversation?'):format(next_run.message, next_run.workflow),
    details = details(next_run),
  }
  require('tideate.ui').confirm('next:' .. next_run.continues, question, function(answer)
    if answer.accepted then
      begin(next_run)
    else
      require('tideate.ui').notify(later(next_run))
    end
  end, function(err)
    require('tideate.ui').notify(('%s; %s'):format(next_run.message, err), vim.log.levels.ERROR)
  end)
end

--- The prompt that an ended run proposed for a workflow that goes on with it.
---@param name string of the workflow
---@param continues string a run's id, or `last`
---@return string?
function M.prompt(name, continues)
  local state = require('tideate.state')
  local run = continues == 'last' and state.runs()[1] or state.get_status(continues)
  local proposed = run and run.next
  return proposed and proposed.workflow == name and proposed.prompt or nil
end

return M
