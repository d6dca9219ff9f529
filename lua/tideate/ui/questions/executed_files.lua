--- Warnings about files that other tools execute: `.envrc`, CI files, hooks.
local M = {}

---@class tideate.Executed
---@field path string
---@field reason string tool and occasion

M.GROUP = 'TideateDanger'
M.MARK = '! run by other tools '

---@param found tideate.Executed
---@return string
function M.words(found)
  return ('! other tools run %s: %s'):format(require('tideate.ui.text').name(found.path), found.reason)
end

---@param words string
---@param width integer
---@return tideate.Chunk[][]
local function wrapped(words, width)
  return vim.tbl_map(function(line)
    return { { ' ' .. line .. ' ', M.GROUP } }
  end, require('tideate.ui.text').wrap(words, math.max(8, width - 2)))
end

--- Return the warnings of a question.
---@param question tideate.Question
---@param width integer
---@return tideate.Chunk[][]
function M.lines(question, width)
  local lines = {} ---@type tideate.Chunk[][]
  for _, found in ipairs(question.executed or {}) do
    vim.list_extend(lines, wrapped(M.words(found), width))
  end
  return lines
end

--- Return the warning above a hunk.
---@param reason string
---@param width integer
---@return tideate.Chunk[][]
function M.above(reason, width)
  return wrapped('! other tools run this file: ' .. reason, width)
end

--- Return the reason that a file is executed.
---@param question tideate.Question
---@param file { path: string, move_to?: string }
---@return string?
function M.reason(question, file)
  for _, found in ipairs(question.executed or {}) do
    if found.path == (file.move_to or file.path) then
      return found.reason
    end
  end
end

return M
