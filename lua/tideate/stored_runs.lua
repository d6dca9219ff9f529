--- Runs in the project's store, those of earlier Neovims too: queried, resumed, offered.
local M = {}

---@class tideate.StoredRun
---@field execution_id string
---@field workflow string
---@field kind 'graph'|'machine'
---@field state 'running'|'paused'|'interrupted'|'completed'|'failed'|'cancelled'
---@field resumable boolean no living process has it
---@field started_at integer milliseconds since the epoch
---@field duration_ms? integer
---@field completed_steps integer
---@field failed_steps integer
---@field total_steps integer 0 of a machine
---@field step? string
---@field prompt string
---@field continues? string the run whose conversation it went on with
---@field compared? string[] the models of the comparison that it is part of
---@field error? string
---@field reason? string why it was cancelled, `declined` for instance
---@field files string[]
---@field owner? {pid: integer} the process that has or had it
---@field usage tideate.Usage
---@field waiting? string what of the person it waits for; of runs to review
---@field waits? string[] kinds of questions that nobody has answered; of runs that an ended process left
---@field can? tideate.RunAction[] what the host does to it as it stands; of runs of a list
---@field compared? boolean its comparison goes on as a whole; of runs that wait for a review
---@field rolled_back? boolean nothing is left of what it wrote
---@field match? string some words around what was searched for

---@alias tideate.RunAction 'resume'|'pause'|'cancel'|'rollback'|'checkpoint'

---@class tideate.StoredCheckpoint
---@field checkpoint_id string
---@field step string after which it was made; empty before the first one
---@field created_at integer milliseconds since the epoch
---@field manual boolean a person wanted it

---@class tideate.CheckpointState how far its run had come
---@field completed string[]
---@field pending string[]
---@field files string[]
---@field agent string
---@field duration_ms integer

---@class tideate.Usage
---@field input_tokens integer
---@field output_tokens integer
---@field cached_tokens? integer of the input, those that the provider had in its cache
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

M.SHORT = 8 -- characters of an id that people read and type

--- The beginning of an id as people read and type it; a checkpoint's may have a `.` and a number behind.
---@param id string
---@return string
function M.short(id)
  local run, point = id:match('^([^.]*)(.*)$')
  return run:sub(1, M.SHORT) .. point
end

--- Whether the person looked at the runs already, so that nothing has to be offered.
local looked = false

---@param text string
---@param level? integer of `vim.log.levels`
local function say(text, level)
  require('tideate.ui').notify(text, level or vim.log.levels.INFO)
end

---@param value any
---@return any value without nulls
local function present(value)
  if type(value) ~= 'table' then
    -- no `and … or`: it would lose false, too
    if value == vim.NIL then
      return nil
    end
    return value
  end
  for key, item in pairs(value) do
    value[key] = present(item)
  end
  return value
end

--- Ask the host something about a project; an error is told.
---@param method string of the host
---@param params table<string, any>
---@param on_result fun(result: tideate.Result) not called after an error
---@param on_end? fun(result: tideate.Result) called first, whatever came of it
function M.request(method, params, on_result, on_end)
  params.folder = params.folder or require('tideate.context').folder()
  require('tideate.client').request(method, params, function(result)
    if on_end then
      on_end(result)
    end
    if result.ok then
      on_result(present(result))
    elseif not result.cancelled then
      say(result.error, vim.log.levels.ERROR)
    end
  end)
end

--- The same about its runs, so that none of them has to be offered any more.
---@param method string of the host: `history`, `show`, `run_events`, `checkpoints`, `rollback` and the like
---@param params table<string, any>
---@param on_result fun(result: tideate.Result) not called after an error
---@param on_end? fun(result: tideate.Result) called first, whatever came of it
function M.ask(method, params, on_result, on_end)
  looked = true
  M.request(method, params, on_result, on_end)
end

--- How far a run came, as `3/5`; of a machine nobody knows how far it is.
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

--- The state of a run in a word, as `tideate history` names it.
---@param run tideate.StoredRun
---@return string
function M.word(run)
  return run.rolled_back and 'rolled back' or run.reason == 'declined' and 'declined' or run.state
end

--- Say that the person's choice of a definition has no effect.
---@param why string
function M.say_no_definition(why)
  say(('--definition does not count here: %s'):format(why), vim.log.levels.WARN)
end

