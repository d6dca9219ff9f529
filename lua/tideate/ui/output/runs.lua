--- Buffers with the output of runs: one per run, old ones dropped.
local M = {}

local state = require('tideate.state')

local KEPT = 10 -- buffers of ended runs

---@class tideate.ui.Run
---@field stream tideate.Stream
---@field step_began integer rows before the text of the current step
---@field wrote boolean whether the current step streamed text
---@field floor? string step being written
---@field headings tideate.ui.Heading[] without text below them so far
---@field held tideate.ui.Section[] of parallel steps
---@field check? tideate.ui.LiveCheck running
---@field calls tideate.ui.Call[] ended
---@field running_calls table<integer, any> arguments by number
---@field checklist string[] unfinished plan of an agent
---@field reasoning table<string, tideate.ui.Reasoning> by step
---@field notices tideate.Event[] waiting for the end of a line
---@field in_line? boolean a streamed line is unfinished
---@field begun? boolean the head was written
---@field looks? boolean it was shown at its first tool call

---@type table<string, tideate.ui.Run>
local runs = {}
---@type string[] oldest first
local order = {}

---@param id string
---@return tideate.ui.Run?
function M.get(id)
  return runs[id]
end

---@param id string
---@param keys fun(): tideate.Key[]
---@return tideate.ui.Run
function M.add(id, keys)
  local run = state.get_status(id)
  local name = ('tideate://%s/%s'):format(run and run.name or 'run', id:sub(1, 8))
  local stream = require('tideate.ui.transcript.stream').new(name, function(buf)
    require('tideate.ui.keys').set(buf, keys())
  end)
  local entry = M.entry(stream)
  runs[id] = entry
  table.insert(order, id)
  return entry
end

--- Create the entry of a run that writes into a stream.
---@param stream tideate.Stream
---@return tideate.ui.Run
function M.entry(stream)
  return {
    stream = stream,
    step_began = 0,
    wrote = false,
    calls = {},
    running_calls = {},
    checklist = {},
    reasoning = {},
    notices = {},
    headings = {},
    held = {},
  }
end

--- Return a run's entry with a loaded buffer.
---@param id string
---@param keys fun(): tideate.Key[]
---@return tideate.ui.Run?
function M.revived(id, keys)
  local entry, run = runs[id], state.get_status(id)
  if not entry and run then
    entry = M.add(id, keys)
    require('tideate.ui.transcript').begin(entry, run)
  end
  if entry then
    entry.stream:flush()
    entry.stream:loaded_buffer()
  end
  return entry
end

--- Drop the buffers of old runs, and the texts of unknown ones.
---@param but string? the shown run
function M.evict_old(but)
  local finished = 0
  for index = #order, 1, -1 do
    local id = order[index]
    local run = state.get_status(id)
    if id ~= but and not (run and require('tideate.ui.progress').active(run)) then
      finished = finished + 1
      if not run then
        runs[id].stream:close()
        runs[id] = nil
        table.remove(order, index)
      elseif finished > KEPT then
        runs[id].stream:drop()
      end
    end
  end
end

--- Drop all texts.
function M.close()
  for _, entry in pairs(runs) do
    entry.stream:close()
  end
  runs, order = {}, {}
end

return M
