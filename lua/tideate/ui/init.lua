--- Entry of the user interface: passes events of runs to its windows and queues their questions.
--- It shows and asks; the engine decides.
local M = {}

---@class tideate.ui.Waiting
---@field id string
---@field question tideate.Question
---@field respond fun(result: any)
---@field fail tideate.Fail
---@field shown tideate.Asked?

---@type tideate.ui.Waiting[] the first one is shown
local queue = {}

---@type fun()?
local stop_watching

---@type table<string, string> kind → module
local KINDS = {
  gate = 'tideate.ui.questions.confirm',
  override = 'tideate.ui.questions.confirm',
  document = 'tideate.ui.questions.document',
  plan = 'tideate.ui.questions.plan',
  review = 'tideate.ui.review',
  tool = 'tideate.ui.questions.confirm',
  compare = 'tideate.ui.questions.choice',
}

---@type table<string, true> questions that `:Workflow review` opens again after they were left
local REVIEWED = { review = true, plan = true, document = true, compare = true }

---@type table<string, true> questions that can be opened again after a no
local REOPENED = { review = true, plan = true, document = true, override = true }

--- Modules for a run's first event, ordered so that each loads few others.
local FIRST = {
  'tideate.run_status',
  'tideate.state',
  'tideate.run_events',
  'tideate.run_activity',
  'tideate.machine_path',
  'tideate.quickfix',
  'tideate.run',
  'tideate.registry',
  'tideate.ui.highlights',
  'tideate.ui.keys',
  'tideate.ui.window',
  'tideate.ui.ranges',
  'tideate.ui.review.stream',
  'tideate.ui.typing',
  'tideate.ui.text',
  'tideate.ui.text.escaping_tables',
  'tideate.ui.text.escaping',
  'tideate.ui.notify',
  'tideate.ui.progress',
  'tideate.ui.transcript.stream',
  'tideate.ui.transcript',
  'tideate.ui.text.markdown',
  'tideate.ui.transcript.reasoning',
  'tideate.ui.pages.run_page',
  'tideate.ui.questions.dialog',
  'tideate.ui.panel',
  'tideate.ui.graph.window',
  'tideate.ui.graph.drawing',
  'tideate.ui.graph',
  'tideate.ui.output.beside',
  'tideate.ui.output.window',
  'tideate.ui.output',
  'vim.treesitter',
  'tideate.ui.chat.draft',
  'tideate.ui.chat.history',
  'tideate.ui.chat.keys',
  'tideate.ui.chat',
}

local show_next, go_on

--- Load modules one at a time while the host or a model works. Loading all at once would block the editor.
---@param modules? string[] default: those of a first run
---@param on_loaded? fun()
function M.load_ahead(modules, on_loaded)
  modules = modules or FIRST
  local at = 0
  local function load_next()
    at = at + 1
    if modules[at] then
      require(modules[at])
      vim.defer_fn(load_next, 1)
    elseif on_loaded then
      on_loaded()
    end
  end
  vim.defer_fn(load_next, 1)
end

--- Choose an item by `vim.ui.select`. An interrupted prompt chooses none.
---@generic T
---@param items T[]
---@param opts table
---@param on_choice fun(item: T?)
function M.select(items, opts, on_choice)
  vim.schedule(function()
    local ok, err = pcall(vim.ui.select, items, opts, on_choice)
    if ok then
      return
    elseif not tostring(err):find('Keyboard interrupt', 1, true) then
      error(err, 0)
    end
    on_choice(nil)
  end)
end

---@param waiting tideate.ui.Waiting
---@param result any
local function answer(waiting, result)
  if queue[1] ~= waiting then
    return
  end
  table.remove(queue, 1)
  waiting.respond(result)
  go_on()
end

--- Leave a question without an answer: its run waits.
---@param waiting tideate.ui.Waiting
---@param summary string? of the decisions so far
local function leave(waiting, summary)
  if queue[1] ~= waiting then
    return
  end
  table.remove(queue, 1)
  local question = waiting.question
  require('tideate.run').leave(question.execution_id)
  local what = summary and ('waits (%s)'):format(summary) or 'waits for your answer'
  local again = REVIEWED[question.kind] and 'review' or 'resume'
  local words = '%s %s; :Workflow %s opens it again'
  M.notify(words:format(question.workflow, what, again), nil, { waiting = question.execution_id })
  go_on()
end

--- Show the first question of the queue.
function show_next()
  local waiting = queue[1]
  if not waiting or waiting.shown then
    return
  end
  local module = KINDS[waiting.question.kind] or KINDS.gate
  local ok, shown = xpcall(function()
    return require(module).open(waiting.question, function(result)
      answer(waiting, result)
    end, function(summary)
      leave(waiting, summary)
    end)
  end, require('tideate.paths').logging('a question could not be shown'))
  if not ok then
    -- the user answered nothing, and the other questions must not wait for it
    table.remove(queue, 1)
    waiting.fail('the question could not be shown: ' .. shown, 'EditorFailed')
    return go_on()
  end
  waiting.shown = shown
