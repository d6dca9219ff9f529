--- Format rows of the panel as lines (tree left, time, tokens, cost right); write only changed lines.
local M = {}

local text = require('tideate.ui.text')

local ns = vim.api.nvim_create_namespace('tideate.panel')
local NEAR = 4 -- unchanged lines between two changes that are written along
local COLUMNS = '%7s%7s%8s' -- time, tokens and cost

---@type table<string, { [1]: string, [2]: string }> state → mark and group
M.LOOKS = {
  waiting = { '○', 'TideateWaiting' },
  starting = { '…', 'TideateWaiting' },
  running = { '●', 'TideateRunning' },
  pausing = { '‖', 'TideateWarning' },
  paused = { '‖', 'TideateWarning' },
  confirming = { '?', 'TideateWarning' },
  ['confirming, pausing'] = { '?', 'TideateWarning' },
  completed = { '✓', 'TideateDone' },
  passed = { '✓', 'TideateDone' },
  failed = { '✗', 'TideateFailed' },
  cancelled = { '⊘', 'TideateWarning' },
  declined = { '⊘', 'TideateWarning' },
  ['rolled back'] = { '↺', 'TideateWarning' },
  prepared = { '○', 'TideateWaiting' },
  interrupted = { '⊘', 'TideateWarning' },
  stopped = { '⊘', 'TideateWarning' },
  retrying = { '↻', 'TideateWarning' },
  retry = { '↻', 'TideateWarning' },
  skipped = { '–', 'TideateWaiting' },
  warning = { '!', 'TideateWarning' },
  note = { '·', 'TideateHint' },
  file = { '·', 'TideateHint' },
}

---@class tideate.ui.Drawn
---@field buf integer
---@field width integer columns
---@field lines tideate.Chunk[][] in the buffer
---@field made table<string, tideate.ui.DrawnLine> by node key

---@class tideate.ui.DrawnLine
---@field [1] string signature
---@field [2] tideate.Chunk[] chunks
---@field row tideate.ui.Row row

---@param buf integer
---@return tideate.ui.Drawn
function M.new(buf)
  return { buf = buf, width = 0, lines = {}, made = {} }
end

---@param node tideate.ui.Node
---@return string time, string tokens, string cost
local function figures(node)
  local page, progress = require('tideate.ui.pages.run_page.text'), require('tideate.ui.progress')
  -- whole seconds keep a calm line unchanged
  local time = node.began and progress.seconds(vim.uv.now() - node.began) or node.took and progress.duration(node.took)
  return time or '', node.tokens and page.count(node.tokens) or '', node.cost and page.cost(node.cost) or ''
end

---@param run tideate.ui.PanelRun
---@return string time today, else the day
local function clock(run)
  local at = math.floor(run.started_at / 1000)
  local today = os.date('%Y-%m-%d', at) == os.date('%Y-%m-%d')
  return os.date(today and '%H:%M' or '%b %d', at) --[[@as string]]
end

---@param row tideate.ui.Row
---@return tideate.Chunk[]
local function run_words(row)
  local node = row.node
  local run, stored = node.run, require('tideate.stored_runs')
  local group = (M.LOOKS[node.state] or M.LOOKS.running)[2]
  local continues, compared = run.stored and run.stored.continues, run.stored and run.stored.compared or {}
  local models = text.names(compared)
  return {
    { node.state ~= 'completed' and node.state .. ' ' or '', group },
    { node.hint ~= '' and node.hint .. '  ' or '', 'TideateHint' },
    { ('%s %s  '):format(clock(run), stored.short(run.id)), 'TideateHint' },
    { continues and ('↳ %s '):format(stored.short(continues)) or '', 'TideateHint' },
    { models ~= '' and ('⇄ %s '):format(models) or '', 'TideateHint' },
    { (run.prompt:sub(1, 400):gsub('%s+', ' ')) },
  }
end

---@param node tideate.ui.Node
---@return string?
local function label_group(node)
  if node.kind == 'run' or node.kind == 'inbox' then
    return 'TideateTitle'
  elseif node.kind == 'error' or node.state == 'failed' and node.kind == 'note' then
    return 'TideateFailed'
  elseif node.kind == 'file' then
    return 'TideatePath'
  elseif node.kind == 'match' then
    return 'TideateHint'
  end
  local dim = node.state == 'waiting' or node.state == 'skipped' or node.kind == 'note' or node.kind == 'turn'
  return dim and 'TideateHint' or nil
end

---@param row tideate.ui.Row
---@param room integer columns
---@return tideate.Chunk[]
local function left(row, room)
  local node = row.node
  local look = M.LOOKS[node.state] or { ' ' }
  local fold = row.open == nil and ' ' or row.open and '▾' or '▸'
  local chunks = {
    { row.lead .. fold .. ' ' .. (node.lanes and node.lanes.before or ''), 'TideateHint' },
    { look[1], look[2] },
    { node.lanes and node.lanes.after .. ' ' or ' ', 'TideateHint' },
    { row.marked and '» ' or '', 'TideateKey' },
    { node.label .. '  ', label_group(node) },
    { (node.attempts or 0) > 1 and ('attempt %d  '):format(node.attempts) or '', 'TideateWarning' },
  }
  if node.kind == 'run' then
    vim.list_extend(chunks, run_words(row))
  elseif node.hint and node.flows then
    local own = text.width(chunks)
    table.insert(chunks, { text.ending(node.hint, room - own), 'TideateHint' })
  elseif node.hint then
    table.insert(chunks, { node.hint, node.state == 'failed' and 'TideateFailed' or 'TideateHint' })
  end
  return text.fit_chunks(chunks, room)
