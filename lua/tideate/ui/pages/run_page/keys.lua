--- Keys of a run's pages; the footer names those that act on the cursor's line.
local M = {}

local run_actions = require('tideate.ui.run_actions')
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

--- Return the word and the function of an action on the run; one that the host refuses has no word and gives the reason.
---@param action tideate.RunAction
---@param word string
---@return tideate.ui.RunsDeed
local function doing(action, word)
  return function(spot, controls)
    if spot.run then
      return run_actions.can(spot.run, action) and word or nil, function()
        controls.act(action, spot.run)
      end
    end
  end
end

--- Limit a key to some pages.
---@param views string separated by blanks
---@param deed tideate.ui.RunsDeed
---@return tideate.ui.RunsDeed
local function on(views, deed)
  return function(spot, controls)
    if vim.list_contains(vim.split(views, ' '), spot.view) then
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

--- The most useful keys first: a footer has space for a few.
---@type { [1]: string[], [2]: string, [3]: tideate.ui.RunsDeed }[]
local TABLE = {
  { { '<CR>' }, 'open or close a fold; show a checkpoint', function(spot, controls)
    if spot.view == 'show' then
      return 'fold', controls.fold
    elseif spot.view == 'checkpoints' and spot.point then
      return to('checkpoint', 'state')(spot, controls)
    end
  end },
  { { 'p' }, 'pause the run before its next step; resume a paused or interrupted one', on('show events', function(spot, controls)
    local action = run_actions.can(spot.run, 'resume') and 'resume' or 'pause'
    return doing(action, action)(spot, controls)
  end) },
  { { 'R' }, 'roll back the changes of the run, after a list of its files (d: differences); cancel an interrupted run', on('show events', doing('rollback', 'roll back')) },
  { { 'c' }, 'cancel the run', on('show events', doing('cancel', 'cancel')) },
  { { 'e' }, 'its events', on('show', to('events', 'events')) },
  { { 'C' }, 'its checkpoints', on('show events', to('checkpoints', 'points')) },
  { { 'r' }, 'restore the checkpoint as a new run', on('checkpoints checkpoint', function(spot, controls)
    return spot.point and 'restore', function()
      if spot.point then
        controls.restore(spot.point)
      end
    end
  end) },
  { { 'a' }, 'make a checkpoint of the run as it is now', on('checkpoints', doing('checkpoint', 'add')) },
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