end

--- Show the next question, or the output that waited for this one.
function go_on()
  show_next()
  if not queue[1] then
    require('tideate.ui.output').on_answered()
  end
end

--- Ask a question; simultaneous questions wait in a queue.
---@param id string
---@param question tideate.Question
---@param respond fun(result: any) called once, never after `withdraw`
---@param fail tideate.Fail called instead if the question cannot be shown
function M.confirm(id, question, respond, fail)
  question = require('tideate.nulls').drop(vim.deepcopy(question))
  require('tideate.ui.notify').withdraw(question.execution_id)
  table.insert(queue, { id = id, question = question, respond = respond, fail = fail })
  show_next()
end

--- Withdraw a question.
---@param id string
function M.withdraw(id)
  for index, waiting in ipairs(queue) do
    if waiting.id == id then
      table.remove(queue, index)
      if waiting.shown then
        waiting.shown:close()
      end
      return go_on()
    end
  end
end

--- Return the waiting questions, the visible one first.
---@return { id: string, kind: string, message: string, focused: boolean, ready: boolean, in_code: boolean }[]
--- `ready`: keys answer; `in_code`: it is answered in visible code
function M.pending()
  return vim.tbl_map(function(waiting)
    local shown, question = waiting.shown, waiting.question
    return {
      id = waiting.id,
      kind = question.kind,
      message = question.message,
      focused = shown ~= nil and shown:focused(),
      ready = shown ~= nil and shown:ready(),
      in_code = shown ~= nil and shown.in_code ~= nil and shown:in_code(),
    }
  end, queue)
end

--- Focus the waiting question.
---@return boolean done
function M.focus()
  if queue[1] and queue[1].shown then
    queue[1].shown:focus()
    return true
  end
  return false
end

--- Focus the question of a run, if one waits here.
---@param prefix string the beginning of the run's id
---@return boolean done
function M.focus_run(prefix)
  for place, waiting in ipairs(queue) do
    if vim.startswith(waiting.question.execution_id, prefix) then
      if place > 1 then
        M.notify('another question waits before the one of this run')
      end
      return M.focus()
    end
  end
  return false
end

--- Open a menu; if a question waits, focus it instead.
---@param entries tideate.MenuEntry[]
---@param on_choice fun(entry: tideate.MenuEntry?)
function M.menu(entries, on_choice)
  if not M.focus() then
    require('tideate.ui.menu').open(entries, on_choice)
  end
end

---@param message string
---@param level? integer of `vim.log.levels`
---@param options? tideate.ui.NotifyOptions
function M.notify(message, level, options)
  require('tideate.ui.notify').notify(message, level, options)
end

--- Show a warning.
---@param message string
---@param options? tideate.ui.NotifyOptions
function M.warn(message, options)
  M.notify(message, vim.log.levels.WARN, options)
end

--- Show an error.
---@param message string
function M.fail(message)
  M.notify(message, vim.log.levels.ERROR)
end

--- Show or hide a run's output.
---@param execution_id? string the newest run by default
function M.toggle_output(execution_id)
  if not require('tideate.ui.output').toggle(execution_id) then
    M.notify('nothing has run yet; :Workflow starts something')
  end
end

---@param run tideate.Run
---@return string
local function done_words(run)
  if run.unchanged then
    local took = require('tideate.ui.progress').duration(run.elapsed_ms)
    return ('%s: nothing changed, the answer leaves everything as it is (%s)'):format(run.name, took)
  end
  local files = #run.files == 0 and '' or (', %s changed'):format(require('tideate.ui.text').counted(#run.files, 'file'))
  return ('%s: done in %s%s'):format(run.name, require('tideate.ui.progress').duration(run.elapsed_ms), files)
end

--- Describe the files rolled back after a failed or cancelled run.
---@param run tideate.Run
---@return string
local function rollback_words(run)
  local rollback = run.rolled_back
  if not rollback then
    return ''
  end
  local back, left = #rollback.restored + #rollback.merged, #rollback.left
  local words = back == 0 and '' or ('; %s rolled back'):format(require('tideate.ui.text').counted(back, 'file'))
  return left == 0 and words or ('%s; left, changed since: %s'):format(words, table.concat(rollback.left, ', '))
end

local MOST_LINES = 3 -- of an error in a notice; the window of the run has all of it

