--- Choice of a run by a prefix of its id.
local M = {}

---@type { folder?: string, runs: tideate.StoredRun[] } runs of the project, as the host told them last
local known = { runs = {} }

local MOST = 100 -- runs that completion offers
local SHORT = 8 -- characters of an id that people read and type
local FROM_FILE = '--definition=file'
local DEFINITIONS = { FROM_FILE, '--definition=stored' }
local ENDED = { completed = true, failed = true, cancelled = true }
local SHORTEST = 4 -- of them, where a word of a text could be meant instead

--- Refuse an option that there is not.
---@param word string
---@param options string[]
local function refuse_option(word, options)
  local hint = require('tideate.did_you_mean').hint(word, options)
  require('tideate.ui').notify(("unknown option '%s'%s"):format(word, hint), vim.log.levels.ERROR)
end

--- Read what is to be resumed: `[id] [--definition=file|stored]`.
---@param rest string
---@return string? prefix nil where an option was refused
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

--- Ask a host that is there for the project's runs; a failure only leaves them out.
---@param folder string
local function refresh(folder)
  if require('tideate.host').state() ~= 'ready' then
    return
  end
  require('tideate.client').request('history', { folder = folder, limit = MOST }, function(result)
    if result.ok then
      known = { folder = folder, runs = result.runs }
    end
  end)
end

---@param wanted fun(run: tideate.Run): boolean
---@return fun(): string[] ids
function M.ids(wanted)
  return function()
    local runs = vim.tbl_filter(wanted, require('tideate.state').runs())
    return vim.tbl_map(function(run)
      return run.execution_id:sub(1, SHORT)
    end, runs)
  end
end

--- Ids of the project's runs, those of this Neovim first, then others as the host told them last. Never waits for
--- the host, but asks it for the next time.
---@param here fun(run: tideate.Run): boolean which of this Neovim
---@param others fun(run: tideate.StoredRun): boolean
---@return fun(): string[] ids
function M.stored_ids(here, others)
  return function()
    local folder = require('tideate.context').folder()
    local found = M.ids(here)()
    for _, run in ipairs(known.folder == folder and known.runs or {}) do
      local id = run.execution_id:sub(1, SHORT)
      if others(run) and not vim.list_contains(found, id) then
        table.insert(found, id)
      end
    end
    refresh(folder)
    return found
  end
end

---@param action tideate.RunAction
---@return fun(run: tideate.StoredRun): boolean whether the host would do it
function M.can(action)
  return function(run)
    return vim.list_contains(run.can or {}, action)
  end
end

--- Ids of the runs that can be resumed, or which definition counts.
---@param lead string
---@return string[]
function M.resumable(lead)
  return vim.startswith(lead, '-') and DEFINITIONS or M.stored_ids(M.is_paused, M.can('resume'))()
end

--- Read what is to be run anew: `[id[.step]] [--definition=file]`.
---@param rest string
---@return tideate.ForkParams? params nil where an option was refused
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

--- Ids of the runs that ended, or behind a point the steps of the one that is named.
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
  local run = vim.iter(require('tideate.state').runs()):find(function(one)
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
  return not require('tideate.state').ended(run.execution_id)
end

---@param run tideate.Run
---@return boolean
function M.is_paused(run)
  return run.state == 'paused' or run.pausing
end

--- The newest run that is meant by a prefix, if there is one.
---@param prefix string may be empty
---@param fits fun(run: tideate.Run): boolean
---@return string? execution_id
function M.found(prefix, fits)
  for _, run in ipairs(require('tideate.state').runs()) do
    if prefix ~= '' and vim.startswith(run.execution_id, prefix) or prefix == '' and fits(run) then
      return run.execution_id
    end
  end
end

--- The run that is meant: by the beginning of its id, else the newest that fits.
---@param prefix string may be empty
---@param fits fun(run: tideate.Run): boolean
---@param what string for the message when there is none
---@return string? execution_id
function M.pick(prefix, fits, what)
  if #prefix == 32 then
    return prefix -- perhaps of an earlier Neovim: the host knows
  end
  local id = M.found(prefix, fits)
  if not id then
    local which = prefix == '' and '' or (" with the id '%s'"):format(prefix)
    local words = ('there is no %s%s; `:Workflow status` shows the runs'):format(what, which)
    require('tideate.ui').notify(words, vim.log.levels.WARN)
  end
  return id
end

--- Tell a run's id from the words behind it.
---@param rest string
---@param fits fun(run: tideate.Run): boolean
---@return string prefix empty where the first word is the beginning of no such run's id
---@return string text
function M.split(rest, fits)
  local first, text = rest:match('^(%x+)%s*(.*)$')
  for _, run in ipairs(first and #first >= SHORTEST and require('tideate.state').runs() or {}) do
    if vim.startswith(run.execution_id, first) and fits(run) then
      return first, text
    end
  end
  return '', rest
end

return M
