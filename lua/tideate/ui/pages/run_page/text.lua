--- Text of a run's pages: steps, events, checkpoints.
local M = {}

local stored_runs = require('tideate.stored_runs')
local all = require('tideate.ui.text')

local STATE = 11 -- columns
local CALL = 'SD_EVENT_TOOL_COMPLETED'
local FEW_CALLS = 5 -- shown unfolded in a step

---@type table<string, string>
local GROUPS = {
  completed = 'TideateDone',
  failed = 'TideateFailed',
  cancelled = 'TideateWarning',
  declined = 'TideateWarning',
  ['rolled back'] = 'TideateWarning',
  interrupted = 'TideateWarning',
  paused = 'TideateWarning',
  running = 'TideateRunning',
  skipped = 'TideateWaiting',
  pending = 'TideateWaiting',
}

---@param text string
---@param width integer
---@return string padded or cut to the width
local function column(text, width)
  return all.pad(all.fit(text, width), width)
end

---@param at integer milliseconds since the epoch
---@param format string
---@return string
local function clock(at, format)
  return os.date(format, math.floor(at / 1000)) --[[@as string]]
end

---@param milliseconds integer?
---@return string
local function lasted(milliseconds)
  return milliseconds and require('tideate.ui.progress').duration(milliseconds) or ''
end

--- Format a token count in few characters.
---@param count integer
---@return string
function M.count(count)
  for _, unit in ipairs({ { 1e6, 'M' }, { 1e3, 'k' } }) do
    if count >= unit[1] then
      return (('%.1f'):format(count / unit[1]):gsub('%.0$', '')) .. unit[2]
    end
  end
  return ('%d'):format(count)
end

---@param dollars number
---@return string
function M.cost(dollars)
  return (dollars >= 0.01 and '$%.2f' or '$%.4f'):format(dollars)
end

---@param usage tideate.Usage
---@return string tokens and cost; empty without a model
local function spent(usage)
  local read, written, cached = usage.input_tokens, usage.output_tokens, usage.cached_tokens or 0
  if read == 0 and written == 0 then
    return ''
  end
  local share = cached > 0 and read > 0 and (' (%.0f %% cached)'):format(100 * cached / read) or ''
  local cost = usage.cost and ', ' .. M.cost(usage.cost) or ''
  return ('%s tokens in%s, %s out%s'):format(M.count(read), share, M.count(written), cost)
end

