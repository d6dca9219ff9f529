--- Cache of a `.workflow` buffer's outline (states and their positions), requested once per text.
local M = {}

---@class tideate.Mention
---@field line integer 1-based
---@field column integer 1-based, in characters
---@field kind 'source'|'target'

---@class tideate.MachineState
---@field name string
---@field line integer
---@field column integer
---@field guidance string
---@field references tideate.Mention[]

---@class tideate.Move
---@field source string
---@field target string
---@field when string
---@field line integer

---@class tideate.Outline
---@field states tideate.MachineState[]
---@field transitions tideate.Move[]

---@class tideate.KnownOutline
---@field tick integer
---@field outline? tideate.Outline nil during the request
---@field waiting fun(outline: tideate.Outline?)[]

---@type table<integer, tideate.KnownOutline>
local known = {}

---@param buf integer
---@param entry tideate.KnownOutline
---@param outline tideate.Outline?
local function settle(buf, entry, outline)
  entry.outline = outline
  if not outline and known[buf] == entry then
    known[buf] = nil
  end
  local waiting = entry.waiting
  entry.waiting = {}
  for _, callback in ipairs(waiting) do
    callback(outline)
  end
end

--- Get the outline of the current text; nil if it has none.
---@param buf integer
---@param callback fun(outline: tideate.Outline?) called after this returns
function M.get(buf, callback)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local entry = known[buf]
  if entry and entry.tick == tick then
    if entry.outline then
      return vim.schedule(function()
        callback(entry.outline)
      end)
    end
    return table.insert(entry.waiting, callback)
  end
  entry = { tick = tick, waiting = { callback } }
  known[buf] = entry
  local text = require('tideate.language.requests').text(buf)
  if not text then
    return vim.schedule(function()
      settle(buf, entry, nil)
    end)
  end
  require('tideate.language.requests').ask('machine_outline', { text = text }, function(result)
    settle(buf, entry, result.ok and result --[[@as tideate.Outline]] or nil)
  end)
end

--- Return a state by name.
---@param outline tideate.Outline
---@param name string
---@return tideate.MachineState?
function M.state(outline, name)
  for _, state in ipairs(outline.states) do
    if state.name == name then
      return state
    end
  end
end

--- Return the state at a position: a mention, or a word of a text.
---@param buf integer
---@param outline tideate.Outline
---@param row integer 0-based
---@param byte integer
---@return tideate.MachineState? state, integer? first byte of the name, 0-based
function M.at(buf, outline, row, byte)
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
  local from = 1
  while true do
    local first, last = line:find('[%a_][%w_]*', from)
    if not first or first - 1 > byte then
      return nil
    elseif byte <= last then
      local state = M.state(outline, line:sub(first, last))
      if state or byte < last then
        return state, state and first - 1
      end
    end
    from = last + 1
  end
end

--- Discard the outline of a buffer. Pending requests are still answered.
---@param buf integer
function M.discard(buf)
  known[buf] = nil
end

return M
