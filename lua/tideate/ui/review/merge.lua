--- Three-way merge of a hunk's lines by words: the proposal and the user's edits.
local M = {}

local split = require('tideate.ui.review.words').split

---@class tideate.WordChange
---@field first integer 0-based, of the words before
---@field last integer not included
---@field new string[]

--- Split lines into words; the last word of a line is its end.
---@param lines string[]
---@return string[]
local function words_of(lines)
  local words = {} ---@type string[]
  for _, line in ipairs(lines) do
    vim.list_extend(words, split(line))
    table.insert(words, '')
  end
  return words
end

--- Return the word changes between two texts, in order.
---@param before string[]
---@param after string[]
---@return tideate.WordChange[]
local function changes_of(before, after)
  local texts = vim.tbl_map(function(words)
    return #words == 0 and '' or table.concat(words, '\n') .. '\n'
  end, { before, after })
  local found = require('tideate.ui.review.hunk_position').diff(texts[1], texts[2], { result_type = 'indices' })
  return vim.tbl_map(function(one)
    local first = one[2] == 0 and one[1] or one[1] - 1
    local at = one[4] == 0 and one[3] or one[3] - 1
    return { first = first, last = first + one[2], new = vim.list_slice(after, at + 1, at + one[4]) }
  end, found)
end

--- Unite two lists of changes; nil if different changes overlap.
---@param theirs tideate.WordChange[]
---@param ours tideate.WordChange[]
---@return tideate.WordChange[]?
local function united(theirs, ours)
  local all, at = {}, 1 ---@type tideate.WordChange[], integer
  for _, one in ipairs(theirs) do
    while ours[at] and ours[at].last < one.first do
      table.insert(all, ours[at])
      at = at + 1
    end
    if ours[at] and ours[at].first <= one.last then
      if not vim.deep_equal(ours[at], one) then
        return nil
      end
      at = at + 1
    end
    table.insert(all, one)
  end
  return vim.list_extend(all, ours, at)
end

---@class tideate.MergeBase
---@field lines string[]
---@field words string[]
---@field theirs tideate.WordChange[]

local MARKS = { '<<<<<<< your lines', '=======', '>>>>>>> proposed' }

--- Prepare a merge of proposed lines with later versions.
---@param lines string[]
---@param theirs string[]
---@return tideate.MergeBase
function M.base(lines, theirs)
  local words = words_of(lines)
  return { lines = lines, words = words, theirs = changes_of(words, words_of(theirs)) }
end

--- Return the user's changes, comparing only the lines between the first and last changed one.
---@param base tideate.MergeBase
---@param ours string[]
---@return tideate.WordChange[]
local function own_changes(base, ours)
  local lines = base.lines
  local top, most = 0, math.min(#lines, #ours)
  while top < most and lines[top + 1] == ours[top + 1] do
    top = top + 1
  end
  local tail = 0
  while tail < most - top and lines[#lines - tail] == ours[#ours - tail] do
    tail = tail + 1
  end
  local skipped, left = 0, top
  while left > 0 do
    skipped = skipped + 1
    left = base.words[skipped] == '' and left - 1 or left
  end
  local before = words_of(vim.list_slice(lines, top + 1, #lines - tail))
  local changes = changes_of(before, words_of(vim.list_slice(ours, top + 1, #ours - tail)))
  for _, one in ipairs(changes) do
    one.first, one.last = one.first + skipped, one.last + skipped
  end
  return changes
end

--- Merge both changes of lines; nil if they conflict.
---@param base tideate.MergeBase
---@param ours string[]
---@return string[]?
function M.lines(base, ours)
  local words = base.words
  local all = united(base.theirs, own_changes(base, ours))
  if not all then
    return nil
  end
  local merged, last = {}, 0 ---@type string[], integer
  for _, one in ipairs(all) do
    vim.list_extend(merged, words, last + 1, one.first)
    vim.list_extend(merged, one.new)
    last = one.last
  end
  vim.list_extend(merged, words, last + 1)
  local lines, line = {}, {} ---@type string[], string[]
  for _, word in ipairs(merged) do
    if word == '' then
      table.insert(lines, (table.concat(line):gsub('%z', '\n')))
      line = {}
    else
      table.insert(line, word)
    end
  end
  return #line == 0 and lines or nil
end

--- Return both versions of lines with git's conflict markers.
---@param now string[]
---@param proposed string[]
---@return string[]
function M.conflict(now, proposed)
  return vim.iter({ MARKS[1], now, MARKS[2], proposed, MARKS[3] }):flatten():totable()
end

--- Return whether lines contain conflict markers. The middle one also underlines headings: it counts only if there are
--- more than in both versions.
---@param lines string[]
---@param versions string[][]? both versions of a conflict
---@return boolean
function M.has_marks(lines, versions)
  local function count(one)
    return #vim.tbl_filter(function(line)
      return line == MARKS[2]
    end, one)
  end
  local middle = versions ~= nil and count(lines) > count(versions[1]) + count(versions[2])
  return middle or vim.list_contains(lines, MARKS[1]) or vim.list_contains(lines, MARKS[3])
end

return M
