--- The window of a comparison of two runs; files and results open side by side.
local M = {}

local key = require('tideate.ui.keys').key
local pages = require('tideate.ui.pages.window')
local stored_runs = require('tideate.stored_runs')
local progress = require('tideate.ui.progress')
local text = require('tideate.ui.text')

local NAME = 11 -- columns
local FEW = 40 -- lines; longer differences are folded
local LONGEST = 400 -- bytes of an input on its line

---@class tideate.ui.Compared the host's answer to `diff`
---@field runs tideate.StoredRun[] two
---@field same_definition boolean
---@field inputs {name: string, values: string[]}[]
---@field steps {step: string, ends: tideate.ui.ComparedEnd[], diff: string}[]
---@field response string
---@field edits {path: string, written: boolean[], diff: string}[]
---@field checks {check: string, statuses: string[]}[]

---@class tideate.ui.ComparedEnd
---@field status string
---@field reused boolean
---@field duration_ms? integer
---@field usage tideate.Usage
---@field error? string

---@class tideate.ui.ComparisonPage: tideate.ui.Page
---@field targets table<integer, tideate.ui.ComparedPart> by line

---@class tideate.ui.ComparedPart a file, a step, or the responses, for the side-by-side view
---@field path? string
---@field step? string neither: the responses

---@param run tideate.StoredRun
---@return table<string, string>
local function facts_of(run)
  local page = require('tideate.ui.pages.run_page.text')
  local usage, forked = run.usage, run.forked_from
  local short = stored_runs.short
  return {
    workflow = run.workflow,
    state = run.reason == 'declined' and 'declined' or run.state,
    took = run.duration_ms and progress.duration(run.duration_ms) or '',
    tokens = ('%s in, %s out'):format(page.count(usage.input_tokens), page.count(usage.output_tokens)),
    cost = usage.cost and page.cost(usage.cost) or '',
    forked = forked and ('%s.%s'):format(short(forked.execution_id), forked.step) or '',
    error = (run.error or ''):sub(1, LONGEST):gsub('%s+', ' '),
  }
end

---@param page tideate.ui.ComparisonPage
---@param name string
---@param one string
---@param other string
---@param words? string after the values
---@param group? string of both values
local function row(page, name, one, other, words, group)
  local width = math.max(10, math.floor((require('tideate.ui.pages.window').columns() - NAME - 14) / 2))
  local function column(said)
    return text.pad(text.fit(said, width - 1), width)
  end
  local differs = one ~= other and not group
  table.insert(page.lines, {
    { ' ' .. text.pad(text.fit(name, NAME - 2), NAME - 1), 'TideateHint' },
    { column(one), group or differs and 'TideateChangeSign' or nil },
    { column(other), group or differs and 'TideateChangeSign' or nil },
    { words or '', words == 'differs' and 'TideateWarning' or 'TideateHint' },
  })
end

