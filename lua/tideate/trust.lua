--- Trust in a project's files and commands: what they could run is shown, then exactly that is trusted.
local M = {}

local MOST_LINES = 10 -- of a question; with them it fits on 24 lines

---@class tideate.TrustItem
---@field kind 'file'|'command'|'repository'
---@field name string
---@field effects string[] what it can do once it is trusted
---@field trusted boolean as it is now
---@field changes string unified diff from what was trusted last
---@field mistake string why it cannot be trusted; empty where it can

---@class tideate.TrustPlan
---@field root string
---@field token string names exactly this plan
---@field items tideate.TrustItem[]

---@param plan tideate.TrustPlan
---@return tideate.TrustItem[]
local function waiting(plan)
  return vim.tbl_filter(function(item)
    return not item.trusted and #item.effects > 0
  end, plan.items)
end

---@param text string
---@return string fence of Markdown that the text cannot end
local function fence(text)
  local longest = 2
  for run in text:gmatch('`+') do
    longest = math.max(longest, #run)
  end
  return ('`'):rep(longest + 1)
end

--- What would be trusted, as Markdown.
---@param plan tideate.TrustPlan
---@return string
function M.details(plan)
  local text = require('tideate.ui.text')
  local lines = {} ---@type string[]
  for _, item in ipairs(waiting(plan)) do
    local changed = item.changes ~= '' and not item.changes:find('--- /dev/null', 1, true)
    table.insert(lines, ('## %s%s'):format(text.name(item.name), changed and ' (changed since you trusted it)' or ''))
    table.insert(lines, '')
    table.insert(lines, 'It would be able to')
    for _, effect in ipairs(item.effects) do
      table.insert(lines, '- ' .. text.plain(effect))
    end
    if item.changes ~= '' then
      local mark = fence(item.changes)
      vim.list_extend(lines, { '', mark .. 'diff' })
      vim.list_extend(lines, vim.split(item.changes:gsub('\n$', ''), '\n', { plain = true }))
      table.insert(lines, mark)
    end
    table.insert(lines, '')
  end
  return table.concat(lines, '\n')
end

--- The question, with what each thing would be able to do as far as a small window has room for it.
---@param plan tideate.TrustPlan
---@return string
function M.question(plan)
  local text = require('tideate.ui.text')
  local lines = { ('Trust this of %s, as it is now?'):format(text.name(vim.fn.fnamemodify(plan.root, ':~'))) }
  for _, item in ipairs(waiting(plan)) do
    table.insert(lines, text.name(item.name))
    for _, effect in ipairs(item.effects) do
      table.insert(lines, '- ' .. text.plain(effect))
    end
  end
  if #lines > MOST_LINES + 1 then
    local more = #lines - MOST_LINES
    lines = vim.list_slice(lines, 1, MOST_LINES)
    table.insert(lines, ('… and %d lines more in the details'):format(more))
  end
  return table.concat(lines, '\n')
end

---@param plan tideate.TrustPlan
---@param expecting tideate.ui.Expecting
local function ask(plan, expecting)
  local items = waiting(plan)
  for _, item in ipairs(plan.items) do
    if item.mistake ~= '' then
      local text = require('tideate.ui.text')
      local words = '%s cannot be trusted while it has mistakes: %s'
      require('tideate.ui').notify(words:format(text.name(item.name), text.plain(item.mistake)), vim.log.levels.WARN)
    end
  end
  if #items == 0 then
    return require('tideate.ui').notify('everything here is trusted as it is now')
  end
  require('tideate.ui.confirm_action').yes({
    about = 'trust',
    doing = vim.fs.basename(plan.root),
    message = M.question(plan),
    details = M.details(plan),
    cautious = true,
  }, function()
    require('tideate.stored_runs').request('trust', { token = plan.token }, function(result)
      local paths = result.paths ---@type string[]
      require('tideate.ui').notify('trusted as it is now: ' .. require('tideate.ui.text').names(paths))
    end)
  end, expecting)
end

--- Show what a file, or a project, could run once it is trusted, and ask.
---@param path string may be empty: the project
function M.trust(path)
  local params = path ~= '' and { path = vim.fn.fnamemodify(vim.fs.normalize(path), ':p') } or {}
  local expecting = require('tideate.ui.typing').expect()
  require('tideate.stored_runs').request('trust', params, function(result)
    ask(result.plan, expecting)
  end)
end

return M
