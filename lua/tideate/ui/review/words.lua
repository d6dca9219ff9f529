--- The words that differ between old and new lines, found by Neovim's diff.
local M = {}

local LINES = 60 -- of one side; beyond, a person compares lines, not words
local BYTES = 20000 -- of both sides
local SAME = 0.5 -- share of a line without blanks; with less in common the lines are unrelated

---@alias tideate.WordSpans table<integer, { [1]: integer, [2]: integer }[]> by line, 1-based: columns, 0-based and half open

---@class tideate.ReviewWords
---@field old tideate.WordSpans
---@field new tideate.WordSpans

--- Split a line into words, blanks and single signs.
---@param line string
---@return string[]
function M.split(line)
  local words, from = {}, 1 ---@type string[], integer
  while from <= #line do
    local last = select(2, line:find('^[%w_\128-\255]+', from)) or select(2, line:find('^[ \t]+', from)) or from
    table.insert(words, (line:sub(from, last):gsub('\n', '\0')))
    from = last + 1
  end
  return words
end

---@param line string
---@return string words one word per line
---@return integer[] ends
local function words_of(line)
  local words, ends, at = M.split(line), {}, 0
  for index, word in ipairs(words) do
    at = at + #word
    ends[index] = at
  end
  return table.concat(words, '\n') .. '\n', ends
end

---@param text string
---@return integer bytes without blanks
local function size(text)
  return #text:gsub('%s', '')
end

---@param line string
---@param spans { [1]: integer, [2]: integer }[]
---@return boolean whether enough of the line is the same
local function is_alike(line, spans)
  local differs = 0
  for _, span in ipairs(spans) do
    differs = differs + size(line:sub(span[1] + 1, span[2]))
  end
  return size(line) - differs >= SAME * size(line)
end

--- Trim blanks from spans; blanks alone are marked if nothing else differs.
---@param line string
---@param spans { [1]: integer, [2]: integer }[]
---@return { [1]: integer, [2]: integer }[]
local function trimmed(line, spans)
  local found = {} ---@type { [1]: integer, [2]: integer }[]
  for _, span in ipairs(spans) do
    local from, to = line:sub(span[1] + 1, span[2]):match('^%s*()%S.-()%s*$')
    if from then
      table.insert(found, { span[1] + from - 1, span[1] + to - 1 })
    end
  end
  return #found > 0 and found or spans
end

---@param old string
---@param new string
---@return { [1]: integer, [2]: integer }[]? old, { [1]: integer, [2]: integer }[]? new
local function compare(old, new)
  local old_words, old_ends = words_of(old)
  local new_words, new_ends = words_of(new)
  local spans = { {}, {} } ---@type { [1]: integer, [2]: integer }[][]
  local changes = require('tideate.ui.review.hunk_position').diff(old_words, new_words, { result_type = 'indices' })
  for _, change in ipairs(changes) do
    for side, ends in ipairs({ old_ends, new_ends }) do
      local at, count = change[side * 2 - 1], change[side * 2]
      if count > 0 then
        table.insert(spans[side], { ends[at - 1] or 0, ends[at + count - 1] })
      end
    end
  end
  if is_alike(old, spans[1]) and is_alike(new, spans[2]) then
    return trimmed(old, spans[1]), trimmed(new, spans[2])
  end
end

--- Compare each line of a hunk with its replacement.
---@param hunk tideate.Hunk
---@return tideate.ReviewWords
function M.of(hunk)
  local found = { old = {}, new = {} }
  local before, after = table.concat(hunk.old, '\n') .. '\n', table.concat(hunk.new, '\n') .. '\n'
  if #hunk.old == 0 or #hunk.new == 0 or math.max(#hunk.old, #hunk.new) > LINES or #before + #after > BYTES then
    return found
  end
  local options = { result_type = 'indices', linematch = LINES }
  for _, pair in ipairs(require('tideate.ui.review.hunk_position').diff(before, after, options)) do
    for step = 0, pair[2] == pair[4] and pair[2] - 1 or -1 do
      local old, new = pair[1] + step, pair[3] + step
      found.old[old], found.new[new] = compare(hunk.old[old], hunk.new[new])
    end
  end
  return found
end

return M