--- Resume a run that no living process has, or one that another process paused.
---@param prefix string the beginning of its id; the newest that can be resumed where it is empty
---@param opts? {folder?: string, definition?: 'file'|'stored', ask?: boolean, on_done?: fun(result: tideate.RunResult)}
---`ask`: the person is shown which run it is, and asked
function M.resume(prefix, opts)
  opts = opts or {}
  local folder = opts.folder or require('tideate.context').folder()
  local id = prefix ~= '' and prefix or nil
  local expecting = opts.ask and require('tideate.ui.typing').expect() or nil
  M.ask('to_resume', { execution_id = id, folder = folder, look = opts.ask }, function(result)
    local run = result.run ---@type tideate.StoredRun
    if opts.ask then
      return require('tideate.ui.run_actions').resume(run, function()
        M.resume(run.execution_id, vim.tbl_extend('force', opts, { ask = false, folder = folder }))
      end, expecting)
    end
    local what = ('%s %s'):format(M.label(run), run.execution_id:sub(1, M.SHORT))
    if opts.definition and result.owned then
      M.say_no_definition('the run goes on as it began')
    end
    if result.owned then
      return say(('%s is running in process %d'):format(what, run.owner.pid))
    end
    if run.compared and not opts.on_done then
      local models = require('tideate.ui.text').names(run.compared)
      say(('%s is part of a comparison of %s: resuming all of it'):format(what, models))
      if opts.definition then
        M.say_no_definition('the runs of a comparison are resumed together')
      end
      return require('tideate.compare').resume(run.execution_id, folder)
    end
    if require('tideate.run').resume_stored(run.execution_id, folder, opts.on_done, opts.definition) then
      say('resuming ' .. what)
    end
  end)
end

---@param run tideate.StoredRun
---@param folder string
local function open_review(run, folder)
  if run.compared then
    say(('opening the comparison of %s again'):format(M.label(run)))
    return require('tideate.compare').resume(run.execution_id, folder)
  end
  if require('tideate.run').resume_stored(run.execution_id, folder) then
    say(('opening the review of %s %s again'):format(M.label(run), run.execution_id:sub(1, M.SHORT)))
  end
end

--- Open the review of one run: it waits, or it was declined.
---@param prefix string the beginning of its id
---@param otherwise fun() no run has this id
function M.review_of(prefix, otherwise)
  if require('tideate.ui').focus_run(prefix) then
    return
  end
  local folder = require('tideate.context').folder()
  require('tideate.run').when_left(function()
    M.ask('to_review', { folder = folder, execution_id = prefix }, function(result)
      local run = result.runs[1] or result.elsewhere[1] ---@type tideate.StoredRun?
      if not run then
        return otherwise()
      elseif result.declined then
        return require('tideate.run').review_again(run.execution_id, folder)
      elseif result.elsewhere[1] then
        return say(('%s is running in process %d'):format(M.label(run), run.owner.pid), vim.log.levels.WARN)
      end
      open_review(run, folder)
    end)
  end)
end

--- Open a review again: the one that waits here, else that of a run which an ended Neovim or shell left at it.
function M.review()
  if require('tideate.ui').focus() then
    return
  end
  require('tideate.run').when_left(M.choose_review)
end

--- Have the person choose one of the runs that wait for them, if there are several, and open it.
function M.choose_review()
  local folder = require('tideate.context').folder()
  M.ask('to_review', { folder = folder }, function(result)
    local runs, elsewhere = result.runs, result.elsewhere ---@type tideate.StoredRun[], tideate.StoredRun[]
    if #runs == 1 then
      return open_review(runs[1], folder)
    elseif #runs > 1 then
      return require('tideate.ui').select(runs, {
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
    say(words, vim.log.levels.WARN)
  end)
end

--- What a run waits for, and how to go on with it.
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

--- The host found runs that an ended process left; told once, unless the person looks at them anyway.
---@param message {runs: tideate.StoredRun[]}
function M.offer(message)
  local runs = present(message.runs)
  if looked or #runs == 0 then
    return
  end
  local text ---@type string
  if #runs == 1 then
    text = how_to_go_on(runs[1])
  else
    local which = 'runs were interrupted, the last one %s; :Workflow resume or :Workflow history'
    text = ('%d ' .. which):format(#runs, M.label(runs[1]))
  end
  say(text, vim.log.levels.WARN)
end

return M