end

--- Return everything of a line that can change, as a key.
---@param row tideate.ui.Row
---@param time string
---@param tokens string
---@param cost string
---@return string
local function signature(row, time, tokens, cost)
  local node = row.node
  local stored = node.kind == 'run' and node.run.stored
  return table.concat({
    stored and (stored.continues or '-') or '',
    stored and stored.compared and table.concat(stored.compared, '\0') or '',
    row.lead,
    row.open == nil and '' or row.open and '1' or '0',
    row.marked and '1' or '',
    node.lanes and node.lanes.before .. node.lanes.after or '',
    node.state,
    node.label,
    node.attempts or 0,
    node.hint or '',
    time,
    tokens,
    cost,
  }, '\0')
end

---@param row tideate.ui.Row
---@param width integer
---@param time string
---@param tokens string
---@param cost string
---@return tideate.Chunk[]
local function line(row, width, time, tokens, cost)
  local kind = row.node.kind
  if kind == 'head' or kind == 'more' or kind == 'empty' then
    return text.fit_chunks({ { row.lead .. '  ' .. row.node.label, 'TideateHint' } }, width)
  end
  local right = time .. tokens .. cost ~= '' and ' ' .. COLUMNS:format(time, tokens, cost) or ''
  local room = width - #right
  local chunks = left(row, room)
  if right ~= '' then
    table.insert(chunks, { (' '):rep(math.max(0, room - text.width(chunks))) .. (right:gsub('%s+$', '')), 'TideateHint' })
  end
  return chunks
end

--- Return the line of a row; the same table if nothing changed.
---@param row tideate.ui.Row
---@param width integer
---@param known? tideate.ui.DrawnLine
---@return tideate.ui.DrawnLine
local function line_of(row, width, known)
  local time, tokens, cost = figures(row.node)
  local says = signature(row, time, tokens, cost)
  if known and known[1] == says then
    known.row = row
    return known
  end
  return { says, line(row, width, time, tokens, cost), row = row }
end

---@param it tideate.ui.Drawn
---@param rows tideate.ui.Row[]
---@param width integer
---@param seen {first: integer, last: integer}
---@return tideate.Chunk[][]
local function lines_of(it, rows, width, seen)
  local made, lines = {}, {}
  for index, row in ipairs(rows) do
    local node = row.node
    local known = width == it.width and it.made[node.key] or nil
    -- lines outside of the window are updated when they scroll into view
    local at_work = (node.began or node.renew) and index >= seen.first and index <= seen.last
    if not known or known.row ~= row or at_work then
      known = line_of(row, width, known)
    end
    made[node.key] = known
    lines[index] = known[2]
  end
  it.made, it.width = made, width
  return lines
end

--- Write the lines that differ, if the number of lines is the same.
---@param it tideate.ui.Drawn
---@param lines tideate.Chunk[][]
local function write_changed(it, lines)
  local from, upto = nil, nil ---@type integer?, integer?
  for index = 1, #lines + 1 do
    local differs = lines[index] ~= it.lines[index]
    if from and (index > #lines or differs and index - upto > NEAR) then
      text.splice(it.buf, ns, from - 1, upto, vim.list_slice(lines, from, upto))
      from = nil
    end
    if differs then
      from, upto = from or index, index
    end
  end
  it.lines = lines
end

--- Draw rows.
---@param it tideate.ui.Drawn
---@param rows tideate.ui.Row[]
---@param win integer
function M.draw(it, rows, win)
  local seen = { first = vim.fn.line('w0', win), last = vim.fn.line('w$', win) }
  local lines, before = lines_of(it, rows, vim.api.nvim_win_get_width(win), seen), it.lines
  if #before == #lines then
    return write_changed(it, lines)
  end
  local first, behind = text.unchanged(before, lines)
  -- an empty buffer has one line
  local last = #before == 0 and -1 or #before - behind
  text.splice(it.buf, ns, first, last, vim.list_slice(lines, first + 1, #lines - behind))
  it.lines = lines
end

--- Update the visible rows that are at work.
---@param it tideate.ui.Drawn
---@param rows tideate.ui.Row[] drawn last
---@param win integer
function M.touch(it, rows, win)
  local lines = vim.list_slice(it.lines)
  for index = vim.fn.line('w0', win), math.min(vim.fn.line('w$', win), #rows) do
    local row = rows[index]
    local node = row.node
    if node.renew then
      node:renew()
    end
    if node.began or node.renew then
      it.made[node.key] = line_of(row, it.width, it.made[node.key])
      lines[index] = it.made[node.key][2]
    end
  end
  write_changed(it, lines)
end

--- Return the head of the right columns.
---@return string
function M.head()
  return COLUMNS:format('time', 'tokens', 'cost')
end

return M
