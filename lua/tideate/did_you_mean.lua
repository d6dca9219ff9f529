--- Suggestions for a mistyped name: the nearest of the known ones.
local M = {}

---@param a string
---@param b string
---@return integer edits insertions, deletions and replacements from `a` to `b`
local function distance(a, b)
  local row = {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      local best = math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
      diagonal, row[j] = row[j], best
    end
  end
  return row[#b]
end

--- The known name nearest to `name`, if one is near enough to be meant.
---@param name string
---@param known string[]
---@return string?
function M.find(name, known)
  local best, least
  for _, candidate in ipairs(known) do
    local edits = distance(name:lower(), candidate:lower())
    if not least or edits < least then
      best, least = candidate, edits
    end
  end
  return least and least <= math.max(2, math.floor(#name / 2)) and best or nil
end

--- `; did you mean 'x'?`, or nothing.
---@param name string
---@param known string[]
---@return string
function M.hint(name, known)
  local near = M.find(name, known)
  return near and ("; did you mean '%s'?"):format(near) or ''
end

return M