--- Shorten an error for a notice, which must not cover the code.
---@param run tideate.Run
---@param message string
---@return string
local function short_error(run, message)
  local words = require('tideate.workflow_lookup').brief(message)
  local lines = vim.split(words, '\n', { plain = true })
  if #lines <= MOST_LINES or run.step == 0 then
    return words
  end
  -- the last line names the next action
  local rest = ('… %d more lines, :Workflow show'):format(#lines - MOST_LINES + 1)
  return table.concat({ lines[1], rest, lines[#lines] }, '\n')
end

---@type table<string, fun(run: tideate.Run, data: table<string, any>): string, integer>
local ENDINGS = {
  SD_EVENT_WORKFLOW_COMPLETED = function(run, data)
    local executed = require('tideate.ui.questions.executed_files')
    local lines = vim.tbl_map(executed.words, data.executed or {})
    local modified_buffers = require('tideate.modified_buffers')
    local unsaved = modified_buffers.of_run(run)
    if #unsaved > 0 then
      table.insert(lines, 1, modified_buffers.words(unsaved))
    end
    local level = #lines > 0 and vim.log.levels.WARN or vim.log.levels.INFO
    return table.concat(vim.list_extend({ done_words(run) }, lines), '\n'), level
  end,
  SD_EVENT_WORKFLOW_FAILED = function(run, data)
    local words, rollback = short_error(run, data.error), rollback_words(run)
    if words:find('\n') then
      rollback = rollback:gsub('^; ', '\n') -- else it would read as part of the last line
    end
    words = ('%s failed: %s%s'):format(run.name, words, rollback)
    return words, vim.log.levels.ERROR
  end,
  SD_EVENT_WORKFLOW_CANCELLED = function(run, data)
    local declined = data.reason == 'declined'
    local why = declined and require('tideate.ui.transcript').decline_reason(data) or ''
    local words = ('%s: %s'):format(run.name, declined and 'declined' or 'cancelled')
    words = words .. (why ~= '' and ': ' or '') .. why .. rollback_words(run)
    if declined and REOPENED[run.question] and not run.rolled_back then
      words = ('%s; :Workflow review %s opens it again'):format(words, require('tideate.stored_runs').short(run.execution_id))
    end
    return words, vim.log.levels.INFO
  end,
}

--- Events that end the waiting of a run.
---@type table<string, true>
local GOES_ON = {
  SD_EVENT_WORKFLOW_STARTED = true,
  SD_EVENT_WORKFLOW_RESTORED = true,
  SD_EVENT_WORKFLOW_RESUMED = true,
  SD_EVENT_WORKFLOW_COMPLETED = true,
  SD_EVENT_WORKFLOW_FAILED = true,
  SD_EVENT_WORKFLOW_CANCELLED = true,
}

--- Announce the end of a run. Failures and warnings always; the rest unless 'ui.notify' is off.
---@param event tideate.Event
---@param run tideate.Run
local function announce(event, run)
  local words = ENDINGS[event.name]
  if not words then
    return
  end
  local message, level = words(run, event.data or {})
  if level >= vim.log.levels.WARN or require('tideate.config').get('ui.notify') then
    local chat = package.loaded['tideate.ui.chat']
    local shown = require('tideate.ui.output').shows(run.execution_id) or chat and chat.shows(run.execution_id)
    M.notify(message, level, { of_run = true, shown = shown })
  end
end

--- Watch keys while a run is active, so that a question knows whether the user is typing.
local function watch_keys()
  local active = require('tideate.state').get_status() ~= nil
  if active and not stop_watching then
    stop_watching = require('tideate.ui.typing').watch()
  elseif not active and stop_watching then
    stop_watching()
    stop_watching = nil
  end
end

--- Handle an event; the state has it already.
---@param event tideate.Event
function M.on_event(event)
  if GOES_ON[event.name] then
    require('tideate.ui.notify').withdraw(event.execution_id)
  end
  require('tideate.ui.output').on_event(event)
  local panel = package.loaded['tideate.ui.panel'] -- not loaded: never opened
  if panel then
    panel.on_event(event)
  end
  if require('tideate.run_events').FREQUENT[event.name] then
    return
  end
  require('tideate.ui.graph').on_event(event)
  require('tideate.ui.pages.run_page').on_event(event)
  watch_keys()
  local run = require('tideate.state').get_status(event.execution_id)
  if run and not run.parent then
    require('tideate.ui.progress').report(run)
    announce(event, run)
  end
end

--- Redraw a run whose data changed without an event.
---@param execution_id string
function M.refresh(execution_id)
  require('tideate.ui.output').refresh(execution_id)
  require('tideate.ui.panel').refresh()
  vim.cmd.redrawstatus()
end

--- Close all windows; questions stay unanswered.
function M.close()
  local waiting = queue[1]
  queue = {}
  if waiting and waiting.shown then
    waiting.shown:close()
  end
  local parts = { 'output', 'graph', 'pages.run_page', 'pages.comparison', 'panel', 'pages.workflows', 'pages.snapshots', 'notify' }
  for _, part in ipairs(parts) do
    require('tideate.ui.' .. part).close()
  end
  if package.loaded['tideate.ui.chat'] then
    require('tideate.ui.chat').close()
  end
  if stop_watching then
    stop_watching()
    stop_watching = nil
  end
end

return M
