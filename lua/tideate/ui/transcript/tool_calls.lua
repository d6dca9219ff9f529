--- Transcript lines of tool calls; the whole call in a float.
local M = {}

local ui_text = require('tideate.ui.text')
local parallel_steps = require('tideate.ui.transcript.parallel_steps')

local LONGEST = 200 -- bytes of an error on its line

---@class tideate.ui.Call
---@field line string line of the transcript
---@field data table<string, any> data of its end
---@field arguments any

--- Return the summary of a call, else the tool.
---@param data table<string, any>
---@return string
function M.name(data)
  local name = data.summary or ('%s/%s'):format(data.server or '?', data.tool or '?')
  return (name:gsub('`', "'"))
end

--- Describe the progress of a call.
---@param data table<string, any>
---@return string
function M.progress_words(data)
  local total = type(data.total) == 'number' and ('/%g'):format(data.total) or ''
  local message = type(data.message) == 'string' and data.message ~= '' and '  ' .. data.message or ''
  local far = type(data.progress) == 'number' and ('  %g%s'):format(data.progress, total) or ''
  return ('… `%s`%s%s'):format(M.name(data), far, message)
end

--- Return the plan of an agent as a list with checkboxes.
---@param data table<string, any>
---@return string[]
function M.checklist(data)
  return vim.tbl_map(function(line)
    return '- ' .. line
  end, vim.islist(data.checklist) and data.checklist or {})
end

--- Format the length of a text.
---@param characters integer
---@return string
function M.size_words(characters)
  if characters < 1000 then
    return ui_text.counted(characters, 'character')
  end
  return ('%.1fk characters'):format(characters / 1000)
end

