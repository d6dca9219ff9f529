--- The window of a comparison of two runs; files and results open side by side.
local M = {}

local key = require('tideate.ui.keys').key
local pages = require('tideate.ui.page_window')

---@class tideate.ui.Comparison
---@field page tideate.ui.ComparisonPage
---@field one string id of the older run
---@field other string
---@field step? string compared alone
---@field folder string of the project

local window ---@type tideate.ui.PageWindow

--- Open the texts of the line under the cursor side by side.
local function open_part()
  local it = window.shown ---@type tideate.ui.Comparison
  local part = it and it.page.targets[window:row()]
  if not part then
    return
  end
  local params = { execution_id = it.one, other = it.other, path = part.path, step = part.step, folder = it.folder }
  require('tideate.stored_runs').ask('diff_texts', params, function(result)
    local text, short = require('tideate.ui.text'), require('tideate.stored_runs').short
    local name = part.path and text.name(part.path) or part.step and text.plain(part.step) or 'response'
    local function side(index, id)
      return { title = ('%s %s'):format(short(id), name), text = result.texts[index].text }
    end
    require('tideate.ui.side_by_side').open(side(1, it.one), side(2, it.other), part.path)
  end)
end

window = pages.new('comparison', function(it)
  return {
    key({ '<CR>', 'd' }, 'side by side', 'both texts of the file, the result or the answer side by side', open_part),
    key('x', 'swap', 'swap the runs', function()
      M.open(it.other, it.one, { step = it.step, folder = it.folder })
    end),
    key('za', nil, 'open or close a long difference', pages.toggle_fold),
  }
end)

---@return tideate.Key[]
function M.keys()
  return window:keys()
end

function M.close()
  window:close()
end

--- Compare two runs.
---@param one string a run's id or a prefix of it
---@param other string
---@param opts? {step?: string, folder?: string} step: compared alone; folder: the current project by default
function M.open(one, other, opts)
  opts = opts or {}
  local folder = opts.folder or require('tideate.context').folder()
  local params = { execution_id = one, other = other, folder = folder }
  require('tideate.stored_runs').ask('diff', params, function(result)
    local page = require('tideate.ui.comparison.text').page(result --[[@as tideate.ui.Compared]], opts.step)
    local first, second = result.runs[1].execution_id, result.runs[2].execution_id
    window:show({ page = page, one = first, other = second, step = opts.step, folder = folder }, page)
  end)
end

return M
