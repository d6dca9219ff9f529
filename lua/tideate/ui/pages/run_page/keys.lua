--- Keys of a run's pages; the footer names those that act on the cursor's line.
local M = {}

---@class tideate.ui.RunsSpot page and selection
---@field view tideate.ui.RunsView
---@field run? tideate.StoredRun selected
---@field point? tideate.StoredCheckpoint selected
---@field nested boolean whether there is a page to go back to

---@class tideate.ui.RunsControls functions behind the keys
---@field spot fun(): tideate.ui.RunsSpot
---@field fold fun()
---@field act fun(action: tideate.RunAction, run: tideate.StoredRun)
---@field restore fun(point: tideate.StoredCheckpoint)
---@field go fun(place: tideate.ui.RunsPlace)
---@field back fun()

--- Action of a key: footer word and function; nil without an action on this page.
---@alias tideate.ui.RunsDeed fun(spot: tideate.ui.RunsSpot, controls: tideate.ui.RunsControls): string?, fun()?

---@param spot tideate.ui.RunsSpot
---@return boolean
local function pointed(spot)
  return spot.view == 'checkpoints' or spot.view == 'checkpoint'
end

--- Return the key action for a run; an action that the host refuses has no word and gives the reason.
---@param action tideate.RunAction
---@param word string
---@return tideate.ui.RunsDeed
local function doing(action, word)
  return function(spot, controls)
    if spot.run then
      return require('tideate.ui.run_actions').can(spot.run, action) and word or nil, function()
        controls.act(action, spot.run)
      end
    end
  end
end

---@param deed tideate.ui.RunsDeed
---@return tideate.ui.RunsDeed
local function of_runs(deed)
  return function(spot, controls)
    if not pointed(spot) then
      return deed(spot, controls)
    end
  end
end

---@param view tideate.ui.RunsView
---@param word string
---@return tideate.ui.RunsDeed
local function to(view, word)
  return function(spot, controls)
    return word, function()
      controls.go({ view = view, run = spot.run, point = view == 'checkpoint' and spot.point or nil })
    end
  end
end

local resume, pause, add = doing('resume', 'resume'), doing('pause', 'pause'), doing('checkpoint', 'add')
local to_events, to_points, to_state = to('events', 'events'), to('checkpoints', 'points'), to('checkpoint', 'state')

--- The most useful keys first: a footer has space for a few.
---@type { [1]: string[], [2]: string, [3]: tideate.ui.RunsDeed }[]
local TABLE = {
  { { '<CR>' }, 'open or close a fold; show a checkpoint', function(spot, controls)
    if spot.view == 'checkpoints' and spot.point then
      return to_state(spot, controls)
    elseif spot.view == 'show' then
      return 'fold', controls.fold
    end
  end },
  { { 'p' }, 'pause the run before its next step; resume a paused or interrupted one', of_runs(function(spot, controls)
    local stands = require('tideate.ui.run_actions').can(spot.run, 'resume')
    return (stands and resume or pause)(spot, controls)
  end) },
  { { 'R' }, 'roll back the changes of the run, after a list of its files (d: differences); cancel an interrupted run', of_runs(doing('rollback', 'roll back')) },
  { { 'c' }, 'cancel the run', of_runs(doing('cancel', 'cancel')) },
  { { 'e' }, 'its events', function(spot, controls)
    if spot.view == 'show' then
      return to_events(spot, controls)
    end
  end },
  { { 'C' }, 'its checkpoints', of_runs(function(spot, controls)
    if spot.run then
      return to_points(spot, controls)
    end
  end) },
  { { 'r' }, 'restore the checkpoint as a new run', function(spot, controls)
    if pointed(spot) and spot.point then
      return 'restore', function()
        controls.restore(spot.point)
      end
    end
  end },
  { { 'a' }, 'make a checkpoint of the run as it is now', function(spot, controls)
    if spot.view == 'checkpoints' then
      return add(spot, controls)
    end
  end },
  { { 'q', '<Esc>' }, 'back to the page before, or close this window', function(spot, controls)
    return spot.nested and 'back' or 'close', controls.back
  end },
}

--- Return the keys with words for the cursor's line; each key acts on the line at the time of the key press.
---@param controls tideate.ui.RunsControls
---@return tideate.Key[]
function M.keys(controls)
  local spot = controls.spot()
  return vim.tbl_map(function(entry)
    return {
      lhs = entry[1],
      desc = entry[2],
      word = (entry[3](spot, controls)),
      run = function()
        local _, deed = entry[3](controls.spot(), controls)
        if deed then
          deed()
        end
      end,
    }
  end, TABLE)
end

return M
