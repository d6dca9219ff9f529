--- Fuzzy search of file paths: matches a query's characters in order, and prefers file names and word starts.
local M = {}

local byte = string.byte

local NEWLINE, SLASH = 10, 47
local CONSECUTIVE, WORD_START, NAME, GAP = 8, 6, 12, 1 -- points; NAME: all in the last part of the path
local NO_MATCH = -math.huge

---@class tideate.FuzzyIndex
---@field text string paths, each ended by a newline
---@field lower string the same in lower case
---@field starts integer[] of each path

---@class tideate.FuzzyMatch
---@field path string
---@field score number

--- Bytes after which a word starts: `/`, `_`, `-`, `.` and blank.
local DIVIDES = { [47] = true, [95] = true, [45] = true, [46] = true, [32] = true }

--- Index paths in linear time.
---@param text string paths, each ended by a newline
---@return tideate.FuzzyIndex
function M.index(text)
  local starts, at = {}, 1
  while true do
    local stop = text:find('\n', at, true)
    if not stop then
      break
    end
    starts[#starts + 1] = at
    at = stop + 1
  end
  return { text = text, lower = text:lower(), starts = starts }
end

--- Score the first match of a query after a position; characters between matches cost points.
---@param text string the indexed paths as they are written
---@param lower string the same in lower case
---@param query string in lower case
---@param from integer
---@param start integer of the path
---@return number score
local function score_from(text, lower, query, from, start)
  local wanted, last, score, place = byte(query, 1), 0, 0, 1
  local length = #query
  local at = from
  while true do
    local char = byte(lower, at)
    if char == wanted then
      if last == at - 1 and place > 1 then
        score = score + CONSECUTIVE
      elseif at == start or DIVIDES[byte(lower, at - 1)] then
        score = score + WORD_START
      elseif byte(text, at) ~= char and byte(text, at - 1) == byte(lower, at - 1) then
        score = score + WORD_START -- camelCase
      elseif place > 1 then
        score = score - GAP
      end
      last = at
      place = place + 1
      if place > length then
        return score
      end
      wanted = byte(query, place)
    elseif char == NEWLINE or char == nil then
      return NO_MATCH
    end
    at = at + 1
  end
end

--- Search an index.
---@param index tideate.FuzzyIndex
---@param query string
---@param limit integer most matches
---@param found? tideate.FuzzyMatch[] best matches so far, of other indexes
---@return tideate.FuzzyMatch[] best first
function M.search(index, query, limit, found)
  found = found or {}
  query = query:lower()
  local text, lower, starts = index.text, index.lower, index.starts
  local worst = #found >= limit and found[#found].score or NO_MATCH
  for number = 1, #starts do
    local start = starts[number]
    local stop = (starts[number + 1] or #text + 1) - 2
    local score = 0
    if query ~= '' then
      score = score_from(text, lower, query, start, start)
    end
    if score > NO_MATCH then
      local name = stop
      while name >= start and byte(lower, name) ~= SLASH do
        name = name - 1
      end
      if query ~= '' and name >= start then
        local in_name = score_from(text, lower, query, name + 1, start)
        score = math.max(score, in_name + NAME)
      elseif query ~= '' then
        score = score + NAME
      end
      score = score - (stop - start) / 50
      if score > worst or #found < limit then
        local place = #found < limit and #found + 1 or limit
        while place > 1 and found[place - 1].score < score do
          found[place] = found[place - 1]
          place = place - 1
        end
        found[place] = { path = text:sub(start, stop), score = score }
        worst = #found >= limit and found[#found].score or NO_MATCH
      end
    end
  end
  return found
end

return M
