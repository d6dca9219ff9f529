--- Quickfix list of a run's failures (checks, gates, syntax errors, refused edits), also sent as diagnostics.
--- One list per run; the user's lists stay.
local M = {}

local KEPT = 20 -- runs whose lists are updated

---@class tideate.FailureList
---@field run string
---@field id integer of the quickfix list; 0: none yet
---@field step string step of the failures
---@field names string[] failed checks or gates
---@field items table<string, any>[]

---@type tideate.FailureList[] oldest first
local lists = {}

---@param run string
---@return tideate.FailureList
local function list_of(run)
  for _, list in ipairs(lists) do
    if list.run == run then
      return list
    end
  end
  local list = { run = run, id = 0, step = '', names = {}, items = {} }
  table.insert(lists, list)
  if #lists > KEPT then
    table.remove(lists, 1)
  end
  return list
end

---@param list tideate.FailureList
---@return string
local function title(list)
  local names = #list.names > 0 and table.concat(list.names, ', ') or 'no failures'
  return ('tideate: %s (run %s)'):format(names, list.run:sub(1, 8))
end

---@param entry table<string, any> of `setqflist()`, with extra keys
---@return table<string, any>
local function item(entry)
  local placed = type(entry.filename) == 'string' and entry.filename ~= ''
  return {
    filename = placed and entry.filename or nil,
    lnum = tonumber(entry.lnum) or 0,
    col = tonumber(entry.col) or 0,
    text = require('tideate.ui.text').plain(entry.text or ''),
    type = entry.type or 'E',
    valid = placed and 1 or 0,
  }
end

---@param list tideate.FailureList
local function write(list)
  local what = { title = title(list), items = list.items }
  if list.id ~= 0 and vim.fn.getqflist({ id = list.id }).id == list.id then
    what.id = list.id
    vim.fn.setqflist({}, 'r', what)
  elseif #list.items > 0 then
    what.nr = '$' -- after all lists, so that none is lost
    vim.fn.setqflist({}, ' ', what)
    list.id = vim.fn.getqflist({ nr = '$', id = 0 }).id
  end
end

--- Add the failures of a check or gate; those of an earlier step are replaced.
---@param run string
---@param step string
---@param name string
---@param entries table<string, any>[]
function M.add(run, step, name, entries)
  local list = list_of(run)
  local news = list.step ~= step
  if news then
    list.step, list.names, list.items = step, {}, {}
  end
  if #entries > 0 then
    table.insert(list.names, name)
    vim.list_extend(list.items, vim.tbl_map(item, entries))
  end
  if #entries > 0 or news then
    write(list)
  end
end

---@param name string their source
---@param run string
---@param step string
---@param entries table<string, any>[]
local function place(name, run, step, entries)
  M.add(run, step, name, entries)
  require('tideate.failure_diagnostics').replace(name, run, entries)
end

--- New syntax errors of reviewed edits: shown only after the files are written.
---@type table<string, { step: string, entries: table<string, any>[] }>
local unwritten = {}

--- Handle the end of a run: show the syntax errors of its written files.
---@param run string
local function ended(run)
  local written, held = require('tideate.failure_diagnostics').ended(run), unwritten[run]
  unwritten[run] = nil
  local entries = vim.tbl_filter(function(entry)
    return written[entry.filename] == true
  end, held and held.entries or {})
  if #entries > 0 then
    place('syntax', run, held.step, entries)
  end
end

---@param run string
---@param data table<string, any>
local function syntax_gate(run, data)
  local entries = data.entries or {}
  unwritten[run] = #entries > 0 and { step = data.step or '', entries = entries } or nil
end

---@type table<string, fun(run: string, data: table<string, any>)>
local on = {
  SD_EVENT_CHECK_ENDED = function(run, data)
    place(data.check or '?', run, data.step or '', data.failures or {})
  end,
  SD_EVENT_GATE_PASSED = function(run, data)
    if data.gate == 'syntax' then
      syntax_gate(run, data)
    end
  end,
  SD_EVENT_GATE_FAILED = function(run, data)
    if data.gate == 'syntax' then
      syntax_gate(run, data)
    elseif data.gate ~= 'verification' and data.entries and #data.entries > 0 then
      -- failures of checks are listed already
      place(data.gate .. ' gate', run, data.step or '', data.entries)
    end
  end,
  SD_EVENT_STEP_FAILED = function(run, data)
    if data.entries and #data.entries > 0 then
      place('refused edit', run, data.step or '', data.entries)
    end
  end,
  SD_EVENT_WORKFLOW_COMPLETED = ended,
  SD_EVENT_WORKFLOW_FAILED = ended,
  SD_EVENT_WORKFLOW_CANCELLED = ended,
}

--- Handle an event.
---@param event tideate.Event
function M.on_event(event)
  local handler = on[event.name]
  if handler then
    handler(event.execution_id, event.data)
  end
end

return M
