--- Visited states of a resumed machine: requested from the host, as no event reports them.
local M = {}

---@type table<string, true> runs with a pending request
local asked = {}

---@param id string
local function ask(id)
  if asked[id] then
    return
  end
  asked[id] = true
  require('tideate.client').request('run_path', { execution_id = id }, function(result)
    asked[id] = nil
    -- the result of a run that ended meanwhile has the path
    if result.ok then
      M.know(id, result.path)
    end
  end)
end

--- Store the whole path of a run.
---@param id string
---@param path tideate.Moved[]
function M.know(id, path)
  require('tideate.state').set_path(id, path)
  require('tideate.ui.graph').on_path(id)
end

--- Handle an event: request the path of a resumed machine.
---@param event tideate.Event
function M.on_event(event)
  local restored = event.name == 'SD_EVENT_WORKFLOW_RESTORED'
  if not restored and event.name ~= 'SD_EVENT_TRANSITION' then
    return
  end
  local run = require('tideate.state').get_status(event.execution_id)
  if not run or run.kind ~= 'machine' then
    return
  end
  local count = event.data.move
  if restored or count and count > #(run.path or {}) then
    ask(run.execution_id)
  end
end

--- Join the visited states.
---@param path tideate.Moved[]
---@return string
function M.words(path)
  local names = vim.tbl_map(function(move)
    return move.to == '*' and 'end' or move.to
  end, path)
  return table.concat(names, ' → ')
end

return M
