--- The window of a run: steps, events and checkpoints, each reached from the one before.
local M = {}

---@class tideate.ui.Runs
---@field window tideate.ui.PageWindow
---@field place tideate.ui.RunsPlace
---@field before tideate.ui.RunsPlace[] the pages that led to it
---@field going? tideate.ui.RunsPlace[] the same of the page that is on its way
---@field folder string of the project
---@field asked integer counts the requests, so that a late answer shows nothing
---@field turning? integer the request of a page that is not there yet
---@field stale? boolean something happened while it was on its way
---@field words? string the footer's

---@type tideate.ui.Runs?
local shown

---@param place tideate.ui.RunsPlace
---@return tideate.ui.RunsSource
local function source_of(place)
  return require('tideate.ui.run_page.pages').sources[place.view]
end

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

---@return integer line
local function row()
  return vim.api.nvim_win_get_cursor(shown.window.win)[1]
end

--- The checkpoint under the cursor, else the one that the page is about.
---@return tideate.StoredCheckpoint?
local function selected_point()
  return shown.place.point or (shown.window.page.points or {})[row()]
end

--- Remember where the cursor is, to return to it.
local function bookmark()
  shown.place.row = row()
end

local on_moved

---@param place tideate.ui.RunsPlace
---@param page tideate.ui.Page
---@param folder string
local function put(place, page, folder)
  local window = require('tideate.ui.page_window')
  if not M.is_visible() then
    M.close()
    local it = { before = {}, folder = folder, asked = 0 }
    it.window = window.open(page, M.keys, {
      moved = function()
        on_moved()
      end,
      closed = function()
        shown = shown ~= it and shown or nil
      end,
    })
    shown = it
  end
  shown.place = place
  window.draw(shown.window, page, place.row)
  if place.view == 'show' then
    -- it has all that was said of the run
    require('tideate.ui.notify').close()
  end
end

--- Ask the host for a page; only the last one that was asked for is shown.
---@param place tideate.ui.RunsPlace
---@param params table<string, any>
---@param take fun(result: tideate.Result, folder: string)
local function load(place, params, take)
  local it = shown
  params.folder = place.folder or it and it.folder or require('tideate.context').folder()
  local ticket = it and it.asked + 1 or 0
  if it then
    it.asked = ticket
    it.turning = ticket
  end
  require('tideate.stored_runs').ask(source_of(place).method, params, function(result)
    -- a window that was closed meanwhile stays closed
    if it == shown and (not it or it.asked == ticket) then
      take(result, params.folder)
      if it and it.stale then
        it.stale = false
        M.refresh()
      end
    end
  end, function()
    if it and it.turning == ticket then
      it.turning = nil
    end
  end)
end

--- Turn to a page.
---@param place tideate.ui.RunsPlace
---@param before? tideate.ui.RunsPlace[] the pages that lead to it; those that led to what is shown by default
local function turn(place, before)
  if shown then
    shown.going = before or shown.before
  end
  load(place, source_of(place).params(place), function(result, folder)
    if M.is_visible() and shown.place == place then
      bookmark()
    end
    put(place, source_of(place).page(place, result), folder)
    shown.before = before or shown.before
  end)
end

--- Turn to a page from which `q` leads back to this one.
---@param place tideate.ui.RunsPlace
local function deeper(place)
  if not M.is_visible() then
    return turn(place)
  end
  bookmark()
  turn(place, vim.list_extend(vim.list_slice(shown.before), { shown.place }))
end

--- Show a run.
---@param id? string its beginning; the newest by default
---@param folder? string of its project; that which the person is in by default
function M.show(id, folder)
  deeper({ view = 'show', id = id, folder = folder })
end

--- Show again what is shown: something happened to the runs. A page that the person turned to comes first.
function M.refresh()
  if not M.is_visible() or shown.place.view == 'events' or shown.place.view == 'checkpoint' then
    return
  elseif shown.turning then
    shown.stale = true
  else
    turn(shown.place)
  end
end

function on_moved()
  if not M.is_visible() then
    return
  end
  local words = vim.inspect(require('tideate.ui.keys').words(M.keys()))
  if shown.words ~= words then
    shown.words = words
    require('tideate.ui.page_window').fit(shown.window)
  end
end

---@type tideate.ui.RunsControls
local controls = {
  spot = function()
    if not M.is_visible() or not shown.place then
      return { view = 'show', nested = false }
    end
    return { view = shown.place.view, nested = #shown.before > 0, run = shown.place.run, point = selected_point() }
  end,
  fold = function()
    -- a line without a fold has nothing to open
    pcall(vim.cmd, 'normal! za')
  end,
  act = function(action, run)
    require('tideate.ui.run_actions').act(action, run, shown.folder, function()
      M.refresh()
      require('tideate.ui.panel').changed()
    end)
  end,
  restore = function(point)
    require('tideate.ui.run_actions').restore(point, shown.folder, function(id)
      M.close()
      require('tideate.ui.panel').open({ at = id })
    end)
  end,
  go = deeper,
  back = function()
    -- pressed twice, it leads two pages back, also before the first one is there
    local before = vim.list_slice(shown.turning and shown.going or shown.before)
    local place = table.remove(before)
    if place then
      turn(place, before)
    else
      M.close()
    end
  end,
}

---@return tideate.Key[]
function M.keys()
  return require('tideate.ui.run_page.keys').keys(controls)
end

---@type table<string, true> events after which the runs stand elsewhere
local MOVES = {
  SD_EVENT_WORKFLOW_STARTED = true,
  SD_EVENT_WORKFLOW_RESTORED = true,
  SD_EVENT_WORKFLOW_PAUSED = true,
  SD_EVENT_WORKFLOW_RESUMED = true,
  SD_EVENT_STEP_COMPLETED = true,
}

--- Take an event: what is shown follows the runs of this Neovim.
---@param event tideate.Event
function M.on_event(event)
  if shown and MOVES[event.name] then
    M.refresh()
  end
end

return M
