--- Gates and checks of a task as facts for its page.
local M = {}

---@type table<string, string> gate event → mark
local DECIDED = { SD_EVENT_GATE_PASSED = '✓', SD_EVENT_GATE_FAILED = '✗' }

---@param event tideate.Event
---@return 'gates'|'checks'|nil kind, string? name, string? mark
local function decided(event)
  local data = event.data
  if DECIDED[event.name] and data.number then
    return 'gates', data.gate, DECIDED[event.name]
  elseif event.name == 'SD_EVENT_CHECK_ENDED' then
    return 'checks', data.check, require('tideate.ui.transcript.checks').mark(data)
  end
end

--- Return the last decision of each gate or check, in order of their first events.
---@param events tideate.Event[]
---@param wanted 'gates'|'checks'
---@return string[] words, boolean failed
local function last(events, wanted)
  local order, marks, failed = {}, {}, false ---@type string[], table<string, string>, boolean
  for _, event in ipairs(events) do
    local kind, name, mark = decided(event)
    if kind == wanted and name then
      if not marks[name] then
        table.insert(order, name)
      end
      marks[name] = mark
    end
  end
  local words = vim.tbl_map(function(name)
    failed = failed or (marks[name] ~= '✓' and marks[name] ~= '·')
    return marks[name] .. ' ' .. require('tideate.ui.text').plain(name)
  end, order)
  return words, failed
end

--- Return the facts of a task; empty for a run without gates.
---@param result {events: tideate.Event[], gist: {plan?: string, audit?: string}}
---@return { [1]: string, [2]: string|string[], [3]: string? }[] name, text or words, highlight group
function M.facts(result)
  local facts = {} ---@type { [1]: string, [2]: string|string[], [3]: string? }[]
  for _, kind in ipairs({ 'gates', 'checks' }) do
    local words, failed = last(result.events, kind)
    if #words > 0 then
      table.insert(facts, { kind, words, failed and 'TideateFailed' or 'TideateDone' })
    end
  end
  if #facts > 0 then
    table.insert(facts, 1, { 'plan', result.gist.plan or '' })
    table.insert(facts, 2, { 'audit', result.gist.audit or '' })
  end
  return facts
end

return M
