--- Lines of the panel: the tree on the left, time, tokens and cost on the right. Only changed lines are written.
local M = {}

local ns = vim.api.nvim_create_namespace('tideate.panel')
local NEAR = 4 -- unchanged lines between two changes that are written along
local FIGURES = { time = 7, tokens = 7, cost = 8 } -- columns

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
---@return string
local function time_of(node)
  if node.began then
    -- whole seconds keep a calm line unchanged
    return require('tideate.ui.progress').seconds(vim.uv.now() - node.began)
  end
  return node.took and require('tideate.ui.progress').duration(node.took) or ''
end

---@param node tideate.ui.Node
---@return string time, string tokens, string cost
local function figures(node)
  local text = require('tideate.ui.pages.run_page.text')
  return time_of(node), node.tokens and text.count(node.tokens) or '', node.cost and text.cost(node.cost) or ''
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
  local models = require('tideate.ui.text').names(compared)
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
  if node.kind == 'run' then
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
  local node, text = row.node, require('tideate.ui.text')
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
  local text = require('tideate.ui.text')
  if row.node.kind == 'head' or row.node.kind == 'more' or row.node.kind == 'empty' then
    return text.fit_chunks({ { row.lead .. '  ' .. row.node.label, 'TideateHint' } }, width)
  end
  local behind, right = (' %%%ds%%%ds%%%ds'):format(FIGURES.time, FIGURES.tokens, FIGURES.cost), ''
  if time .. tokens .. cost ~= '' then
    right = behind:format(time, tokens, cost)
    right = cost == '' and right:sub(1, -FIGURES.cost - 1) .. (' '):rep(FIGURES.cost) or right
  end
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

--- Replace a range of lines.
---@param it tideate.ui.Drawn
---@param lines tideate.Chunk[][]
---@param first integer 1-based
---@param last integer of the lines that are there
---@param upto integer of the new ones
local function write(it, lines, first, last, upto)
  require('tideate.ui.text').splice(it.buf, ns, first - 1, last, vim.list_slice(lines, first, upto))
end

--- Write the lines that differ, if the number of lines is the same.
---@param it tideate.ui.Drawn
---@param lines tideate.Chunk[][]
local function write_changed(it, lines)
  local from = nil ---@type integer?
  for index = 1, #lines + 1 do
    local differs = lines[index] ~= it.lines[index]
    if differs and not from then
      from = index
    elseif not differs and from then
      write(it, lines, from, index - 1, index - 1)
      from = nil
    end
  end
end

--- Draw rows.
---@param it tideate.ui.Drawn
---@param rows tideate.ui.Row[]
---@param win integer
function M.draw(it, rows, win)
  local seen = { first = vim.fn.line('w0', win), last = vim.fn.line('w$', win) }
  local lines = lines_of(it, rows, vim.api.nvim_win_get_width(win), seen)
  local before = it.lines
  if #before == #lines then
    write_changed(it, lines)
  else
    local first, behind = require('tideate.ui.text').unchanged(before, lines)
    -- an empty buffer has one line
    local last = #before == 0 and -1 or #before - behind
    write(it, lines, first + 1, last, #lines - behind)
  end
  it.lines = lines
end

--- Update the visible rows that are at work.
---@param it tideate.ui.Drawn
---@param rows tideate.ui.Row[] drawn last
---@param win integer
function M.touch(it, rows, win)
  local from, upto = nil, nil ---@type integer?, integer?
  local first, last = vim.fn.line('w0', win), vim.fn.line('w$', win)
  for index = first, math.min(last, #rows) do
    local row = rows[index]
    if row.node.began or row.node.renew then
      if row.node.renew then
        row.node:renew()
      end
      local known = it.made[row.node.key]
      local now = line_of(row, it.width, known)
      it.made[row.node.key], it.lines[index] = now, now[2]
      if now ~= known and upto and index - upto > NEAR then
        write(it, it.lines, from, upto, upto)
        from = nil
      end
      if now ~= known then
        from, upto = from or index, index
      end
    end
  end
  if from then
    write(it, it.lines, from, upto, upto)
  end
end

--- Return the head of the right columns.
---@return string
function M.head()
  local columns = ('%%%ds%%%ds%%%ds'):format(FIGURES.time, FIGURES.tokens, FIGURES.cost)
  return columns:format('time', 'tokens', 'cost')
end

return M
