--- Actions of the user on a run: retry, cancel, resume, roll back; with confirmation, as the host allows.
local M = {}

local ui = require('tideate.ui')
local stored_runs = require('tideate.stored_runs')
local ui_text = require('tideate.ui.text')
local typing = require('tideate.ui.typing')

---@class tideate.ui.RunDoing
---@field run fun(run: tideate.StoredRun, folder: string, on_done: fun())
---@field why_not fun(run: tideate.StoredRun): string

local ENDED = { completed = true, failed = true, cancelled = true }

---@param run tideate.StoredRun
---@return string
local function under_way(run)
  return run.owner and ('is running in process %d'):format(run.owner.pid) or 'is running'
end

---@param method string
---@param run tideate.StoredRun
---@param folder string
---@param on_result fun(result: tideate.Result)
local function ask(method, run, folder, on_result)
  stored_runs.ask(method, { execution_id = run.execution_id, folder = folder }, on_result)
end

---@param run tideate.StoredRun
---@param result tideate.Result
---@return string
local function rolled_back(run, result)
  local words = #result.files == 0 and 'nothing to roll back' or 'rolled back: ' .. ui_text.names(result.files)
  local merged = result.merged or {}
  if #merged > 0 then
    words = ('%s; edits made since were kept in %s'):format(words, ui_text.names(merged))
  end
  local living = run.state and not ENDED[run.state]
  return living and ('%s; %s is cancelled, as its own changes are gone'):format(words, run.workflow) or words
end

---@class tideate.RollbackDiff
---@field path string
---@field move_to? string
---@field action 'create'|'delete'|'modify'|'move'
---@field note string what its lines do not show
---@field diff string from what is there now

local DONE = { create = 'made again', delete = 'deleted', move = 'moved' }

--- Describe the effect of a rollback on a file.
---@param one tideate.RollbackDiff
---@param merged string[]
---@return string
local function file_words(one, merged)
  local name = ui_text.name(one.path) .. (one.move_to and ' → ' .. ui_text.name(one.move_to) or '')
  local words = { DONE[one.action] }
  if one.note ~= '' then
    table.insert(words, ui_text.plain(one.note))
  end
  if vim.list_contains(merged, one.move_to or one.path) then
    table.insert(words, 'keeping edits made since')
  end
  return #words > 0 and ('%s: %s'):format(name, table.concat(words, ', ')) or name
end

--- Name a run in a question: workflow, id and prompt.
---@param run tideate.StoredRun
---@return string
local function named(run)
  local prompt = vim.trim((run.prompt or ''):gsub('%s+', ' '))
  local asked = prompt ~= '' and (' (%s)'):format(ui_text.fit(ui_text.plain(prompt), 40)) or ''
  return ('%s %s%s'):format(run.workflow, stored_runs.short(run.execution_id), asked)
end

--- Ask before an action that writes, deletes or costs.
---@param run tideate.StoredRun
---@param doing string for the title
---@param question {message: string, details?: string, diff?: string}
---@param expecting tideate.ui.Expecting? since the key or command
---@param on_yes fun()
local function ask_first(run, doing, question, expecting, on_yes)
  local own = vim.tbl_extend('error', { about = run.workflow, doing = doing }, question)
  require('tideate.ui.questions.confirm_action').yes(own, on_yes, expecting)
end

--- Roll back the files of a run after a confirmation that lists them.
---@param run {execution_id: string, workflow: string, prompt?: string}
---@param folder string
---@param on_done? fun()
local function roll_back(run, folder, on_done)
  local expecting = require('tideate.ui.typing').expect()
  ask('rollback_preview', run, folder, function(preview)
    run = preview.run or { execution_id = preview.execution_id, workflow = run.workflow }
    local function proceed()
      ask('rollback', run, folder, function(result)
        ui.notify(rolled_back(run, result))
        if on_done then
          on_done()
        end
      end)
    end
    local count = #preview.diffs
    if count == 0 or #preview.changed_since > 0 then
      return proceed() -- nothing is lost, or the host reports the obstacle
    end
    local files, patches = {}, {} ---@type string[], string[]
    for _, one in ipairs(preview.diffs) do
      local words = file_words(one, preview.merged)
      table.insert(files, '- ' .. words)
      table.insert(patches, words .. '\n' .. one.diff)
    end
    ask_first(run, 'roll back', {
      message = ('Roll back %s to the state before %s?'):format(ui_text.counted(count, 'file'), named(run)),
      details = table.concat(files, '\n'),
      diff = table.concat(patches, '\n'),
    }, expecting, proceed)
  end)
