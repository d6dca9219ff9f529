--- Offer the follow-up run that an ended run proposed, with its prompt.
local M = {}

local ui = require('tideate.ui')

---@class tideate.NextRun a run that continues the conversation of the proposing run
---@field workflow string
---@field prompt string
---@field message string remaining work
---@field files {path: string, why: string}[]
---@field continues string proposing run
---@field asks boolean ask the user; else only notify
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

--- Offer a proposed run, unless it was continued already.
---@param next_run tideate.NextRun
---@param workflow string proposing workflow
function M.offer(next_run, workflow)
  if require('tideate.run').is_continued(next_run.continues) then
    return
  elseif not next_run.asks then
    return ui.notify(('%s; %s'):format(next_run.message, later(next_run)))
  end
  local question = {
    execution_id = next_run.continues,
    workflow = workflow,
    step = 'next',
    kind = 'gate',
    message = ('%s. Go on as %s with the same conversation?'):format(next_run.message, next_run.workflow),
    details = details(next_run),
  }
  ui.confirm('next:' .. next_run.continues, question, function(answer)
    if answer.accepted then
      begin(next_run)
    else
      ui.notify(later(next_run))
    end
  end, function(err)
    ui.fail(('%s; %s'):format(next_run.message, err))
  end)
end

--- Return the prompt that an ended run proposed for a workflow.
---@param name string workflow
---@param continues string a run's id, or `last`
---@return string?
function M.prompt(name, continues)
  local state = require('tideate.state')
  local run = continues == 'last' and state.runs()[1] or state.get_status(continues)
  local proposed = run and run.next
  return proposed and proposed.workflow == name and proposed.prompt or nil
end

return M
