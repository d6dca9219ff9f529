--- Lines that runs are working on: signs beside them, and which runs concern which buffer.
local M = {}

local PRIORITY = 8 -- above the signs of changed lines, below those of diagnostics
local SIGN = '▸'
local namespace = vim.api.nvim_create_namespace('tideate.ranges')

---@type table<string, { buf: integer, mark?: integer }>
local places = {}

--- A run begins.
---@param run string
---@param context tideate.Context
function M.begin(run, context)
  local buf, lines = (context.buffer or {}).number, context.selection
  if not buf or not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  places[run] = { buf = buf }
  if lines and vim.api.nvim_buf_is_loaded(buf) then
    local last = math.min(lines['end'], vim.api.nvim_buf_line_count(buf)) - 1
    local signs = require('tideate.config').get('signs')
    places[run].mark = vim.api.nvim_buf_set_extmark(buf, namespace, math.min(lines.start - 1, last), 0, {
      end_row = last,
      sign_text = signs and SIGN or nil,
      sign_hl_group = signs and 'TideateRunning' or nil,
      priority = PRIORITY,
    })
  end
end

---@type table<string, true>
local ENDS = {
  SD_EVENT_WORKFLOW_COMPLETED = true,
  SD_EVENT_WORKFLOW_FAILED = true,
  SD_EVENT_WORKFLOW_CANCELLED = true,
}

--- Take an event.
---@param event tideate.Event
function M.on_event(event)
  local place = places[event.execution_id]
  if not place or not ENDS[event.name] then
    return
  end
  places[event.execution_id] = nil
  if place.mark and vim.api.nvim_buf_is_valid(place.buf) then
    vim.api.nvim_buf_del_extmark(place.buf, namespace, place.mark)
  end
end

--- The lines that a run was started on, where they are now.
---@param run string
---@return { buf: integer, first: integer, last: integer }?
function M.lines(run)
  local place = places[run]
  if not place or not place.mark or not vim.api.nvim_buf_is_loaded(place.buf) then
    return nil
  end
  local mark = vim.api.nvim_buf_get_extmark_by_id(place.buf, namespace, place.mark, { details = true })
  return mark[1] and { buf = place.buf, first = mark[1] + 1, last = mark[3].end_row + 1 } or nil
end

--- Whether a run was started on a buffer, and goes on.
---@param run string
---@param buf integer
---@return boolean
function M.concerns(run, buf)
  return places[run] ~= nil and places[run].buf == buf
end

return M
