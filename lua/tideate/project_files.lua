--- Names of the project's files for completion: the host sends them, and a fuzzy search never waits for it.
local M = {}

local FRESH = 10 * 1000 -- milliseconds for which names are not requested again
local RECENT, MENTIONED, DECAY = 24, 16, 0.85 -- points of the newest buffer and mention; factor of each older one

---@type {root?: string, index?: tideate.FuzzyIndex, changed: string[], at: integer}
local known = { changed = {}, at = -FRESH }

---@type {folder?: string, points: table<string, number>} points of files that earlier prompts mention
local mentioned = { points = {} }

--- Request the names unless they are fresh. After an error, completion works without them.
---@param folder string
function M.refresh(folder)
  local inside = known.root and vim.startswith(folder .. '/', known.root .. '/')
  if inside and vim.uv.now() - known.at < FRESH then
    return
  end
  require('tideate.client').request('project_names', { folder = folder }, function(result)
    if result.files then
      local root = result.root ~= vim.NIL and result.root or nil
      local index = require('tideate.fuzzy').index(result.files)
      known = { root = root, index = index, changed = result.changed, at = vim.uv.now() }
    end
  end)
end

---@return boolean whether the names are of the current project
local function is_here()
  local folder = vim.fs.normalize(require('tideate.context').folder())
  return known.root ~= nil and vim.startswith(folder .. '/', known.root .. '/')
end

--- Learn which files earlier prompts mention.
---@param folder string of the project
---@param prompts string[] the newest first
function M.learn(folder, prompts)
  local points, worth = {}, MENTIONED
  for _, prompt in ipairs(prompts) do
    for path in prompt:gmatch('@%l+:"?([^%s"]+)') do
      path = path:gsub(':%d+%-?%d*$', '')
      points[path] = (points[path] or 0) + worth
    end
    worth = worth * DECAY
  end
  mentioned = { folder = folder, points = points }
end

--- Return the path of a file relative to the root; nil for a file outside.
---@param name string absolute
---@return string?
function M.relative(name)
  local inside = known.root and vim.startswith(name, known.root .. '/')
  return inside and name:sub(#known.root + 2) or nil
end

--- Return the points of recently used files: open buffers, and files in earlier prompts.
---@return table<string, number> by path relative to the root
local function recent()
  local points, listed = {}, '\n' .. known.index.text
  for path, worth in pairs(mentioned.folder == known.root and mentioned.points or {}) do
    -- a prompt may name a run, a symbol or a deleted file
    points[path] = listed:find('\n' .. path .. '\n', 1, true) and worth or nil
  end
  local buffers = vim.fn.getbufinfo({ buflisted = 1 })
  table.sort(buffers, function(one, other)
    return one.lastused > other.lastused
  end)
  local worth = RECENT
  for _, buffer in ipairs(buffers) do
    local path = M.relative(buffer.name)
    if path then
      points[path] = (points[path] or 0) + worth
      worth = worth * DECAY
    end
  end
  return points
end

--- Search the files of the project; of equal matches, recently used ones come first. Empty until the host sends the names.
---@param query string empty: recently used files only
---@param limit integer
---@return string[] paths relative to the root, the best first
function M.search(query, limit)
  if not is_here() then
    return {}
  end
  local fuzzy, points = require('tideate.fuzzy'), recent()
  local names = vim.tbl_keys(points)
  table.sort(names)
  local used = #names > 0 and fuzzy.index(table.concat(names, '\n') .. '\n') or fuzzy.index('')
  local found = fuzzy.search(used, query, #names + 1)
  for _, match in ipairs(found) do
    match.score = match.score + points[match.path]
  end
  for _, match in ipairs(query ~= '' and fuzzy.search(known.index, query, limit) or {}) do
    if not points[match.path] then
      table.insert(found, match)
    end
  end
  table.sort(found, function(one, other)
    return one.score > other.score
  end)
  return vim.tbl_map(function(match)
    return match.path
  end, vim.list_slice(found, 1, limit))
end

--- Return the changed files of the project.
---@return string[] paths relative to the root
function M.changed()
  return is_here() and known.changed or {}
end

return M
