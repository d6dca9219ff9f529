--- Choice of a run to compare with another run of the panel.
local M = {}

local ui = require('tideate.ui')

--- Sort related runs first: forks and source, then runs of the same workflow.
---@param run tideate.ui.PanelRun
---@param others tideate.ui.PanelRun[] the newest first
---@return tideate.ui.PanelRun[]
local function nearest_first(run, others)
  local function source(one)
    return one.stored and one.stored.forked_from and one.stored.forked_from.execution_id
  end
  local function distance(one)
    local related = source(one) == run.id or source(run) == one.id or source(run) and source(run) == source(one)
    return related and 1 or one.name == run.name and 2 or 3
  end
  local found = { {}, {}, {} }
  for _, one in ipairs(others) do
    table.insert(found[distance(one)], one)
  end
  return vim.iter(found):flatten(1):totable()
end

---@param run tideate.ui.PanelRun
---@return string
local function words(run)
  local short, text = require('tideate.stored_runs').short, require('tideate.ui.text')
  local at = os.date('%b %d %H:%M', math.floor(run.started_at / 1000))
  return text.plain(('%s  %s  %s  %s  %s'):format(run.name, short(run.id), require('tideate.ui.panel.tree').word(run), at, (run.prompt:sub(1, 60):gsub('%s+', ' '))))
end

---@param one tideate.ui.PanelRun
---@param other tideate.ui.PanelRun
---@param step? string
---@param folder string
local function open(one, other, step, folder)
  -- show what the newer run changed
  if one.started_at > other.started_at then
    one, other = other, one
  end
  require('tideate.ui.comparison').open(one.id, other.id, { step = step, folder = folder })
end

--- Compare a run or a step with a marked one of its kind, else with a chosen one.
---@param node tideate.ui.Node
---@param controls tideate.ui.PanelControls
function M.with_another(node, controls)
  local run, step = node.run --[[@as tideate.ui.PanelRun]], node.step
  local marked, seen = {}, {} ---@type tideate.ui.PanelRun[], table<string, true>
  for _, other in pairs(controls.marks()) do
    if other.run.id ~= run.id and not seen[other.run.id] then
      seen[other.run.id] = true
      table.insert(marked, other.run)
    end
  end
  if #marked == 1 then
    return open(run, marked[1], step, controls.folder())
  end
  local others = vim.tbl_filter(function(other)
    return other.id ~= run.id and other.state ~= 'starting'
  end, #marked > 0 and marked or controls.runs())
  if #others == 0 then
    return ui.warn('there is no other run to compare it with')
  end
  vim.ui.select(nearest_first(run, others), { prompt = ('Compare %s with:'):format(run.name), format_item = words }, function(other)
    if other then
      open(run, other, step, controls.folder())
    end
  end)
end

return M
