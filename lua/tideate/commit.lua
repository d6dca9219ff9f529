--- Commit of a run's changes: the message opens in a gitcommit buffer, and `:w` commits.
local M = {}

local ui = require('tideate.ui')
local stored_runs = require('tideate.stored_runs')

---@class tideate.CommitPlan the host's answer to `commit_plan`
---@field run tideate.StoredRun
---@field message string
---@field files string[]
---@field notes string[]

local SCISSORS = '# ------------------------ >8 ------------------------'

---@param plan tideate.CommitPlan
---@return string[]
local function lines_of(plan)
  local plain = require('tideate.ui.text').plain
  local lines = vim.split(plan.message, '\n', { plain = true })
  table.insert(lines, SCISSORS)
  table.insert(lines, '# git ignores this and all lines below. An empty message commits nothing.')
  for _, words in ipairs(plan.notes) do
    table.insert(lines, '# ' .. plain(words))
  end
  table.insert(lines, '# Changes to be committed:')
  for _, file in ipairs(plan.files) do
    table.insert(lines, '#\t' .. plain(file))
  end
  return lines
end

---@param lines string[]
---@return string message the lines before the scissors
local function message_of(lines)
  local kept = {}
  for _, line in ipairs(lines) do
    if line == SCISSORS then
      break
    end
    table.insert(kept, line)
  end
  return table.concat(kept, '\n')
end

---@param plan tideate.CommitPlan
---@param folder string
local function open(plan, folder)
  local id = plan.run.execution_id
  local form, sent ---@type tideate.TextEdit, boolean?
  form = require('tideate.ui.questions.text_edit').new('commit', id, function()
    if sent then
      return
    end
    sent = true
    local params = { execution_id = id, folder = folder, message = message_of(form:lines()) }
    require('tideate.client').request('commit', params, function(result)
      sent = false
      if not result.ok then
        return ui.fail(result.error) -- the buffer keeps the message
      end
      form:taken()
      form:close()
      ui.notify(('%s: %s committed'):format(result.commit:sub(1, 8), require('tideate.ui.text').counted(#result.files, 'file')))
    end)
  end)
  form:fill(lines_of(plan))
  vim.bo[form.buf].bufhidden = 'hide'
  vim.bo[form.buf].filetype = 'gitcommit'
  form:open(('commit of %s %s'):format(plan.run.workflow, stored_runs.short(id)), #form:lines() + 2)
  vim.api.nvim_win_set_cursor(form.win, { 1, 0 })
end

---@param wanted string a run's id or a prefix of it
local function ask(wanted)
  local folder, expecting = require('tideate.context').folder(), require('tideate.ui.typing').expect()
  stored_runs.ask('commit_plan', { execution_id = wanted, folder = folder }, function(plan)
    expecting.when_free(function()
      open(plan --[[@as tideate.CommitPlan]], folder)
    end)
  end)
end

--- Run `:Workflow commit`.
---@param rest string `[id]`
function M.command(rest)
  if rest ~= '' then
    return ask(rest)
  end
  local actions = require('tideate.ui.run_actions')
  require('tideate.pick').choose_run(function(run)
    return actions.can(run, 'rollback')
  end, function(runs)
    return #runs == 1 or require('tideate.state').get_status(runs[1].execution_id) ~= nil
  end, function(run)
    ask(run.execution_id)
  end, 'no run of this project has changes to commit; `:Workflow history` lists the runs')
end

return M