end

--- Rerun an ended run from a step on, after a confirmation.
---@param params tideate.ForkParams
function M.retry(params)
  local expecting = typing.expect()
  local folder = params.folder or require('tideate.context').folder()
  local place = vim.tbl_extend('force', {}, params, { folder = folder, check = true })
  stored_runs.ask('fork_plan', place, function(plan)
    local run = plan.run ---@type tideate.StoredRun
    local wanted = vim.tbl_extend('force', params, { execution_id = run.execution_id, folder = folder })
    if plan.all then
      return require('tideate.run').fork_stored(wanted) -- the host reports that no step failed
    end
    local reused = plan.reused == 1 and '1 result before it is reused' or ('%d results before it are reused'):format(plan.reused)
    local model = plan.adapter and (' It asks %s.'):format(ui_text.name(plan.adapter)) or ''
    ask_first(run, 'retry', {
      message = ('Rerun %s from the step %s? %s; models are asked again.%s'):format(named(run), plan.step, reused, model),
      details = run.prompt,
    }, expecting, function()
      require('tideate.run').fork_stored(wanted)
    end)
  end)
end

--- Cancel a run after a confirmation.
---@param run tideate.StoredRun
---@param on_yes fun()
function M.cancel(run, on_yes)
  local words = 'Cancel %s? Changes of completed steps stay; a task, and changes of an unfinished step, are rolled back.'
  ask_first(run, 'cancel', { message = words:format(named(run)) }, nil, on_yes)
end

--- Resume a run after a confirmation.
---@param run tideate.StoredRun
---@param on_yes fun()
---@param expecting tideate.ui.Expecting? since the command; nil: just now
function M.resume(run, on_yes, expecting)
  local at = run.step and run.step ~= '' and (' at the step %s'):format(run.step) or ''
  local waits = run.waiting and run.waiting ~= '' and (' It %s.'):format(run.waiting) or ''
  local words = 'Resume %s%s? Completed steps are not repeated.%s'
  ask_first(run, 'resume', { message = words:format(named(run), at, waits) }, expecting, on_yes)
end

