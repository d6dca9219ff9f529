--- Runs of the store: read page by page, and filtered.
local M = {}

M.PAGE = 100 -- runs
local NEWEST = 200 -- runs that are read again when something happened; more of them take a person's time

---@class tideate.ui.RunsList
---@field filter string a state, `workflow:`, `file:`, `since:`, and a part of a workflow's name or words
---@field runs tideate.StoredRun[] the newest first
---@field more boolean whether there are older ones
---@field whole? boolean the next time all of them are read again: something was done to one, perhaps an old one

local KEYS = { 'workflow:', 'file:', 'since:' }
local SINCE = { 'since:1h', 'since:1d', 'since:7d', 'since:30d' }
local function every()
  return true
end

local STATES = { 'cancelled', 'completed', 'declined', 'failed', 'interrupted', 'paused', 'rolled-back', 'running' }

---@param filter? string
---@return tideate.ui.RunsList
function M.new(filter)
  return { filter = filter or '', runs = {}, more = false }
end

--- What to ask for so that what is shown is as it is now.
---@param list tideate.ui.RunsList
---@return table<string, any> params
function M.again(list)
  local limit = list.whole and #list.runs or math.min(#list.runs, NEWEST)
  list.whole = nil
  return { filter = list.filter, limit = math.max(M.PAGE, limit) }
end

--- What to ask for behind the last run.
---@param list tideate.ui.RunsList
---@return table<string, any> params
function M.onward(list)
  local last = list.runs[#list.runs]
  return { filter = list.filter, limit = M.PAGE, before = last.started_at, before_id = last.execution_id }
end

---@param runs tideate.StoredRun[]
---@param id string
---@return integer? place
function M.place_of(runs, id)
  for place, run in ipairs(runs) do
    if run.execution_id == id then
      return place
    end
  end
end

--- Take the answer to `again`. Runs behind it stay as they were read.
---@param list tideate.ui.RunsList
---@param result {runs?: tideate.StoredRun[], more: boolean}
function M.renew(list, result)
  result.runs = result.runs or {}
  local last = result.runs[#result.runs]
  local place = last and result.more and M.place_of(list.runs, last.execution_id)
  local behind = place and vim.list_slice(list.runs, place + 1) or {}
  list.runs = vim.list_extend(vim.list_slice(result.runs), behind)
  if #behind == 0 then
    list.more = result.more
  end
end

--- Take the answer to `onward`.
---@param list tideate.ui.RunsList
---@param result {runs: tideate.StoredRun[], more: boolean}
function M.extend(list, result)
  vim.list_extend(list.runs, result.runs)
  list.more = result.more
end

--- The words of a filter: states, the names of workflows, files, times.
---@param lead string
---@return string[]
function M.words(lead)
  local key, value = lead:match('^(%a+:)(.*)$')
  local words ---@type string[]
  if key == 'file:' then
    return vim.tbl_map(function(path)
      return key .. path
    end, require('tideate.file_completion').complete(value, every, require('tideate.context').folder()))
  elseif key == 'since:' then
    words = SINCE
  else
    words = key and {} or vim.list_extend(vim.list_slice(STATES), KEYS)
    for _, workflow in ipairs(require('tideate.registry').list()) do
      table.insert(words, (key or '') .. workflow.name)
    end
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, words)
end

--- Complete the line that asks for a filter.
---@param lead string the whole line
---@return string[]
function M.complete(lead)
  local before, word = lead:match('^(.-)(%S*)$')
  return vim.tbl_map(function(found)
    return before .. found
  end, M.words(word))
end

--- Ask which runs to show.
---@param list tideate.ui.RunsList
---@param on_filter fun(filter: string) not called if the person wants no other
function M.ask_filter(list, on_filter)
  vim.ui.input({
    prompt = 'Show only (text, state, workflow: file: since:2d; empty: all): ',
    default = list.filter,
    completion = "customlist,v:lua.require'tideate.ui.panel.list'.complete",
  }, function(filter)
    if filter then
      on_filter(vim.trim(filter))
    end
  end)
end

return M
