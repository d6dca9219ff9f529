--- Trust in a project's files and commands: show their effects, then trust exactly these.
local M = {}

local ui = require('tideate.ui')
local ui_text = require('tideate.ui.text')

local MOST_LINES = 10 -- of a question, so that it fits on 24 lines

---@class tideate.TrustItem
---@field kind 'file'|'command'|'repository'
---@field name string
---@field effects string[] effects once it is trusted
---@field trusted boolean in its current version
---@field changes string unified diff from the trusted version
---@field mistake string reason that it cannot be trusted

---@class tideate.TrustPlan
---@field root string
---@field token string identifies exactly this plan
---@field items tideate.TrustItem[]

---@param plan tideate.TrustPlan
---@return tideate.TrustItem[]
local function waiting(plan)
  return vim.tbl_filter(function(item)
    return not item.trusted and #item.effects > 0
  end, plan.items)
end

---@param text string
---@return string Markdown fence longer than any in the text
local function fence(text)
  local longest = 2
  for run in text:gmatch('`+') do
    longest = math.max(longest, #run)
  end
  return ('`'):rep(longest + 1)
end

--- Describe the effects, as Markdown.
---@param plan tideate.TrustPlan
---@return string
function M.details(plan)
  local lines = {} ---@type string[]
  for _, item in ipairs(waiting(plan)) do
    local changed = item.changes ~= '' and not item.changes:find('--- /dev/null', 1, true)
    table.insert(lines, ('## %s%s'):format(ui_text.name(item.name), changed and ' (changed since you trusted it)' or ''))
    table.insert(lines, '')
    table.insert(lines, 'It would be able to')
    for _, effect in ipairs(item.effects) do
      table.insert(lines, '- ' .. ui_text.plain(effect))
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

--- Return the question with as many effects as fit.
---@param plan tideate.TrustPlan
---@return string
function M.question(plan)
  local lines = { ('Trust this of %s, as it is now?'):format(ui_text.name(vim.fn.fnamemodify(plan.root, ':~'))) }
  for _, item in ipairs(waiting(plan)) do
    table.insert(lines, ui_text.name(item.name))
    for _, effect in ipairs(item.effects) do
      table.insert(lines, '- ' .. ui_text.plain(effect))
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
      local words = '%s cannot be trusted while it has mistakes: %s'
      ui.warn(words:format(ui_text.name(item.name), ui_text.plain(item.mistake)))
    end
  end
  if #items == 0 then
    return ui.notify('everything here is trusted as it is now')
  end
  require('tideate.ui.questions.confirm_action').yes({
    about = 'trust',
    doing = vim.fs.basename(plan.root),
    message = M.question(plan),
    details = M.details(plan),
    cautious = true,
  }, function()
    require('tideate.stored_runs').request('trust', { token = plan.token }, function(result)
      local paths = result.paths ---@type string[]
      ui.notify('trusted as it is now: ' .. ui_text.names(paths))
    end)
  end, expecting)
end

--- Show the effects of a file or the project, and ask for trust.
---@param path string empty: the project
function M.trust(path)
  local params = path ~= '' and { path = vim.fn.fnamemodify(vim.fs.normalize(path), ':p') } or {}
  local expecting = require('tideate.ui.typing').expect()
  require('tideate.stored_runs').request('trust', params, function(result)
    ask(result.plan, expecting)
  end)
end

return M