--- Cancel runs of this Neovim: one at once, several after a confirmation.
---@param runs tideate.Run[]
---@param cancel fun()
function M.cancel_all(runs, cancel)
  if #runs < 2 then
    return cancel()
  end
  local lines = vim.tbl_map(function(run)
    return '- ' .. named({ execution_id = run.execution_id, workflow = run.name, prompt = run.prompt })
  end, runs)
  require('tideate.ui.questions.confirm_action').yes({
    about = 'runs',
    doing = 'cancel',
    message = ('Cancel all %d runs? `:Workflow cancel id` cancels one.'):format(#runs),
    details = table.concat(lines, '\n'),
  }, cancel, typing.expect())
end

---@type table<tideate.RunAction, tideate.ui.RunDoing>
M.doings = {
  resume = {
    run = function(run, folder)
      M.resume(run, function()
        require('tideate.ui.pages.run_page').close()
        require('tideate').resume(run.execution_id, { folder = folder })
      end)
    end,
    why_not = function(run)
      return ENDED[run.state] and 'has ended: nothing is left to do' or under_way(run)
    end,
  },
  pause = {
    run = function(run, folder, on_done)
      ask('pause_stored', run, folder, function()
        ui.notify(('%s pauses before its next step'):format(run.workflow))
        on_done()
      end)
    end,
    why_not = function(run)
      return ENDED[run.state] and 'has ended' or run.state == 'paused' and 'is paused: p resumes it' or 'is not running: p resumes it, c cancels it'
    end,
  },
  cancel = {
    run = function(run, folder, on_done)
      M.cancel(run, function()
        ask('cancel_stored', run, folder, function(result)
          local names = ui_text.names
          local files = #result.files > 0 and '; rolled back: ' .. names(result.files) or ''
          local kept = #(result.kept or {}) > 0
              and '; kept, written by a step that must not be done twice: ' .. names(result.kept)
            or ''
          ui.notify(('%s: cancelled%s%s'):format(run.workflow, files, kept))
          on_done()
        end)
      end)
    end,
    why_not = function()
      return 'has ended'
    end,
  },
  rollback = {
    run = roll_back,
    why_not = function(run)
      local living = not ENDED[run.state] and not run.resumable
      if run.rolled_back then
        return 'is rolled back already'
      end
      return living and 'has not ended: cancel it first (c)' or 'has changed no file'
    end,
  },
  checkpoint = {
    run = function(run, folder, on_done)
      ask('checkpoint', run, folder, function(result)
        ui.notify(M.made(result))
        on_done()
      end)
    end,
    why_not = function()
      return 'takes no checkpoint'
    end,
  },
}

--- Describe a new checkpoint.
---@param result {run: {name: string}, checkpoint: tideate.StoredCheckpoint}
---@return string
function M.made(result)
  local point = result.checkpoint
  local after = point.step == '' and 'before its first step' or 'after ' .. point.step
  return ('checkpoint %s of %s, %s'):format(stored_runs.short(point.checkpoint_id), result.run.workflow, after)
end

--- Choose a run to roll back, unless there is only one or the newest is of this Neovim.
function M.choose_to_roll_back()
  require('tideate.pick').choose_run(function(run)
    return M.can(run, 'rollback')
  end, function(runs)
    return #runs == 1 or require('tideate.state').get_status(runs[1].execution_id) ~= nil
  end, function(run)
    M.roll_back(run.execution_id)
  end, 'no run of this project changed a file that can be rolled back; `:Workflow history` lists the runs')
end

--- Roll back the files of a run after a confirmation.
---@param wanted string its id or a prefix
function M.roll_back(wanted)
  roll_back({ execution_id = wanted, workflow = 'run' }, require('tideate.context').folder())
end

--- Return whether the host allows an action.
---@param run tideate.StoredRun?
---@param action tideate.RunAction
---@return boolean
function M.can(run, action)
  return run ~= nil and vim.list_contains(run.can or {}, action)
end

--- Act on a run, or say why not.
---@param action tideate.RunAction
---@param run tideate.StoredRun
---@param folder string
---@param on_done fun() called afterwards
function M.act(action, run, folder, on_done)
  local doing = M.doings[action]
  if M.can(run, action) then
    return doing.run(run, folder, on_done)
  end
  ui.warn(('%s %s'):format(run.workflow, doing.why_not(run)))
end

--- Ask for a message to the model of a run.
---@param run {id: string, ended: boolean, folder?: string} folder: project of a run of another process
function M.ask_what_to_say(run)
  if run.ended then
    return ui.warn('the run has ended; no model reads it any more')
  end
  vim.ui.input({ prompt = 'Say: ' }, function(text)
    if not text or vim.trim(text) == '' then
      return
    elseif run.folder then
      local params = { execution_id = run.id, folder = run.folder, text = text }
      stored_runs.ask('say', params, function()
        ui.notify('the model reads it before its next turn')
      end)
    else
      require('tideate').say(run.id, text)
    end
  end)
end

--- Create a paused run from a checkpoint.
---@param point tideate.StoredCheckpoint
---@param folder string
---@param on_done fun(execution_id: string)
function M.restore(point, folder, on_done)
  local params = { checkpoint_id = point.checkpoint_id, folder = folder }
  stored_runs.ask('checkpoint_restore', params, function(result)
    local after = point.step == '' and 'at the start' or 'after ' .. point.step
    ui.notify(('a new run, paused %s: p resumes it'):format(after))
    on_done(result.execution_id)
  end)
end

return M
