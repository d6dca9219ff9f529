--- The window of a run: its steps, events and checkpoints, one page each.
local M = {}

local pages = require('tideate.ui.pages.window')
local text = require('tideate.ui.pages.run_page.text')

---@alias tideate.ui.RunsView 'show'|'events'|'checkpoints'|'checkpoint'

---@class tideate.ui.RunsPlace a page of the history
---@field view tideate.ui.RunsView
---@field id? string prefix of a run's id; default: the newest
---@field run? tideate.StoredRun subject of the page
---@field point? tideate.StoredCheckpoint subject of the page
---@field folder? string of the project
---@field row? integer of the cursor

---@class tideate.ui.RunsSource
---@field method string of the host
---@field params fun(place: tideate.ui.RunsPlace): table<string, any>
---@field page fun(place: tideate.ui.RunsPlace, result: tideate.Result): tideate.ui.Page

---@param place tideate.ui.RunsPlace
---@return table<string, any>
local function of_run(place)
  return { execution_id = place.run and place.run.execution_id or place.id }
end

--- Return a function that builds a page from a run and the host's answer.
---@param name 'events'|'checkpoints' of `tideate.ui.run_page.text`
---@return fun(place: tideate.ui.RunsPlace, result: tideate.Result): tideate.ui.Page
local function about_run(name)
  return function(place, result)
    return text[name](place.run, result)
  end
end

---@type table<tideate.ui.RunsView, tideate.ui.RunsSource>
local sources = {
  show = {
    method = 'show',
    params = of_run,
    page = function(place, result)
      place.run = result.run
      return text.show(result)
    end,
  },
  events = {
    method = 'run_events',
    params = of_run,
    page = about_run('events'),
  },
  checkpoints = {
    method = 'checkpoints',
    params = of_run,
    page = about_run('checkpoints'),
  },
  checkpoint = {
    method = 'checkpoint_state',
    params = function(place)
      return { checkpoint_id = place.point.checkpoint_id }
    end,
    page = function(place, result)
      return text.checkpoint(place.run, place.point, result)
    end,
  },
}

---@class tideate.ui.Runs
---@field place? tideate.ui.RunsPlace nil until the first page is drawn
---@field before tideate.ui.RunsPlace[] pages to go back to
---@field going? tideate.ui.RunsPlace[] the same for the requested page
---@field folder string of the project
---@field asked integer number of requests; only the last answer is shown
---@field turning? integer number of the pending request
---@field stale? boolean a run changed during the pending request
---@field words? string words of the footer

local controls ---@type tideate.ui.RunsControls

local window ---@type tideate.ui.PageWindow
window = pages.new('run', function()
  return require('tideate.ui.pages.run_page.keys').keys(controls)
end, function()
  local words = vim.inspect(require('tideate.ui.keys').words(window:keys()))
  if window:is_visible() and window.shown.words ~= words then
    window.shown.words = words
    window:fit()
  end
end)

function M.close()
  window:close()
end

--- Return the checkpoint under the cursor, else that of the page.
---@return tideate.StoredCheckpoint?
local function selected_point()
  return window.shown.place.point or (window.page.points or {})[window:row()]
end

--- Store the cursor's line, for the way back.
local function bookmark()
  window.shown.place.row = window:row()
end

---@param place tideate.ui.RunsPlace
---@param page tideate.ui.Page
---@param folder string
local function put(place, page, folder)
  local it = window:is_visible() and window.shown or { before = {}, folder = folder, asked = 0 }
  it.place = place
  window:show(it, page, place.row)
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
  local it = window.shown
  params.folder = place.folder or it and it.folder or require('tideate.context').folder()
  local ticket = it and it.asked + 1 or 0
  if it then
    it.asked, it.turning = ticket, ticket
  end
  require('tideate.stored_runs').ask(sources[place.view].method, params, function(result)
    -- a window closed meanwhile stays closed
    if it == window.shown and (not it or it.asked == ticket) then
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
  if window.shown then
    window.shown.going = before or window.shown.before
  end
  local source = sources[place.view]
  load(place, source.params(place), function(result, folder)
    if window:is_visible() and window.shown.place == place then
      bookmark()
    end
    put(place, source.page(place, result), folder)
    window.shown.before = before or window.shown.before
  end)
end

--- Turn to a page; `q` returns to the current one.
---@param place tideate.ui.RunsPlace
local function deeper(place)
  if not window:is_visible() then
    return turn(place)
  end
  bookmark()
  turn(place, vim.list_extend(vim.list_slice(window.shown.before), { window.shown.place }))
end

--- Show a run.
---@param id? string prefix of its id; default: the newest
---@param folder? string of its project; default: the current one
function M.show(id, folder)
  deeper({ view = 'show', id = id, folder = folder })
end

--- Reload the page after a run changed; a requested page comes first.
function M.refresh()
  local it = window.shown
  if not window:is_visible() or it.place.view == 'events' or it.place.view == 'checkpoint' then
    return
  elseif it.turning then
    it.stale = true
  else
    turn(it.place)
  end
end

controls = {
  spot = function()
    local it = window:is_visible() and window.shown
    if not it or not it.place then
      return { view = 'show', nested = false }
    end
    return { view = it.place.view, nested = #it.before > 0, run = it.place.run, point = selected_point() }
  end,
  fold = pages.toggle_fold,
  act = function(action, run)
    require('tideate.ui.run_actions').act(action, run, window.shown.folder, function()
      M.refresh()
      require('tideate.ui.panel').changed()
    end)
  end,
  restore = function(point)
    require('tideate.ui.run_actions').restore(point, window.shown.folder, function(id)
      M.close()
      require('tideate.ui.panel').open({ at = id })
    end)
  end,
  go = deeper,
  back = function()
    -- pressed twice, it goes back two pages, even before the first one arrived
    local it = window.shown
    local before = vim.list_slice(it.turning and it.going or it.before)
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
  return window:keys()
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
  if window.shown and MOVES[event.name] then
    M.refresh()
  end
end

return M
