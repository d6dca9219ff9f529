--- Runs in the project's store, including those of earlier Neovims: query, resume, offer.
local M = {}

local nulls = require('tideate.nulls')
local ui = require('tideate.ui')
local context = require('tideate.context')
local runner = require('tideate.run')

---@class tideate.StoredRun
---@field execution_id string
---@field workflow string
---@field kind 'graph'|'machine'
---@field state 'running'|'paused'|'interrupted'|'completed'|'failed'|'cancelled'
---@field resumable boolean no process runs it
---@field started_at integer milliseconds since the epoch
---@field duration_ms? integer
---@field completed_steps integer
---@field failed_steps integer
---@field total_steps integer 0 of a machine
---@field step? string
---@field prompt string
---@field continues? string continued run
---@field compared? string[] models of its comparison
---@field error? string
---@field reason? string reason of a cancellation, like `declined`
---@field files string[]
---@field owner? {pid: integer} its process
---@field usage tideate.Usage
---@field waiting? string pending question; only of runs to review
---@field waits? string[] kinds of unanswered questions; only of interrupted runs
---@field can? tideate.RunAction[] allowed actions; only in lists
---@field compared? boolean its comparison resumes as a whole; only of runs to review
---@field rolled_back? boolean all its writes were rolled back
---@field match? string text around a search match

---@alias tideate.RunAction 'resume'|'pause'|'cancel'|'rollback'|'checkpoint'

---@class tideate.StoredCheckpoint
---@field checkpoint_id string
---@field step string last completed step; empty before the first
---@field created_at integer milliseconds since the epoch
---@field manual boolean requested by a user

---@class tideate.CheckpointState progress of its run
---@field completed string[]
---@field pending string[]
---@field files string[]
---@field agent string
---@field duration_ms integer

---@class tideate.Usage
---@field input_tokens integer
---@field output_tokens integer
---@field cached_tokens? integer cached input tokens
---@field cost? number US dollars

---@class tideate.StoredStep
---@field step string
---@field agent string
---@field status 'pending'|'running'|'completed'|'failed'|'skipped'
---@field attempts integer
---@field duration_ms? integer
---@field error? string
---@field result? string
---@field files string[]
---@field usage tideate.Usage

---@class tideate.StoredEvent
---@field at integer milliseconds since the epoch
---@field name string
---@field step string
---@field words string

M.SHORT = 8 -- displayed characters of an id

--- Shorten an id for display; a checkpoint's id keeps its `.` and number.
---@param id string
---@return string
function M.short(id)
  local run, point = id:match('^([^.]*)(.*)$')
  return run:sub(1, M.SHORT) .. point
end

--- Whether the user looked at the runs already: then none are offered.
local looked = false

--- Send a request about a project, and report an error.
---@param method string of the host
---@param params table<string, any>
---@param on_result fun(result: tideate.Result) not called after an error
---@param on_end? fun(result: tideate.Result) called first, after success or error
function M.request(method, params, on_result, on_end)
  params.folder = params.folder or require('tideate.context').folder()
  require('tideate.client').request(method, params, function(result)
    if on_end then
      on_end(result)
    end
    require('tideate.client').report(result)
    if result.ok then
      on_result(nulls.drop(result))
    end
  end)
end

--- Send a request about runs; afterwards none are offered.
---@param method string like `history`, `show`, `rollback`
---@param params table<string, any>
---@param on_result fun(result: tideate.Result) not called after an error
---@param on_end? fun(result: tideate.Result) called first, after success or error
function M.ask(method, params, on_result, on_end)
  looked = true
  M.request(method, params, on_result, on_end)
end

--- Keep the host from offering runs again.
function M.offered()
  looked = true
end

--- Return the progress of a run as `3/5`; for a machine only the completed steps.
---@param run tideate.StoredRun
---@return string
function M.steps(run)
  return run.total_steps > 0 and ('%d/%d'):format(run.completed_steps, run.total_steps) or tostring(run.completed_steps)
end

---@param run tideate.StoredRun
---@return string
function M.label(run)
  return ('%s (%s)'):format(run.workflow, M.steps(run))
end

--- Return the state of a run in words, as in `tideate history`.
---@param run tideate.StoredRun
---@return string
function M.word(run)
  return run.rolled_back and 'rolled back' or run.reason == 'declined' and 'declined' or run.state
end

--- Warn that the chosen definition has no effect.
---@param why string
function M.say_no_definition(why)
  ui.warn(('--definition does not count here: %s'):format(why))
end

