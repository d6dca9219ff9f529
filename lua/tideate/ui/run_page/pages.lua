--- Pages of a run: the request and the text of each.
local M = {}

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
    return require('tideate.ui.run_page.text')[name](place.run, result)
  end
end

---@type table<tideate.ui.RunsView, tideate.ui.RunsSource>
M.sources = {
  show = {
    method = 'show',
    params = of_run,
    page = function(place, result)
      place.run = result.run
      return require('tideate.ui.run_page.text').show(result)
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
      return require('tideate.ui.run_page.text').checkpoint(place.run, place.point, result)
    end,
  },
}

return M