---@param page tideate.ui.Page
---@param head string
---@param text string
---@param group? string
local function block(page, head, text, group)
  local lines = vim.split((text:gsub('\n+$', '')), '\n', { plain = true })
  if #lines == 1 and #lines[1] <= 60 then
    table.insert(page.lines, { { '     ' .. head .. ': ', 'TideateHint' }, { lines[1], group } })
    return
  end
  table.insert(page.lines, { { ('     %s, %s'):format(head, all.counted(#lines, 'line')), 'TideateHint' } })
  local first = #page.lines + 1
  for _, line in ipairs(lines) do
    table.insert(page.lines, { { '       ' .. line, group } })
  end
  table.insert(page.folds, { first, #page.lines })
end

---@param page tideate.ui.Page
---@param name string
---@param said string|string[] a text, or escaped words that stay together
---@param group? string
local function fact(page, name, said, group)
  if #said > 0 then
    local texts, width = all, require('tideate.ui.pages.window').columns() - 12
    local lines = type(said) == 'table' and texts.fill(said, width) or texts.wrap(said --[[@as string]], width)
    for index, line in ipairs(lines) do
      table.insert(page.lines, { { (' %-10s'):format(index == 1 and name or ''), 'TideateHint' }, { line, group } })
    end
  end
end

--- Add the lines of gates, checks, tool calls or a rollback.
---@param page tideate.ui.Page
---@param events tideate.Event[]
local function add_event_lines(page, events)
  for _, event in ipairs(events) do
    for _, line in ipairs(require('tideate.ui.transcript.checks').plain(event)) do
      local failed = line:find('^✗') or line:find('^%- ')
      local group = failed and 'TideateFailed' or line:find('^✓') and 'TideateDone' or nil
      for _, part in ipairs(all.wrap(line, require('tideate.ui.pages.window').columns() - 6)) do
        table.insert(page.lines, { { '     ' .. part, group } })
      end
    end
  end
end

--- Return whether an event belongs to a step or to one of its list items.
---@param event tideate.Event
---@param step string
---@return boolean
local function is_of(event, step)
  local name = event.data.step
  return type(name) == 'string' and (name == step or name:match('^(.*)%[%d+%]$') == step)
end

--- Add a step's tool calls: a summary, and each call in a fold.
---@param page tideate.ui.Page
---@param events tideate.Event[]
---@param step string
local function add_calls(page, events, step)
  local calls = vim.tbl_filter(function(event)
    return event.name == CALL and is_of(event, step)
  end, events)
  if #calls <= FEW_CALLS then
    return add_event_lines(page, calls)
  end
  local head = require('tideate.ui.transcript.tool_calls').count_words(calls)
  table.insert(page.lines, { { '     ' .. head, 'TideateHint' } })
  local first = #page.lines + 1
  add_event_lines(page, calls)
  table.insert(page.folds, { first, #page.lines })
end

--- Return a step's gate and check events.
---@param events tideate.Event[]
---@param step string
---@return tideate.Event[]
local function decisions(events, step)
  return vim.tbl_filter(function(event)
    return event.name ~= CALL and is_of(event, step)
  end, events)
end

---@param page tideate.ui.Page
---@param step tideate.StoredStep
---@param events tideate.Event[]
local function describe(page, step, events)
  local parts = { step.agent, lasted(step.duration_ms), spent(step.usage) }
  if step.attempts > 1 then
    table.insert(parts, step.attempts .. ' attempts')
  end
  local words = vim.tbl_filter(function(part)
    return part ~= ''
  end, parts)
  table.insert(page.lines, {
    { '   ' .. column(step.status, STATE), GROUPS[step.status] },
    { require('tideate.run_status').label(step.step) .. '  ', 'TideateTitle' },
    { table.concat(words, ', '), 'TideateHint' },
  })
  add_event_lines(page, decisions(events, step.step))
  add_calls(page, events, step.step)
  if step.error then
    block(page, 'error', step.error, 'TideateFailed')
  end
  if #step.files > 0 then
    block(page, 'files', table.concat(step.files, ', '))
  end
  if step.result then
    block(page, 'result', step.result)
  end
end

---@param result {run: tideate.StoredRun, steps: tideate.StoredStep[], response?: string, checkpoints: integer, events: tideate.Event[], next?: tideate.NextRun, gist: {plan?: string, audit?: string}}
---@return tideate.ui.Page
function M.show(result)
  local run = result.run
  local page = { title = run.workflow .. ' ' .. run.execution_id:sub(1, 8), lines = {}, folds = {} }
  local how = lasted(run.duration_ms)
  local word = stored_runs.word(run)
  fact(page, 'state', word .. (how ~= '' and ', ' .. how or ''), GROUPS[word])
  fact(page, 'began', clock(run.started_at, '%Y-%m-%d %H:%M:%S'))
  fact(page, 'prompt', (run.prompt:gsub('%s+', ' ')))
  fact(page, 'continues', run.continues and stored_runs.short(run.continues) or '')
  fact(page, 'compared', all.names(run.compared or {}))
  fact(page, 'proposes', result.next and ('%s: %s'):format(result.next.workflow, result.next.message) or '')
  local gated = require('tideate.ui.pages.run_page.task').facts(result)
  for _, one in ipairs(gated) do
    fact(page, unpack(one))
  end
  fact(page, 'error', vim.trim(run.error or ''), 'TideateFailed')
  for _, event in ipairs(result.events) do
    if event.name == 'SD_EVENT_ROLLED_BACK' and not event.data.step then
      add_event_lines(page, { event })
    end
  end
  local failed, points = run.failed_steps, result.checkpoints
  fact(page, 'steps', stored_runs.steps(run) .. (failed > 0 and (', %d failed'):format(failed) or ''))
  fact(page, 'models', spent(run.usage))
  fact(page, 'files', table.concat(run.files, ', '))
  fact(page, 'points', points > 0 and all.counted(points, 'checkpoint') or '')
  table.insert(page.lines, {})
  -- a task begins with its decisions, another run with its steps
  page.opens = #gated > 0 and 1 or #page.lines + 1
  for _, step in ipairs(result.steps) do
    describe(page, step, result.events)
  end
  return page
end

---@param run tideate.StoredRun
---@param result {events: tideate.StoredEvent[], more: boolean}
---@return tideate.ui.Page
function M.events(run, result)
  local page = { title = ('events of %s %s'):format(run.workflow, run.execution_id:sub(1, 8)), lines = {} }
  for _, event in ipairs(result.events) do
    table.insert(page.lines, {
      { (' %s.%03d  '):format(clock(event.at, '%H:%M:%S'), event.at % 1000), 'TideateHint' },
      { event.name .. '  ', 'TideateKey' },
      { event.step ~= '' and event.step .. '  ' or '', 'TideateTitle' },
      { event.words, 'TideateHint' },
    })
  end
  if result.more then
    table.insert(page.lines, { { (' more: `:Workflow export %s json`'):format(run.execution_id:sub(1, 8)), 'TideateHint' } })
  end
  return page
end

---@param run tideate.StoredRun
---@param result {checkpoints: tideate.StoredCheckpoint[], more: boolean}
---@return tideate.ui.Page
function M.checkpoints(run, result)
  local short, widest = stored_runs.short, 0
  local page = { title = ('checkpoints of %s %s'):format(run.workflow, short(run.execution_id)), lines = {} }
  page.points = result.checkpoints
  for _, point in ipairs(result.checkpoints) do
    widest = math.max(widest, #short(point.checkpoint_id))
  end
  for _, point in ipairs(result.checkpoints) do
    table.insert(page.lines, {
      { ' ' .. column(short(point.checkpoint_id), widest) .. '  ', 'TideateHint' },
      { clock(point.created_at, '%b %d %H:%M:%S') .. '  ' },
      { point.step == '' and 'before its first step' or 'after ', 'TideateHint' },
      { point.step, 'TideateTitle' },
      { point.manual and '  wanted' or '', 'TideateKey' },
    })
  end
  if #page.lines == 0 then
    page.lines = { { { ' none yet: there is one after each completed step, and a makes one', 'TideateHint' } } }
  elseif result.more then
    table.insert(page.lines, { { ' more: `tideate checkpoint list` in a shell', 'TideateHint' } })
  end
  return page
end

---@param run tideate.StoredRun
---@param point tideate.StoredCheckpoint
---@param result {state: tideate.CheckpointState}
---@return tideate.ui.Page
function M.checkpoint(run, point, result)
  local state = result.state
  local page = { title = ('checkpoint %s of %s'):format(stored_runs.short(point.checkpoint_id), run.workflow), lines = {} }
  fact(page, 'made', clock(point.created_at, '%Y-%m-%d %H:%M:%S') .. (point.manual and ', wanted' or ''))
  fact(page, 'after', point.step == '' and 'nothing: before the first step' or point.step)
  fact(page, 'took', state.duration_ms > 0 and lasted(state.duration_ms) or '')
  fact(page, 'done', table.concat(state.completed, ', '), GROUPS.completed)
  fact(page, 'to do', table.concat(state.pending, ', '), GROUPS.pending)
  fact(page, 'files', table.concat(state.files, ', '))
  return page
end

return M
