--- Windows of compared runs, side by side if there is space.
--- Else the output window shows one after the other.
local M = {}

local api = vim.api
local window = require('tideate.ui.window')

local LEAST = 60 -- columns of one window
local SHARE = 0.4 -- of the screen's lines

---@class tideate.ui.Beside
---@field adapter string
---@field win? integer
---@field settled boolean it ended or waits for the choice

---@type table<string, tideate.ui.Beside> by run
local runs = {}
---@type string[] in the order of the models
local order = {}

local SETTLES = {
  SD_EVENT_CONFIRMATION_REQUIRED = true,
  SD_EVENT_WORKFLOW_COMPLETED = true,
  SD_EVENT_WORKFLOW_FAILED = true,
  SD_EVENT_WORKFLOW_CANCELLED = true,
  SD_EVENT_WORKFLOW_PAUSED = true,
}

--- Draw the winbar of a run's window.
---@param id string
local function head(id)
  local win, run = runs[id].win, require('tideate.state').get_status(id)
  if not run or not window.visible(win) then
    return
  end
  local text, progress = require('tideate.ui.text'), require('tideate.ui.progress')
  local chunks = vim.list_extend({ { ' ' .. text.name(runs[id].adapter) .. ' ·', 'TideateTitle' } }, progress.title(run))
  local title = text.fit_chunks(chunks, api.nvim_win_get_width(win))
  window.options(win, { winbar = text.bar(title) })
end

---@type fun()? stops the redrawing of the titles
local stop

--- Return whether a visible run works without waiting for the user.
---@return boolean
local function is_turning()
  return vim.iter(pairs(runs)):any(function(id, one)
    local run = require('tideate.state').get_status(id)
    return run ~= nil and window.visible(one.win) and require('tideate.ui.progress').turning(run)
  end)
end

--- Redraw the titles while a visible run works: its clock goes on without events.
local function animate()
  local wanted = is_turning()
  if wanted and not stop then
    stop = require('tideate.ui.progress').tick(function()
      vim.tbl_map(head, order)
      animate()
    end)
  elseif not wanted and stop then
    stop()
    stop = nil
  end
end

--- Close the windows to free their space.
function M.close()
  for _, one in pairs(runs) do
    window.close(one.win)
    one.win = nil
  end
end

--- Close the windows if one of them is the current one.
---@return boolean closed
function M.close_here()
  local here = api.nvim_get_current_win()
  local inside = vim.iter(pairs(runs)):any(function(_, one)
    return one.win == here
  end)
  if inside then
    M.close()
  end
  return inside
end

--- Open a window for a run, right of the last one.
---@param buf integer
---@return integer win
local function open(buf)
  local last ---@type integer?
  for _, id in ipairs(order) do
    last = window.visible(runs[id].win) and runs[id].win or last
  end
  local win ---@type integer
  if last then
    win = api.nvim_open_win(buf, false, { split = 'right', win = last })
  else
    win = window.split(buf, 'below', math.floor(vim.o.lines * SHARE))
  end
  require('tideate.ui.output.window').set_reading_options(win)
  require('tideate.ui.output.window').to_end(win, buf)
  return win
end

--- Give all windows the same width.
local function equalize()
  local open_ones = vim.tbl_filter(function(id)
    return window.visible(runs[id].win)
  end, order)
  for _, id in ipairs(open_ones) do
    api.nvim_win_set_width(runs[id].win, math.floor(vim.o.columns / #open_ones))
    head(id)
  end
end

--- Handle the start of a compared run.
---@param id string
---@param entry tideate.ui.Run
---@param data { adapter: string, compared: string[] } `compared`: ids of all runs
---@return boolean shown whether it has its own window
function M.began(id, entry, data)
  local compared = data.compared
  if not vim.list_contains(order, id) or runs[id].settled then
    local known = vim.tbl_filter(function(one)
      return vim.list_contains(compared, one) and one ~= id
    end, order)
    order = vim.list_extend(known, { id })
  end
  runs[id] = { adapter = data.adapter, settled = false }
  if vim.o.columns / #compared < LEAST then
    return false
  end
  runs[id].win = open(entry.stream:loaded_buffer())
  equalize()
  animate()
  return true
end

--- Handle an event of any run.
---@param event tideate.Event
---@return string? next a run that still works, to show instead of this settled one
function M.on_event(event)
  local one = runs[event.execution_id]
  if not one then
    return nil
  end
  if SETTLES[event.name] then
    one.settled = true
  end
  head(event.execution_id)
  animate()
  return SETTLES[event.name] and vim.iter(order):find(function(id)
    return not runs[id].settled
  end) or nil
end

--- Return whether the shown run belongs to a comparison and still works.
---@param id string? the shown one
---@return boolean
function M.is_busy(id)
  return id ~= nil and runs[id] ~= nil and not runs[id].settled
end

return M