---@param page tideate.ui.ComparisonPage
---@param title string
---@param part? tideate.ui.ComparedPart
local function heading(page, title, part)
  table.insert(page.lines, { { '' } })
  table.insert(page.lines, { { ' ' .. title, 'TideateTitle' } })
  page.targets[#page.lines] = part
end

---@param page tideate.ui.ComparisonPage
---@param title string
---@param patch string
---@param part tideate.ui.ComparedPart
local function difference(page, title, patch, part)
  heading(page, title, part)
  local lines = vim.split((patch:gsub('\n$', '')), '\n', { plain = true })
  local first = #page.lines + 1
  for _, line in ipairs(lines) do
    table.insert(page.lines, text.patch_line(line))
    page.targets[#page.lines] = part
  end
  if #lines > FEW then
    table.insert(page.folds, { first, #page.lines })
  end
end

---@param reached? tideate.ui.ComparedEnd
---@return string
local function end_words(reached)
  if not reached then
    return '-'
  elseif reached.reused then
    return reached.status .. ', reused'
  end
  local took = reached.duration_ms and progress.duration(reached.duration_ms) or ''
  return vim.trim(('%s %s'):format(reached.status, took))
end

---@param page tideate.ui.ComparisonPage
---@param compared tideate.ui.Compared
local function add_facts(page, compared)
  local one, other = facts_of(compared.runs[1]), facts_of(compared.runs[2])
  for _, name in ipairs({ 'workflow', 'state', 'took', 'tokens', 'cost', 'forked', 'error' }) do
    if one[name] .. other[name] ~= '' then
      row(page, name, one[name], other[name])
    end
  end
  if not compared.same_definition then
    table.insert(page.lines, { { ' their definitions differ', 'TideateWarning' } })
  end
end

---@param page tideate.ui.ComparisonPage
---@param inputs {name: string, values: string[]}[]
local function add_inputs(page, inputs)
  for _, input in ipairs(inputs) do
    heading(page, input.name == 'prompt' and 'prompt' or 'input ' .. text.name(input.name))
    for index, sign in ipairs({ '-', '+' }) do
      local value = input.values[index]
      if value then
        table.insert(page.lines, text.patch_line(sign .. value:sub(1, LONGEST):gsub('%s+', ' ')))
      end
    end
  end
end

---@param page tideate.ui.ComparisonPage
---@param steps {step: string, ends: tideate.ui.ComparedEnd[], diff: string}[]
local function add_steps(page, steps)
  if #steps > 0 then
    heading(page, 'steps')
  end
  for _, step in ipairs(steps) do
    local ends = step.ends
    row(page, step.step, end_words(ends[1]), end_words(ends[2]), step.diff ~= '' and 'differs' or 'same')
    page.targets[#page.lines] = { step = step.step }
  end
  for _, step in ipairs(steps) do
    if step.diff ~= '' then
      difference(page, 'result of ' .. text.plain(step.step), step.diff, { step = step.step })
    end
  end
end

---@param page tideate.ui.ComparisonPage
---@param edits {path: string, written: boolean[], diff: string}[]
---@param ids string[]
local function add_edits(page, edits, ids)
  for _, edit in ipairs(edits) do
    local both = edit.written[1] and edit.written[2]
    local by = both and '' or (', written by %s only'):format(edit.written[1] and ids[1] or ids[2])
    local title = ('file %s%s'):format(text.name(edit.path), by)
    if edit.diff == '' then
      heading(page, title .. ': the same', { path = edit.path })
    else
      difference(page, title, edit.diff, { path = edit.path })
    end
  end
end

--- Build the page of a comparison.
---@param compared tideate.ui.Compared
---@param step? string compared alone
---@return tideate.ui.ComparisonPage
local function page_of(compared, step)
  local short = stored_runs.short
  local ids = { short(compared.runs[1].execution_id), short(compared.runs[2].execution_id) }
  local of_step = step and 'step ' .. step .. ', ' or ''
  local page = { title = ('%s%s … %s'):format(of_step, ids[1], ids[2]), lines = {}, folds = {}, targets = {} }
  row(page, '', ids[1], ids[2], nil, 'TideateTitle')
  if step then
    add_steps(page, vim.tbl_filter(function(one)
      return one.step == step
    end, compared.steps))
    return page
  end
  add_facts(page, compared)
  add_inputs(page, compared.inputs)
  add_steps(page, compared.steps)
  local told = vim.iter(compared.steps):any(function(one)
    return one.diff ~= ''
  end)
  if not told and compared.response ~= '' then
    difference(page, 'response', compared.response, {})
  end
  add_edits(page, compared.edits, ids)
  if #compared.checks > 0 then
    heading(page, 'checks')
  end
  for _, check in ipairs(compared.checks) do
    row(page, check.check, check.statuses[1] or '-', check.statuses[2] or '-')
  end
  return page
end

---@class tideate.ui.Comparison
---@field page tideate.ui.ComparisonPage
---@field one string id of the older run
---@field other string
---@field step? string compared alone
---@field folder string of the project

local window ---@type tideate.ui.PageWindow

--- Open the texts of the line under the cursor side by side.
local function open_part()
  local it = window.shown ---@type tideate.ui.Comparison
  local part = it and it.page.targets[window:row()]
  if not part then
    return
  end
  local params = { execution_id = it.one, other = it.other, path = part.path, step = part.step, folder = it.folder }
  stored_runs.ask('diff_texts', params, function(result)
    local short = stored_runs.short
    local name = part.path and text.name(part.path) or part.step and text.plain(part.step) or 'response'
    local function side(index, id)
      return { title = ('%s %s'):format(short(id), name), text = result.texts[index].text }
    end
    require('tideate.ui.window.side_by_side').open(side(1, it.one), side(2, it.other), part.path)
  end)
end

window = pages.new('comparison', function(it)
  return {
    key({ '<CR>', 'd' }, 'side by side', 'both texts of the file, the result or the answer side by side', open_part),
    key('x', 'swap', 'swap the runs', function()
      M.open(it.other, it.one, { step = it.step, folder = it.folder })
    end),
    key('za', nil, 'open or close a long difference', pages.toggle_fold),
  }
end)

---@return tideate.Key[]
function M.keys()
  return window:keys()
end

function M.close()
  window:close()
end

--- Compare two runs.
---@param one string a run's id or a prefix of it
---@param other string
---@param opts? {step?: string, folder?: string} step: compared alone; folder: the current project by default
function M.open(one, other, opts)
  opts = opts or {}
  local folder = opts.folder or require('tideate.context').folder()
  local params = { execution_id = one, other = other, folder = folder }
  stored_runs.ask('diff', params, function(result)
    local page = page_of(result --[[@as tideate.ui.Compared]], opts.step)
    local first, second = result.runs[1].execution_id, result.runs[2].execution_id
    window:show({ page = page, one = first, other = second, step = opts.step, folder = folder }, page)
  end)
end

--- Run `:Workflow diff`; let the user choose unnamed runs.
---@param rest string `[id] [id]`
function M.command(rest)
  local ids = vim.split(rest, '%s+', { trimempty = true })
  if #ids > 2 then
    return require('tideate.ui').fail('name at most two runs, as in `:Workflow diff id id`')
  elseif #ids == 2 then
    return M.open(ids[1], ids[2])
  end
  local one = ids[1]
  require('tideate.pick').choose_run(function(run)
    one = one == 'last' and run.execution_id or one -- the newest comes first
    return not one or not vim.startswith(run.execution_id, one)
  end, function(runs)
    return one ~= nil and #runs == 1
  end, function(run)
    M.command(('%s %s'):format(one or '', run.execution_id))
  end, 'there is no other run to compare with')
end

return M
