--- Pages and filter of the panel's stored runs: request parameters, merging of answers, filter prompt.
local M = {}

M.PAGE = 100 -- runs
local NEWEST = 200 -- runs that are reloaded after a change; more would be felt

---@class tideate.ui.RunsList
---@field filter string states, `workflow:`, `file:`, `since:`, part of a workflow's name, words
---@field runs tideate.StoredRun[] newest first
---@field more boolean whether there are older runs
---@field whole? boolean reload all of them next time: an old run may have changed

local KEYS = { 'workflow:', 'file:', 'since:' }
local SINCE = { 'since:1h', 'since:1d', 'since:7d', 'since:30d' }

local STATES = { 'cancelled', 'completed', 'declined', 'failed', 'interrupted', 'paused', 'rolled-back', 'running' }

---@param filter? string
---@return tideate.ui.RunsList
function M.new(filter)
  return { filter = filter or '', runs = {}, more = false }
end

--- Return the parameters to reload the list.
---@param list tideate.ui.RunsList
---@return table<string, any> params
function M.again(list)
  local limit = list.whole and #list.runs or math.min(#list.runs, NEWEST)
  list.whole = nil
  return { filter = list.filter, limit = math.max(M.PAGE, limit) }
end

--- Return the parameters to read the next page.
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

--- Merge the answer to `again`; older runs stay.
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

--- Append the answer to `onward`.
---@param list tideate.ui.RunsList
---@param result {runs: tideate.StoredRun[], more: boolean}
function M.extend(list, result)
  vim.list_extend(list.runs, result.runs)
  list.more = result.more
end

--- Return the completions of a filter word.
---@param lead string
---@return string[]
function M.words(lead)
  local key, value = lead:match('^(%a+:)(.*)$')
  local words ---@type string[]
  if key == 'file:' then
    return vim.tbl_map(function(path)
      return key .. path
    end, require('tideate.file_completion').complete(value, nil, require('tideate.context').folder()))
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

--- Complete the line of the filter prompt.
---@param lead string the whole line
---@return string[]
function M.complete(lead)
  local before, word = lead:match('^(.-)(%S*)$')
  return vim.tbl_map(function(found)
    return before .. found
  end, M.words(word))
end

--- Ask for a filter.
---@param list tideate.ui.RunsList
---@param on_filter fun(filter: string) not called if the prompt is cancelled
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
