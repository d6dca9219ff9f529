--- Questions of published runs in the remotes of a project: list, fetch, answer, and continue the runs here.
local M = {}

local ui = require('tideate.ui')

---@class tideate.Waiting a question that a run left in a remote
---@field run string ID of the run
---@field remote string
---@field n integer number of the question; 0: it is not valid
---@field workflow string
---@field step string
---@field kind string
---@field message string the question; the reason if it is not valid
---@field by string its author, who can choose any name
---@field asked_at integer milliseconds since the epoch
---@field signed boolean by a key or address that `[inbox] allow` names
---@field answered_by? string
---@field taken_by? string who continues the run after this question, or began to and failed
---@field taken_at? integer milliseconds since the epoch; nil if the mark is not valid
---@field commit string of the question

---@class tideate.Inbox
---@field waiting tideate.Waiting[] those without an answer first, then newest first
---@field remotes string[]
---@field failed {remote: string, reason: string}[]

---@type table<string, tideate.Inbox> last sent by the host, by the project's root
local known = {}
---@type table<string, {run: string, remote: string, folder: string}> runs that answer a question, by its key
local answering = {}

---@param one tideate.Waiting
---@return string
function M.key(one)
  return ('%s/%s'):format(one.remote, one.commit)
end

---@param folder string
---@return string
local function root_of(folder)
  return require('tideate.paths').project(folder) or folder
end

--- Return the inbox of a project as last read.
---@param folder string of the project
---@return tideate.Inbox
function M.known(folder)
  return known[root_of(folder)] or { waiting = {}, remotes = {}, failed = {} }
end

--- Return the questions of an inbox without an answer.
---@param inbox tideate.Inbox
---@return tideate.Waiting[]
function M.open_questions(inbox)
  return vim.tbl_filter(function(one)
    return one.n > 0 and not one.answered_by
  end, inbox.waiting)
end

--- Return the number of questions without an answer, as last read.
---@return integer
function M.count()
  local count = 0
  for _, inbox in pairs(known) do
    count = count + #M.open_questions(inbox)
  end
  return count
end

--- Sort questions: those without an answer first, then newest first.
---@param waiting tideate.Waiting[]
local function sort(waiting)
  table.sort(waiting, function(a, b)
    local is_open = not a.answered_by
    if is_open ~= not b.answered_by then
      return is_open
    end
    return a.asked_at > b.asked_at
  end)
end

--- Replace the questions of one remote.
---@param folder string
---@param remote string
---@param inbox tideate.Inbox the remote's
local function take(folder, remote, inbox)
  local before = M.known(folder)
  local function is_other(one)
    return one.remote ~= remote and vim.list_contains(inbox.remotes, one.remote)
  end
  -- the questions of a remote that cannot be reached stay
  local kept = #inbox.failed > 0 and before.waiting or vim.tbl_filter(is_other, before.waiting)
  vim.list_extend(inbox.waiting, kept)
  vim.list_extend(inbox.failed, vim.tbl_filter(is_other, before.failed))
  sort(inbox.waiting)
  known[root_of(folder)] = inbox
  -- modules that are not loaded show nothing
  for _, name in ipairs({ 'tideate.ui.panel', 'tideate.ui.pages.inbox' }) do
    if package.loaded[name] then
      package.loaded[name].inbox_changed()
    end
  end
  vim.cmd.redrawstatus()
end

--- Fetch the questions of remotes in parallel, so that a slow remote delays no other.
---@param folder string of the project
---@param remotes string[]
---@param on_done fun(result: tideate.Result) called once, after the last, with the first error, or reasons as `failed`
local function fetch_each(folder, remotes, on_done)
  local left, done = #remotes, { ok = true, failed = {} } ---@type integer, tideate.Result
  if left == 0 then
    return on_done(done)
  end
  for _, remote in ipairs(remotes) do
    require('tideate.client').request('inbox', { folder = folder, remote = remote }, function(result)
      left = left - 1
      if result.ok then
        vim.list_extend(done.failed or {}, result.failed)
        take(folder, remote, require('tideate.nulls').drop(result) --[[@as tideate.Inbox]])
      elseif done.ok then
        done = result
      end
      if left == 0 then
        on_done(done)
      end
    end)
  end
end