--- Count calls by tool.
---@param calls tideate.Event[]
---@return string
function M.count_words(calls)
  local counts, names, failed = {}, {}, 0 ---@type table<string, integer>, string[], integer
  for _, call in ipairs(calls) do
    local server = call.data.server
    local name = (server and server ~= '' and server .. '/' or '') .. call.data.tool
    if not counts[name] then
      table.insert(names, name)
    end
    counts[name] = (counts[name] or 0) + 1
    failed = failed + (call.data.ok and 0 or 1)
  end
  table.sort(names, function(a, b)
    return counts[a] > counts[b] or counts[a] == counts[b] and a < b
  end)
  local words = vim.tbl_map(function(name)
    return ('%d %s'):format(counts[name], name)
  end, names)
  local failures = failed > 0 and (' (%d failed)'):format(failed) or ''
  return ('%s: %s%s'):format(ui_text.counted(#calls, 'tool call'), table.concat(words, ', '), failures)
end

--- Descriptions of events in Markdown.
---@type table<string, fun(data: table<string, any>): string?>
M.words = {
  SD_EVENT_MCP_CONNECTED = function(data)
    return ('Connected to the MCP server `%s` (%s).'):format(data.server or '?', data.transport or '?')
  end,
  SD_EVENT_TOOL_COMPLETED = function(data)
    local took = ('%.1f s'):format((data.duration_ms or 0) / 1000)
    if data.ok then
      local size = data.size and M.size_words(data.size) .. '  ' or ''
      return ('✓ `%s`  %s%s'):format(M.name(data), size, took)
    end
    local why = type(data.error) == 'string' and data.error:gsub('%s+', ' ') or 'stopped'
    return ('✗ `%s`  %s  %s'):format(M.name(data), took, ui_text.fit(why:sub(1, 4 * LONGEST), LONGEST))
  end,
}

--- Show a running call below the transcript, with the agent's unfinished plan.
---@param entry tideate.ui.Run
---@param line string
local function show_running(entry, line)
  entry.stream:set_tail(vim.list_extend({ '', line }, entry.checklist))
end

---@type table<string, tideate.ui.Writer>
M.writers = {
  SD_EVENT_MCP_CONNECTED = function(entry, data)
    parallel_steps.remark(entry, M.words.SD_EVENT_MCP_CONNECTED(data))
  end,
  SD_EVENT_TOOL_CALLED = function(entry, data, run)
    entry.running_calls[data.call or 0] = data.arguments
    if parallel_steps.is_written(entry, data.step, run) then
      parallel_steps.write_headings(entry)
      show_running(entry, M.line(data))
    end
  end,
  SD_EVENT_TOOL_PROGRESS = function(entry, data, run)
    entry.checklist = data.checklist and M.checklist(data) or entry.checklist
    if parallel_steps.is_written(entry, data.step, run) then
      show_running(entry, M.progress_words(data))
    end
  end,
  SD_EVENT_TOOL_COMPLETED = function(entry, data, run)
    local number, line = data.call or 0, M.line(data)
    parallel_steps.put(entry, data.step, { call = line }, run) -- replaces the line of the running call
    local checklist = M.checklist(data)
    if #checklist > 0 then
      entry.checklist = {}
      parallel_steps.put(entry, data.step, { apart = table.concat(checklist, '\n') }, run)
    end
    table.insert(entry.calls, { line = '> ' .. line, data = data, arguments = entry.running_calls[number] })
    entry.running_calls[number] = nil
  end,
}

--- Return the line of a call, running or ended.
---@param data table<string, any> data of its newest event
---@return string
function M.line(data)
  return data.ok ~= nil and M.words.SD_EVENT_TOOL_COMPLETED(data) or ('… `%s`'):format(M.name(data))
end

--- Return the call on a line; among equal lines, by position.
---@param entry tideate.ui.Run
---@param lines string[] lines of the transcript up to the one in question
---@return tideate.ui.Call?
function M.at(entry, lines)
  local line, place = lines[#lines], 0
  for _, other in ipairs(lines) do
    place = place + (other == line and 1 or 0)
  end
  local same = vim.tbl_filter(function(call)
    return call.line == line
  end, entry.calls)
  return same[math.min(place, #same)]
end

---@param text string
---@param language string
---@return string
local function fenced(text, language)
  local fence = '```'
  while text:find(fence, 1, true) do
    fence = fence .. '`'
  end
  return ('%s%s\n%s\n%s'):format(fence, language, text, fence)
end

---@param edits {search?: string, replace?: string}[]
---@return string
local function diff(edits)
  local lines = {}
  for _, edit in ipairs(edits) do
    table.insert(lines, '@@')
    for _, side in ipairs({ { '-', edit.search }, { '+', edit.replace } }) do
      local text = type(side[2]) == 'string' and side[2]:gsub('\n$', '') or ''
      for _, line in ipairs(text == '' and {} or vim.split(text, '\n', { plain = true })) do
        table.insert(lines, side[1] .. line)
      end
    end
  end
  return fenced(table.concat(lines, '\n'), 'diff')
end

---@param name string
---@param value any
---@return string
local function argument(name, value)
  if name == 'edits' and vim.islist(value) and type(value[1]) == 'table' then
    return diff(value)
  elseif type(value) == 'string' and value:find('\n') then
    return ('%s:\n\n%s'):format(name, fenced(value, ''))
  end
  return ('%s: %s'):format(name, type(value) == 'string' and value or vim.json.encode(value))
end

--- Return everything known about a call, in Markdown.
---@param call tideate.ui.Call
---@return string
function M.details(call)
  local parts, arguments = { (call.line:gsub('^> ', '')) }, call.arguments
  for _, name in ipairs(type(arguments) == 'table' and vim.fn.sort(vim.tbl_keys(arguments)) or {}) do
    table.insert(parts, argument(name, arguments[name]))
  end
  if type(arguments) == 'string' then
    table.insert(parts, fenced(arguments, 'json')) -- cut because of its length
  end
  local kind = type(call.data.error) == 'string' and 'error' or 'result'
  if type(call.data[kind]) == 'string' then
    table.insert(parts, ('%s:\n\n%s'):format(kind, fenced(call.data[kind], '')))
  end
  return table.concat(parts, '\n\n')
end

return M
