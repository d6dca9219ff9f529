--- Request the stored runs of the panel and their details from the host; drop outdated details.

---@class tideate.ui.PanelRuns
---@field list tideate.ui.RunsList
---@field folder string of the project
---@field details table<string, tideate.ui.RunDetails>
---@field unread table<string, string> errors by run, until the list is reloaded
---@field loading boolean a request for the list is pending
---@field known boolean the list was read before
---@field sessions tideate.GuardSession[]
---@field private wanted table<string, true> runs with a pending request for details
---@field private asked integer number of list requests
---@field private stale? boolean a run changed during the pending request
---@field private closed? boolean the panel was closed
---@field private on_change fun()
local panel_list = require('tideate.ui.panel.list')

local Runs = {}
Runs.__index = Runs

local M = {}

---@param list tideate.ui.RunsList
---@param folder string of the project
---@param on_change fun() called after new data arrived
---@return tideate.ui.PanelRuns
function M.new(list, folder, on_change)
  return setmetatable({
    list = list,
    folder = folder,
    details = {},
    unread = {},
    wanted = {},
    asked = 0,
    loading = false,
    known = false,
    sessions = {},
    on_change = on_change,
  }, Runs)
end

--- Ignore further answers.
function Runs:close()
  self.closed = true
end

--- Request the details of a run, once.
---@param id string
function Runs:want(id)
  if self.wanted[id] or self.details[id] or self.unread[id] then
    return
  end
  self.wanted[id] = true
  require('tideate.stored_runs').ask('show', { execution_id = id, folder = self.folder }, function(result)
    self.details[id] = {
      run = result.run,
      steps = result.steps or {},
      runs = result.runs or {},
      activity = require('tideate.run_activity').of(result.events or {}),
      lanes = result.lanes or {},
    }
    self.on_change()
  end, function(result)
    self.wanted[id] = nil
    if not result.ok then
      self.unread[id] = result.error or 'the host was stopped'
      self.on_change()
    end
  end)
end

--- Request runs; only the last answer counts, and none after the panel was closed.
---@private
---@param params table<string, any>
---@param take fun(result: tideate.Result)
function Runs:ask(params, take)
  self.asked, self.loading = self.asked + 1, true
  local ticket = self.asked
  params.folder = self.folder
  require('tideate.stored_runs').ask('history', params, function(result)
    if not self.closed and self.asked == ticket then
      take(result)
    end
  end, function()
    if self.closed or self.asked ~= ticket then
      return
    end
    self.loading, self.known = false, true
    self.on_change()
    if self.stale then
      self:refresh()
    end
  end)
end

--- Read runs and show them.
---@param wanted tideate.ui.RunsList
function Runs:read(wanted)
  self.unread, self.stale = {}, nil
  self:ask(panel_list.again(wanted), function(result)
    local before = self.list.runs
    panel_list.renew(wanted, result)
    self.list, self.sessions = wanted, result.sessions or {}
    self:drop_old_details(before, wanted.runs)
  end)
end

--- Reload the runs after one changed.
function Runs:refresh()
  if self.loading then
    self.stale = true
  else
    self:read(self.list)
  end
end

--- Reload all runs after an action on one, perhaps an old one.
function Runs:changed()
  self.list.whole = true
  self:refresh()
end

--- Read the next page.
function Runs:read_on()
  self:ask(panel_list.onward(self.list), function(result)
    panel_list.extend(self.list, result)
  end)
end

--- Drop the details of runs that changed since.
---@private
---@param before tideate.StoredRun[]
---@param after tideate.StoredRun[]
function Runs:drop_old_details(before, after)
  local stood = {} ---@type table<string, string>
  local function where(run)
    return ('%s %d'):format(run.state, run.completed_steps)
  end
  for _, run in ipairs(before) do
    stood[run.execution_id] = where(run)
  end
  for _, run in ipairs(after) do
    if stood[run.execution_id] and stood[run.execution_id] ~= where(run) then
      self.details[run.execution_id] = nil
    end
  end
end

return M
