--- The window of a comparison of two runs; files and results open side by side.
local M = {}

---@class tideate.ui.Comparison
---@field window tideate.ui.PageWindow
---@field page tideate.ui.ComparisonPage
---@field one string id of the older run
---@field other string
---@field step? string compared alone
---@field folder string of the project

---@type tideate.ui.Comparison?
local shown

---@return boolean
function M.is_visible()
  return require('tideate.ui.page_window').shows(shown)
end

--- Close the window and give the focus back.
function M.close()
  local it = shown
  if it then
    shown = nil
    require('tideate.ui.page_window').close(it.window)
  end
end

--- Open the texts of the line under the cursor side by side.
local function open_part()
  local it = shown
  local part = it and it.page.targets[vim.api.nvim_win_get_cursor(it.window.win)[1]]
  if not (it and part) then
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

---@return tideate.Key[]
function M.keys()
  local function key(lhs, word, desc, run)
    return { lhs = lhs, word = word, desc = desc, run = run }
  end
  return {
    key({ '<CR>', 'd' }, 'side by side', 'both texts of the file, the result or the answer side by side', open_part),
    key({ 'x' }, 'swap', 'swap the runs', function()
      M.open(shown.other, shown.one, { step = shown.step, folder = shown.folder })
    end),
    key({ 'za' }, nil, 'open or close a long difference', function()
      -- a line without a fold has none to open
      pcall(vim.cmd, 'normal! za')
    end),
    key({ 'q', '<Esc>' }, 'close', 'close this window', M.close),
    key({ '?', 'g?' }, 'help', 'this help', function()
      require('tideate.ui.keys').help('comparison', M.keys())
    end),
  }
end

---@param it tideate.ui.Comparison
local function put(it)
  local window = require('tideate.ui.page_window')
  if M.is_visible() then
    it.window = shown.window
    shown = it
  else
    M.close() -- in another tab page
    shown = it
    it.window = window.open(it.page, M.keys, {
      closed = function()
        shown = nil
      end,
    })
  end
  window.draw(it.window, it.page)
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
    local ids = vim.tbl_map(function(run)
      return run.execution_id
    end, result.runs)
    put({ page = page, one = ids[1], other = ids[2], step = opts.step, folder = folder })
  end)
end

return M
