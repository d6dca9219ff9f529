--- What a person can do to a run of the list.
local M = {}

local UNFINISHED = { running = true, paused = true, interrupted = true }

--- End a run; one that no process has is given up, and what its cut off steps wrote is put back.
---@param run tideate.StoredRun
---@param folder string
---@param on_done fun()
function M.cancel(run, folder, on_done)
  local params = { execution_id = run.execution_id, folder = folder }
  require('tideate.stored').ask('cancel_stored', params, function(result)
    local files = #result.files > 0 and '; put back: ' .. table.concat(result.files, ', ') or ''
    require('tideate.ui').notify(('%s: cancelled%s'):format(run.name, files))
    on_done()
  end)
end

--- Put back the files that a run changed. One that could go on would not find what it wrote.
---@param run tideate.StoredRun
---@param folder string
---@param on_done fun()
function M.roll_back(run, folder, on_done)
  local notify = require('tideate.ui').notify
  if UNFINISHED[run.state] then
    return notify(('%s has not ended: cancel it first (x)'):format(run.name), vim.log.levels.WARN)
  end
  local params = { execution_id = run.execution_id, folder = folder }
  require('tideate.stored').ask('rollback', params, function(result)
    local files = result.files
    notify(#files == 0 and 'nothing was left to put back' or 'put back: ' .. table.concat(files, ', '))
    on_done()
  end)
end

return M
