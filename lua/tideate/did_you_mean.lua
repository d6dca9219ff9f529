--- Suggestions for a mistyped name.
local M = {}

---@param a string
---@param b string
---@return integer edits insertions, deletions, replacements and swaps from `a` to `b`
local function distance(a, b)
  local last, row = {}, {} ---@type integer[], integer[]
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local new = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      new[j] = math.min(row[j] + 1, new[j - 1] + 1, row[j - 1] + cost)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        new[j] = math.min(new[j], last[j - 2] + 1)
      end
    end
    last, row = row, new
  end
  return row[#b]
end

--- Return the most similar known name, if it is similar enough.
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

--- Return `; did you mean 'x'?`, or an empty string.
---@param name string
---@param known string[]
---@return string
function M.hint(name, known)
  local near = M.find(name, known)
  return near and ("; did you mean '%s'?"):format(near) or ''
end

return M
