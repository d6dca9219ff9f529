--- Pages of a run: the request of each to the host, and the page made of the answer.
local M = {}

---@alias tideate.ui.RunsView 'show'|'events'|'checkpoints'|'checkpoint'

---@class tideate.ui.RunsPlace a page that can be come back to
---@field view tideate.ui.RunsView
---@field id? string the beginning of a run's id; the newest by default
---@field run? tideate.StoredRun that the page is about
---@field point? tideate.StoredCheckpoint that the page is about
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

--- A page that is made of a run and the host's answer.
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
