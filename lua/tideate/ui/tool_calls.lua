--- Lines of a run's text about tool calls and their outcomes.
local M = {}

local LONGEST = 200 -- bytes of an error on its line

---@param data table<string, any>
---@return string
local function name_of(data)
  return ('%s/%s'):format(data.server or '?', data.tool or '?')
end

--- How far a call is.
---@param data table<string, any>
---@return string
function M.progress_words(data)
  local total = type(data.total) == 'number' and ('/%g'):format(data.total) or ''
  local message = type(data.message) == 'string' and data.message ~= '' and '  ' .. data.message or ''
  return ('… `%s`  %g%s%s'):format(name_of(data), data.progress or 0, total, message)
end

--- What an event says in markdown.
---@type table<string, fun(data: table<string, any>): string?>
M.words = {
  SD_EVENT_MCP_CONNECTED = function(data)
    return ('Connected to the MCP server `%s` (%s).'):format(data.server or '?', data.transport or '?')
  end,
  SD_EVENT_TOOL_COMPLETED = function(data)
    local took = ('%.1f s'):format((data.duration_ms or 0) / 1000)
    if data.ok then
      return ('✓ `%s`  %s'):format(name_of(data), took)
    end
    local why = type(data.error) == 'string' and data.error:gsub('%s+', ' ') or 'stopped'
    return ('✗ `%s`  %s  %s'):format(name_of(data), took, require('tideate.ui.text').fit(why:sub(1, 4 * LONGEST), LONGEST))
  end,
}

---@param name string
---@return tideate.ui.Writer
local function writer(name)
  return function(entry, data)
    -- what is written takes the place of the running call
    require('tideate.ui.parallel_steps').remark(entry, M.words[name](data))
  end
end

---@type table<string, tideate.ui.Writer>
M.writers = {
  SD_EVENT_MCP_CONNECTED = writer('SD_EVENT_MCP_CONNECTED'),
  SD_EVENT_TOOL_CALLED = function(entry, data)
    entry.stream:set_tail({ '', ('… `%s`'):format(name_of(data)) })
  end,
  SD_EVENT_TOOL_PROGRESS = function(entry, data)
    entry.stream:set_tail({ '', M.progress_words(data) })
  end,
  SD_EVENT_TOOL_COMPLETED = writer('SD_EVENT_TOOL_COMPLETED'),
}

return M