--- Fetch the questions of remotes.
---@param folder string of the project
---@param remotes string[] none: all
---@param on_done fun(result: tideate.Result) called once; it has the first error, or reasons as `failed`
function M.fetch(folder, remotes, on_done)
  if #remotes > 0 then
    return fetch_each(folder, remotes, on_done)
  end
  require('tideate.client').request('inbox_remotes', { folder = folder }, function(result)
    if not result.ok then
      return on_done(result)
    end
    local before = M.known(folder)
    known[root_of(folder)] = { waiting = before.waiting, remotes = result.remotes, failed = before.failed }
    fetch_each(folder, result.remotes, on_done)
  end)
end

--- Run `:Workflow inbox`.
---@param rest string name of a remote, or empty
function M.command(rest)
  require('tideate.ui.pages.inbox').show(require('tideate.context').folder(), rest)
end

--- Return the remotes in the configuration of a project's repository.
---@param folder string
---@return string[]
local function configured(folder)
  local root = require('tideate.paths').project(folder)
  local ok, lines = pcall(vim.fn.readfile, vim.fs.joinpath(root or folder, '.git', 'config'))
  local names = {}
  for _, line in ipairs(ok and lines or {}) do
    table.insert(names, line:match('^%s*%[remote%s+"([^"\\]+)"%]'))
  end
  return names
end

--- Complete the names of remotes without the host.
---@param lead string
---@return string[]
function M.complete(lead)
  local folder = require('tideate.context').folder()
  local names = configured(folder)
  for _, name in ipairs(M.known(folder).remotes) do
    if not vim.list_contains(names, name) then
      table.insert(names, name)
    end
  end
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
end

--- Fetch the questions of a remote again after an answer or the end of a run; after an error, keep the known ones.
---@param folder string
---@param remote string
local function update(folder, remote)
  M.fetch(folder, { remote }, require('tideate.client').report)
end

--- Report the end of an answer.
---@param result tideate.RunResult
function M.ended(result)
  for key, answer in pairs(answering) do
    if answer.run == result.execution_id then
      answering[key] = nil
      update(answer.folder, answer.remote)
    end
  end
  local sent = result.ok and result.results.send
  if sent then
    ui.notify(require('tideate.ui.inbox_words').sent(require('tideate.nulls').drop(sent)))
  end
end

---@param one tideate.Waiting
---@param folder string
---@param found {execution_id?: string, owner?: integer} an unfinished answer to the question
local function start(one, folder, found)
  local runner, key = require('tideate.run'), M.key(one)
  if found.execution_id and ui.focus_run(found.execution_id) then
    return
  elseif found.owner then
    return ui.warn(('the question of %s is open in process %d'):format(require('tideate.ui.inbox_words').name(one), found.owner))
  end
  local id = found.execution_id
  if id then
    runner.resume_stored(id, folder)
  else
    id = runner.start('answer', { inputs = { run = one.run, remote = one.remote }, context = { cwd = folder } })
  end
  answering[key] = { run = id, remote = one.remote, folder = folder }
end

--- Open a question as if its run were here, with the decisions of an unfinished answer.
---@param one tideate.Waiting
---@param folder string of the project
function M.answer(one, folder)
  local key = M.key(one)
  if one.n == 0 then
    return ui.warn(one.message)
  elseif one.answered_by then
    return ui.warn(require('tideate.ui.inbox_words').answered(one) .. '; `a` continues the run here')
  elseif answering[key] then
    ui.focus_run(answering[key].run)
    return
  end
  require('tideate.run').when_left(function()
    local params = { run = one.run, commit = one.commit, folder = folder }
    require('tideate.client').request_or_tell('inbox_answering', params, function(result)
      if not answering[key] then
        start(one, folder, require('tideate.nulls').drop(result))
      end
    end)
  end)
end

--- Continue the run of a question here, with the answers given so far; ask before its changes are written to this project.
---@param one tideate.Waiting
---@param folder string of the project
function M.continue_here(one, folder)
  if one.n == 0 then
    return ui.warn(one.message)
  end
  local expecting = require('tideate.ui.typing').expect()
  local function continue(again)
    require('tideate.run').continue_here(one.run, { remote = one.remote, folder = folder, again = again }, function()
      update(folder, one.remote)
    end)
  end
  local params = { run = one.run, remote = one.remote, folder = folder }
  require('tideate.client').request_or_tell('inbox_show', params, function(result)
    if result.here then
      expecting.stop()
      return continue(false)
    end
    require('tideate.ui.questions.confirm_action').yes({
      about = 'inbox',
      doing = 'continue',
      message = require('tideate.ui.inbox_words').opening(one, result.taken),
      details = ('```text\n%s\n```'):format(table.concat(result.facts, '\n')),
      expanded = true,
      cautious = result.taken,
    }, function()
      continue(result.taken)
    end, expecting)
  end)
end

return M
