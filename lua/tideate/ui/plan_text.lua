--- A plan as text: `modify path — why`, `move a -> b — why`, one file a line.
local M = {}

---@class tideate.PlannedFile
---@field path string
---@field action 'create'|'modify'|'delete'|'move'
---@field why string
---@field move_to? string

---@class tideate.PlanError
---@field row integer 0-based
---@field message string

M.ACTIONS = { 'create', 'modify', 'delete', 'move' }

M.HELP = {
  '# create|modify|delete PATH — why',
  '# move PATH -> PATH — why',
}

---@param files tideate.PlannedFile[]
---@return string[]
function M.format(files)
  local lines = vim.list_extend({}, M.HELP)
  for _, file in ipairs(files) do
    local line = file.action .. ' ' .. file.path
    if file.action == 'move' then
      line = line .. ' -> ' .. (file.move_to or '')
    end
    local why = (file.why or ''):gsub('%s+', ' ')
    table.insert(lines, why == '' and line or line .. ' — ' .. why)
  end
  return lines
end

---@param line string
---@return string text, string why
local function split_why(line)
  for _, separator in ipairs({ ' — ', ' – ', ' -- ' }) do
    local at, stop = line:find(separator, 1, true)
    if at then
      return vim.trim(line:sub(1, at - 1)), vim.trim(line:sub(stop + 1))
    end
  end
  return vim.trim(line), ''
end

---@param line string
---@return tideate.PlannedFile? file, string? err
local function parse_line(line)
  local text, why = split_why(line)
  local action, rest = text:match('^(%S+)%s*(.*)$')
  if not vim.list_contains(M.ACTIONS, action) then
    local hint = require('tideate.nearest').hint(action, M.ACTIONS)
    hint = hint ~= '' and hint or ': create, modify, delete or move'
    return nil, ("'%s' is no action%s"):format(action, hint)
  elseif rest == '' then
    return nil, ('%s needs a path'):format(action)
  end
  local from, to = rest:match('^(.-)%s*%->%s*(.*)$')
  if action == 'move' then
    if not from or from == '' or to == '' then
      return nil, 'move needs two paths: move PATH -> PATH'
    elseif from == to then
      return nil, 'move needs two different paths'
    end
    return { action = action, path = from, move_to = to, why = why }
  elseif from then
    return nil, ("only move has a '->'; %s takes one path"):format(action)
  end
  return { action = action, path = rest, why = why }
end

--- Read a plan.
---@param lines string[]
---@return tideate.PlannedFile[] files, tideate.PlanError[] errors
function M.parse(lines)
  local files, errors, seen = {}, {}, {} ---@type tideate.PlannedFile[], tideate.PlanError[], table<string, integer>
  for index, line in ipairs(lines) do
    if line:find('%S') and not line:find('^%s*#') then
      local file, err = parse_line(vim.trim(line))
      for _, path in ipairs(file and { file.path, file.move_to } or {}) do
        if seen[path] and not err then
          err = ('%s is in line %d already'):format(path, seen[path])
        end
        seen[path] = seen[path] or index
      end
      if file and not err then
        table.insert(files, file)
      else
        table.insert(errors, { row = index - 1, message = err })
      end
    end
  end
  return files, errors
end

return M
