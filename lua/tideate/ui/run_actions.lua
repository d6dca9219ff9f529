--- Actions on a run: those that the host allows for its status.
local M = {}

---@class tideate.ui.RunDoing
---@field run fun(run: tideate.StoredRun, folder: string, on_done: fun())
---@field why_not fun(run: tideate.StoredRun): string

local ENDED = { completed = true, failed = true, cancelled = true }

---@param run tideate.StoredRun
---@return string
local function under_way(run)
  return run.owner and ('is running in process %d'):format(run.owner.pid) or 'is running'
end

---@param text string
---@param level? integer of `vim.log.levels`
local function say(text, level)
  require('tideate.ui').notify(text, level or vim.log.levels.INFO)
end

---@param method string
---@param run tideate.StoredRun
---@param folder string
---@param on_result fun(result: tideate.Result)
local function ask(method, run, folder, on_result)
  require('tideate.stored_runs').ask(method, { execution_id = run.execution_id, folder = folder }, on_result)
end

---@param run tideate.StoredRun
---@param result tideate.Result
---@return string
local function rolled_back(run, result)
  local files = result.files
  local words = #files == 0 and 'nothing to roll back' or 'rolled back: ' .. require('tideate.ui.text').names(files)
  return ENDED[run.state] and words or ('%s; %s is cancelled, it would not find what it wrote'):format(words, run.workflow)
end

---@class tideate.RollbackDiff
---@field path string
---@field move_to? string
---@field action 'create'|'delete'|'modify'|'move'
---@field note string what its lines do not show
---@field diff string from what is there now

local DONE = { create = 'made again', delete = 'deleted', move = 'moved' }

--- What a rollback does with a file.
---@param one tideate.RollbackDiff
---@param merged string[]
---@return string
local function file_words(one, merged)
  local text = require('tideate.ui.text')
  local name = text.name(one.path) .. (one.move_to and ' → ' .. text.name(one.move_to) or '')
  local words = { DONE[one.action] }
  if one.note ~= '' then
    table.insert(words, text.plain(one.note))
  end
  if vim.list_contains(merged, one.move_to or one.path) then
    table.insert(words, 'keeping edits made since')
  end
  return #words > 0 and ('%s: %s'):format(name, table.concat(words, ', ')) or name
end

--- The differences of a rollback, as one patch, each behind what is done with its file.
---@param result {diffs: tideate.RollbackDiff[], merged: string[]}
---@return string
local function patch_of(result)
  return table.concat(
    vim.tbl_map(function(one)
      return file_words(one, result.merged) .. '\n' .. one.diff
    end, result.diffs),
    '\n'
  )
end

--- Show what a rollback would do, and do it after a yes.
---@param run tideate.StoredRun
---@param folder string
---@param roll_back fun()
local function preview_rollback(run, folder, roll_back)
  local expecting = require('tideate.ui.typing').expect()
  ask('rollback_preview', run, folder, function(result)
    local count = #result.files
    if count == 0 then
      return roll_back() -- nothing is lost, and the host says what stands in the way
    end
    local files = vim.tbl_map(function(one)
      return '- ' .. file_words(one, result.merged)
    end, result.diffs)
    require('tideate.ui.confirm_action').yes({
      about = run.workflow,
      doing = 'roll back',
      message = ('Roll back %d file%s to what was there before this run?'):format(count, count == 1 and '' or 's'),
      details = table.concat(files, '\n'),
      diff = patch_of(result),
    }, roll_back, expecting)
  end)
end

---@type table<tideate.RunAction, tideate.ui.RunDoing>
M.doings = {
  resume = {
    run = function(run, folder)
      require('tideate.ui.run_page').close()
      require('tideate').resume(run.execution_id, { folder = folder })
    end,
    why_not = function(run)
      return ENDED[run.state] and 'has ended: nothing is left to do' or under_way(run)
    end,
  },
  pause = {
    run = function(run, folder, on_done)
      ask('pause_stored', run, folder, function()
        say(('%s pauses before its next step'):format(run.workflow))
        on_done()
      end)
    end,
    why_not = function(run)
      return ENDED[run.state] and 'has ended' or run.state == 'paused' and 'is paused: p resumes it' or 'is not running: p resumes it, c cancels it'
    end,
  },
  cancel = {
    run = function(run, folder, on_done)
      ask('cancel_stored', run, folder, function(result)
        local names = require('tideate.ui.text').names
        local files = #result.files > 0 and '; rolled back: ' .. names(result.files) or ''
        local kept = #(result.kept or {}) > 0
            and '; kept, written by a step that must not be done twice: ' .. names(result.kept)
          or ''
        say(('%s: cancelled%s%s'):format(run.workflow, files, kept))
        on_done()
      end)
    end,
    why_not = function()
      return 'has ended'
    end,
  },
  rollback = {
    run = function(run, folder, on_done)
      preview_rollback(run, folder, function()
        ask('rollback', run, folder, function(result)
          say(rolled_back(run, result))
          on_done()
        end)
      end)
    end,
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
        say(M.made(result))
        on_done()
      end)
    end,
    why_not = function()
      return 'takes no checkpoint'
    end,
  },
}

--- A checkpoint that was made, in words.
---@param result {run: {name: string}, checkpoint: tideate.StoredCheckpoint}
---@return string
function M.made(result)
  local point = result.checkpoint
  local after = point.step == '' and 'before its first step' or 'after ' .. point.step
  return ('checkpoint %s of %s, %s'):format(require('tideate.stored_runs').short(point.checkpoint_id), result.run.workflow, after)
end

--- Whether the host would do it.
---@param run tideate.StoredRun?
---@param action tideate.RunAction
---@return boolean
function M.can(run, action)
  return run ~= nil and vim.list_contains(run.can or {}, action)
end

--- Do something to a run, or say why not.
---@param action tideate.RunAction
---@param run tideate.StoredRun
---@param folder string
---@param on_done fun() called when it was done
function M.act(action, run, folder, on_done)
  local doing = M.doings[action]
  if M.can(run, action) then
    return doing.run(run, folder, on_done)
  end
  say(('%s %s'):format(run.workflow, doing.why_not(run)), vim.log.levels.WARN)
end

--- Ask what the model of a run is told.
---@param run {id: string, ended: boolean, folder?: string} folder: of one that another process runs
function M.ask_what_to_say(run)
  if run.ended then
    return say('the run has ended; no model reads it any more', vim.log.levels.WARN)
  end
  vim.ui.input({ prompt = 'Say: ' }, function(text)
    if not text or vim.trim(text) == '' then
      return
    elseif run.folder then
      local params = { execution_id = run.id, folder = run.folder, text = text }
      require('tideate.stored_runs').ask('say', params, function()
        say('the model reads it before its next turn')
      end)
    else
      require('tideate').say(run.id, text)
    end
  end)
end

--- Make a new run of a checkpoint, which waits to be resumed.
---@param point tideate.StoredCheckpoint
---@param folder string
---@param on_done fun(execution_id: string)
function M.restore(point, folder, on_done)
  local params = { checkpoint_id = point.checkpoint_id, folder = folder }
  require('tideate.stored_runs').ask('checkpoint_restore', params, function(result)
    local after = point.step == '' and 'at the start' or 'after ' .. point.step
    say(('a new run, paused %s: p resumes it'):format(after))
    on_done(result.execution_id)
  end)
end

return M
