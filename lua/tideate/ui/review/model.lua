--- State of a review: hunks and the person's decisions about them.
local M = {}

---@class tideate.ReviewFile
---@field path string
---@field action 'create'|'modify'|'delete'|'move'
---@field move_to? string
---@field buffer? integer
---@field tick? integer
---@field filetype? string
---@field before? string only without a buffer
---@field hunks tideate.Hunk[]

--- What is decided at once: one hunk of a modified file, else the whole file.
---@class tideate.ReviewUnit
---@field hunks tideate.Hunk[]
---@field state 'open'|'accepted'|'rejected'
---@field stale boolean the person changed its lines

---@class tideate.ReviewEntry
---@field file tideate.ReviewFile
---@field danger string? why other tools run the file by themselves
---@field units tideate.ReviewUnit[]
---@field sign { [1]: string, [2]: string }

---@class tideate.ReviewModel
---@field entries tideate.ReviewEntry[]
local Model = {}
Model.__index = Model

---@param hunks tideate.Hunk[]
---@return tideate.ReviewUnit
local function unit(hunks)
  return { hunks = hunks, state = 'open', stale = false }
end

---@param question tideate.Question
---@return tideate.ReviewModel
function M.new(question)
  local entries = vim.tbl_map(function(file)
    local units = file.action == 'modify' and vim.tbl_map(function(hunk)
      return unit({ hunk })
    end, file.hunks) or { unit(file.hunks or {}) }
    return {
      file = file,
      units = units,
      sign = require('tideate.ui.plan').SIGNS[file.action],
      danger = require('tideate.ui.executed_files').reason(question, file),
    }
  end, question.payload.files)
  return setmetatable({ entries = entries }, Model)
end

---@param visit fun(unit: tideate.ReviewUnit, entry: tideate.ReviewEntry)
function Model:each(visit)
  for _, entry in ipairs(self.entries) do
    for _, one in ipairs(entry.units) do
      visit(one, entry)
    end
  end
end

---@return { open: integer, accepted: integer, rejected: integer, total: integer }
function Model:count()
  local count = { open = 0, accepted = 0, rejected = 0, total = 0 }
  self:each(function(one)
    count[one.state] = count[one.state] + 1
    count.total = count.total + 1
  end)
  return count
end

--- `3 hunks: 2 accepted, 1 open`
---@return string
function Model:summary()
  local count = self:count()
  local parts = {}
  for _, state in ipairs({ 'accepted', 'rejected', 'open' }) do
    if count[state] > 0 then
      table.insert(parts, ('%d %s'):format(count[state], state))
    end
  end
  return ('%s: %s'):format(self:counted(), table.concat(parts, ', '))
end

---@return string
function Model:counted()
  local total = self:count().total
  return ('%d %s'):format(total, total == 1 and 'hunk' or 'hunks')
end

--- The first file that has something open, from an index on and around.
---@param from integer
---@return integer?
function Model:next_open(from)
  for step = 0, #self.entries - 1 do
    local index = (from - 1 + step) % #self.entries + 1
    for _, one in ipairs(self.entries[index].units) do
      if one.state == 'open' then
        return index
      end
    end
  end
end

--- The answer: what is open or was changed meanwhile is left out.
---@return { accepted: boolean, value: { files: { path: string, accepted: integer[] }[] } }
function Model:result()
  local any = false
  local files = vim.tbl_map(function(entry)
    local accepted = {}
    for index, one in ipairs(entry.units) do
      if one.state == 'accepted' and not one.stale then
        table.insert(accepted, index - 1)
        any = true
      end
    end
    return { path = entry.file.path, accepted = accepted }
  end, self.entries)
  return { accepted = any, value = { files = files } }
end

return M
