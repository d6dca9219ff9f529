--- Parse run arguments of subcommands: find a run by a prefix of its id, complete ids and steps.
local M = {}

local ui = require('tideate.ui')
local state = require('tideate.state')

---@type { folder?: string, runs: tideate.StoredRun[] } runs of the project last sent by the host
local known = { runs = {} }

local MOST = 100 -- runs for completion
local SHORT = 8 -- displayed characters of an id
local FROM_FILE = '--definition=file'
local DEFINITIONS = { FROM_FILE, '--definition=stored' }
local ENDED = { completed = true, failed = true, cancelled = true }
local SHORTEST = 4 -- characters, if a word of a text could be meant

--- Report an unknown option.
---@param word string
---@param options string[]
local function refuse_option(word, options)
  local hint = require('tideate.did_you_mean').hint(word, options)
  ui.fail(("unknown option '%s'%s"):format(word, hint))
end

--- Parse `[id] [--definition=file|stored]`.
---@param rest string
---@return string? prefix nil after an unknown option
---@return 'file'|'stored'|nil definition
function M.resumed(rest)
  local definition, prefix = nil, ''
  for word in rest:gmatch('%S+') do
    if vim.list_contains(DEFINITIONS, word) then
      definition = word:match('=(.*)$')
    elseif vim.startswith(word, '-') then
      return refuse_option(word, DEFINITIONS)
    else
      prefix = word
    end
  end
  return prefix, definition
end

---@param folder string
---@return string
local function project(folder)
  return require('tideate.paths').project(folder) or folder
end

--- Keep the newest runs of a project, for completion.
---@param folder string
---@param runs tideate.StoredRun[]
function M.know(folder, runs)
  known = { folder = project(folder), runs = runs }
end

--- Request the project's runs from a running host; an error only leaves them out.
---@param folder string
local function refresh(folder)
  if require('tideate.host').state() ~= 'ready' then
    return
  end
  require('tideate.client').request('history', { folder = folder, limit = MOST }, function(result)
    if result.ok then
      M.know(folder, result.runs)
    end
  end)
end

---@param wanted fun(run: tideate.Run): boolean
---@return fun(): string[] ids
function M.ids(wanted)
  return function()
    local runs = vim.tbl_filter(wanted, state.runs())
    return vim.tbl_map(function(run)
      return run.execution_id:sub(1, SHORT)
    end, runs)
  end
end

--- Return a completion of run ids: this Neovim's first, then those last sent by the host. Never waits for the host, but
--- requests new ones for the next time.
---@param here fun(run: tideate.Run): boolean filter for this Neovim's runs
---@param others fun(run: tideate.StoredRun): boolean
---@return fun(): string[] ids
function M.stored_ids(here, others)
  return function()
    local folder = require('tideate.context').folder()
    local found = M.ids(here)()
    for _, run in ipairs(known.folder == project(folder) and known.runs or {}) do
      local id = run.execution_id:sub(1, SHORT)
      if others(run) and not vim.list_contains(found, id) then
        table.insert(found, id)
      end
    end
    refresh(folder)
    return found
  end
end

--- Return the runs of the current project that the host sent last.
---@return tideate.StoredRun[]
function M.stored()
  return known.folder == project(require('tideate.context').folder()) and known.runs or {}
end

---@param action tideate.RunAction
---@return fun(run: tideate.StoredRun): boolean whether the host allows it
function M.can(action)
  return function(run)
    return vim.list_contains(run.can or {}, action)
  end
end

--- Complete the ids of resumable runs, or the option.
---@param lead string
---@return string[]
function M.resumable(lead)
  return vim.startswith(lead, '-') and DEFINITIONS or M.stored_ids(M.is_paused, M.can('resume'))()
end

--- Parse `[id[.step]] [--definition=file]`.
---@param rest string
---@return tideate.ForkParams? params nil after an unknown option
function M.retried(rest)
  local params = {} ---@type tideate.ForkParams
  for word in rest:gmatch('%S+') do
    if word == FROM_FILE then
      params.definition = 'file'
    elseif vim.startswith(word, '-') then
      return refuse_option(word, { FROM_FILE })
    else
      local prefix, step = word:match('^([^.]*)%.?(.*)$')
      params.execution_id = prefix ~= '' and prefix or nil
      params.step = step ~= '' and step or nil
    end
  end
  return params
end

--- Complete the ids of ended runs; after a point, the steps of the named run.
---@param lead string
---@return string[]
function M.steps(lead)
  if vim.startswith(lead, '-') then
    return { FROM_FILE }
  end
  local prefix, point = lead:match('^(%x+)(%.)')
  if not point then
    return M.stored_ids(M.has_ended, function(run)
      return ENDED[run.state] == true
    end)()
  end
  local run = vim.iter(state.runs()):find(function(one)
    return M.has_ended(one) and vim.startswith(one.execution_id, prefix)
  end)
  return vim.tbl_map(function(step)
    return ('%s.%s'):format(prefix, step.name)
  end, run and run.steps or {})
end

---@param run tideate.Run
---@return boolean
function M.has_ended(run)
  return not M.is_active(run)
end

---@return boolean
function M.any()
  return true
end

---@param run tideate.Run
---@return boolean
function M.is_active(run)
  return not state.ended(run.execution_id)
end

---@param run tideate.Run
---@return boolean
function M.is_paused(run)
  return run.state == 'paused' or run.pausing
end

--- Return the newest run with a prefix: for an empty prefix the newest suitable run, for `last` the newest of all.
---@param prefix string may be empty
---@param fits fun(run: tideate.Run): boolean
---@return string? execution_id
function M.found(prefix, fits)
  for _, run in ipairs(state.runs()) do
    local named = prefix == 'last' or prefix ~= '' and vim.startswith(run.execution_id, prefix)
    if named or prefix == '' and fits(run) then
      return run.execution_id
    end
  end
end

--- Return the run with a prefix, else the newest that fits; without one, notify the user.
---@param prefix string may be empty
---@param fits fun(run: tideate.Run): boolean
---@param what string noun of the message
---@return string? execution_id
function M.pick(prefix, fits, what)
  if #prefix == 32 then
    return prefix -- perhaps of an earlier Neovim, known to the host
  end
  local id = M.found(prefix, fits)
  if not id then
    local which = prefix == '' and '' or (" with the id '%s'"):format(prefix)
    local words = ('there is no %s%s; `:Workflow status` shows the runs'):format(what, which)
    ui.warn(words)
  end
  return id
end

--- Split a run's id from the following text.
---@param rest string
---@param fits fun(run: tideate.Run): boolean
---@return string prefix empty if the first word is no prefix of such a run's id
---@return string text
function M.split(rest, fits)
  local first, text = rest:match('^(%x+)%s*(.*)$')
  for _, run in ipairs(first and #first >= SHORTEST and state.runs() or {}) do
    if vim.startswith(run.execution_id, first) and fits(run) then
      return first, text
    end
  end
  return '', rest
end

return M