--- Resume a run without a process, or one paused by another process.
---@param prefix string prefix of its id; empty: the newest resumable run
---@param opts? {folder?: string, definition?: 'file'|'stored', ask?: boolean, on_done?: fun(result: tideate.RunResult)}
function M.resume(prefix, opts)
  opts = opts or {}
  local folder = opts.folder or require('tideate.context').folder()
  local expecting = opts.ask and require('tideate.ui.typing').expect() or nil
  local params = { execution_id = prefix ~= '' and prefix or nil, folder = folder, look = opts.ask }
  M.ask('to_resume', params, function(result)
    local run = result.run ---@type tideate.StoredRun
    local id, what = run.execution_id, ('%s %s'):format(M.label(run), M.short(run.execution_id))
    if opts.ask then
      return require('tideate.ui.run_actions').resume(run, function()
        M.resume(id, vim.tbl_extend('force', opts, { ask = false, folder = folder }))
      end, expecting)
    elseif result.owned then
      if opts.definition then
        M.say_no_definition('the run goes on as it began')
      end
      return ui.notify(('%s is running in process %d'):format(what, run.owner.pid))
    elseif run.compared and not opts.on_done then
      local models = require('tideate.ui.text').names(run.compared)
      ui.notify(('%s is part of a comparison of %s: resuming all of it'):format(what, models))
      if opts.definition then
        M.say_no_definition('the runs of a comparison are resumed together')
      end
      return require('tideate.compare').resume(id, folder)
    elseif require('tideate.run').resume_stored(id, folder, opts.on_done, opts.definition) then
      ui.notify('resuming ' .. what)
    end
  end)
end

---@param run tideate.StoredRun
---@param folder string
local function open_review(run, folder)
  local id, label = run.execution_id, M.label(run)
  if run.compared then
    ui.notify(('opening the comparison of %s again'):format(label))
    return require('tideate.compare').resume(id, folder)
  elseif require('tideate.run').resume_stored(id, folder) then
    ui.notify(('opening the review of %s %s again'):format(label, M.short(id)))
  end
end

--- Open the review of a run, waiting or declined.
---@param prefix string prefix of its id
---@param otherwise fun() called if no run has this id
function M.review_of(prefix, otherwise)
  if ui.focus_run(prefix) then
    return
  end
  local folder = context.folder()
  runner.when_left(function()
    M.ask('to_review', { folder = folder, execution_id = prefix }, function(result)
      local run = result.runs[1] or result.elsewhere[1] ---@type tideate.StoredRun?
      if not run then
        return otherwise()
      elseif result.declined then
        return runner.review_again(run.execution_id, folder)
      elseif result.elsewhere[1] then
        return ui.warn(('%s is running in process %d'):format(M.label(run), run.owner.pid))
      end
      open_review(run, folder)
    end)
  end)
end

--- Open a review again: the one that waits here, else one of an interrupted run.
function M.review()
  if ui.focus() then
    return
  end
  runner.when_left(M.choose_review)
end

--- Choose a waiting run, if there are several, and open its review.
function M.choose_review()
  local folder = context.folder()
  M.ask('to_review', { folder = folder }, function(result)
    local runs, elsewhere = result.runs, result.elsewhere ---@type tideate.StoredRun[], tideate.StoredRun[]
    if #runs == 1 then
      return open_review(runs[1], folder)
    elseif #runs > 1 then
      return ui.select(runs, {
        prompt = "Which run's question?",
        format_item = function(run)
          return ('%s %s %s: %s'):format(run.execution_id:sub(1, M.SHORT), M.label(run), run.waiting, run.prompt)
        end,
      }, function(run)
        if run then
          open_review(run, folder)
        end
      end)
    end
    local words = 'no review is open or waiting; :Workflow review HEAD reviews uncommitted changes'
    if #elsewhere > 0 then
      words = ('the review of %s is open in process %d'):format(M.label(elsewhere[1]), elsewhere[1].owner.pid)
    end
    ui.warn(words)
  end)
end

--- Describe the question of an interrupted run, and the command that continues it.
---@param run tideate.StoredRun
---@return string
local function how_to_go_on(run)
  local waits = run.waits or {}
  for _, kind in ipairs({ 'review', 'plan', 'document' }) do
    if vim.list_contains(waits, kind) then
      return ('%s waits for your answer to its %s; :Workflow review'):format(M.label(run), kind)
    end
  end
  return ('%s was interrupted; :Workflow resume'):format(M.label(run))
end

--- Offer interrupted runs once, unless the user looked at the runs already.
---@param message {runs: tideate.StoredRun[]}
function M.offer(message)
  local runs = nulls.drop(message.runs)
  if looked or #runs == 0 then
    return
  elseif #runs == 1 then
    return ui.warn(how_to_go_on(runs[1]))
  end
  local words = '%d runs were interrupted, the last one %s; :Workflow resume or :Workflow history'
  ui.warn(words:format(#runs, M.label(runs[1])))
end

return M
