--- The window of a run: its steps, events and checkpoints, one page each.
local M = {}

---@class tideate.ui.Runs
---@field window tideate.ui.PageWindow
---@field place tideate.ui.RunsPlace
---@field before tideate.ui.RunsPlace[] pages to go back to
---@field going? tideate.ui.RunsPlace[] the same for the requested page
---@field folder string of the project
---@field asked integer number of requests; only the last answer is shown
---@field turning? integer number of the pending request
---@field stale? boolean a run changed during the pending request
---@field words? string words of the footer

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

--- Return the checkpoint under the cursor, else that of the page.
---@return tideate.StoredCheckpoint?
local function selected_point()
  return shown.place.point or (shown.window.page.points or {})[row()]
end

--- Store the cursor's line, for the way back.
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
    -- the page tells more than any notice
    require('tideate.ui.notify').close()
  end
end

--- Request a page; only the last answer is shown.
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
    -- a window closed meanwhile stays closed
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
---@param before? tideate.ui.RunsPlace[] pages to go back to; default: those of the current page
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

--- Turn to a page; `q` returns to the current one.
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
---@param folder? string of its project; default: the current one
function M.show(id, folder)
  deeper({ view = 'show', id = id, folder = folder })
end

--- Reload the page after a run changed; a requested page comes first.
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
    -- a line without a fold has none to open
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
    -- pressed twice, it goes back two pages, even before the first one arrived
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

---@type table<string, true> events after which stored runs differ
local MOVES = {
  SD_EVENT_WORKFLOW_STARTED = true,
  SD_EVENT_WORKFLOW_RESTORED = true,
  SD_EVENT_WORKFLOW_PAUSED = true,
  SD_EVENT_WORKFLOW_RESUMED = true,
  SD_EVENT_STEP_COMPLETED = true,
}

--- Handle an event: reload the page after a run of this Neovim changed.
---@param event tideate.Event
function M.on_event(event)
  if shown and MOVES[event.name] then
    M.refresh()
  end
end

return M
