--- The state under the cursor of a drawing, with its whole guidance and transitions.
local M = {}

local api = vim.api

local ns = api.nvim_create_namespace('tideate.graph_state')
local WIDEST = 76

---@class tideate.GraphDefinition
---@field states {name: string, guidance: string}[]
---@field transitions {source: string, target: string, when: string}[]

---@param line string
---@return string[] characters
local function characters(line)
  return vim.fn.split(line, '\\zs')
end

--- Return the end of the upper border of a box.
---@param chars string[]
---@param from integer
---@return integer? to
local function border_end(chars, from)
  if not vim.list_contains({ '╭', '┌', '╔' }, chars[from]) then
    return nil
  end
  for at = from + 1, #chars do
    if vim.list_contains({ '╮', '┐', '╗' }, chars[at]) then
      return at
    elseif not vim.list_contains({ '─', '═', '┬', '┴', '╧', '╤', '▼' }, chars[at]) then
      return nil
    end
  end
end

--- Return the title of the box with its upper border in a row, at a column.
---@param lines string[]
---@param row integer
---@param column integer in characters
---@return string? title, integer? bottom row
local function box_in(lines, row, column)
  local chars = characters(lines[row])
  for from = 1, math.min(column, #chars) do
    local to = border_end(chars, from)
    if to and to >= column and lines[row + 1] then
      local title = vim.list_slice(characters(lines[row + 1]), from + 1, to - 1)
      for below = row + 1, #lines do
        if vim.list_contains({ '╰', '└', '╚' }, characters(lines[below])[from]) then
          return vim.trim(table.concat(title)), below
        end
      end
    end
  end
end

---@param title string
---@param names string[]
---@return string? name
local function named(title, names)
  for _, name in ipairs(names) do
    local start = title:match('^(.-)…$')
    if title == name or vim.endswith(title, ' ' .. name) or start and vim.startswith(name, (start:gsub('^%S+ ', ''))) then
      return name
    end
  end
  return title:find('●', 1, true) and '*' or nil
end

--- Return the state drawn at a position; `*` is the entry.
---@param lines string[]
---@param row integer 1-based
---@param byte integer 0-based
---@param names string[]
---@return string?
function M.at(lines, row, byte, names)
  local column = vim.fn.charidx((lines[row] or '') .. ' ', byte) + 1
  for top = row, 1, -1 do
    local title, bottom = box_in(lines, top, column)
    if title and bottom >= row then
      local name = named(title, names)
      if name then
        return name
      end
    end
  end
end

---@param definition tideate.GraphDefinition
---@param name string
---@param width integer
---@return tideate.Chunk[][]
local function words(definition, name, width)
  local text = require('tideate.ui.text')
  local lines = {} ---@type tideate.Chunk[][]
  local function add(prefix, body, group)
    for index, line in ipairs(text.wrap(body, width - vim.fn.strdisplaywidth(prefix) - 1)) do
      local lead = index == 1 and prefix or (' '):rep(vim.fn.strdisplaywidth(prefix))
      table.insert(lines, { { lead, 'TideateHint' }, { line, group } })
    end
  end
  for _, state in ipairs(definition.states) do
    if state.name == name and state.guidance ~= '' then
      add(' ', state.guidance)
      table.insert(lines, {})
    end
  end
  for _, move in ipairs(definition.transitions) do
    if move.source == name then
      add(' → ', move.target == '*' and 'end' or move.target, 'TideateKey')
      if move.when ~= '' then
        add('   ', move.when)
      end
    end
  end
  return #lines > 0 and lines or { { { ' nothing is said of it', 'TideateHint' } } }
end

--- Show a state's guidance and transitions in a float.
---@param definition tideate.GraphDefinition
---@param name string
function M.open(definition, name)
  local window = require('tideate.ui.window')
  local columns = window.room()
  local width = math.min(WIDEST, columns - 4)
  local lines = words(definition, name, width)
  local buf = window.scratch(nil, { bufhidden = 'wipe' })
  require('tideate.ui.text').render(buf, ns, lines)
  local title = (' %s '):format(name == '*' and 'entry' or name)
  window.popup(buf, window.centered(width, #lines, { title = title, zindex = 110 }), { 'q', '<Esc>', '<CR>', 'K' })
end

return M
