--- Content of a drawing's buffer: requests the drawn workflow, writes it, highlights the current state.
local M = {}

local api = vim.api
local text = require('tideate.ui.text')

local ns = api.nvim_create_namespace('tideate.graph')

local path_ns = api.nvim_create_namespace('tideate.graph_path')
local PATH = 'path: '

---@param it tideate.ui.Graph
---@return tideate.Run?
local function run_of(it)
  return it.source.execution_id and require('tideate.state').get_status(it.source.execution_id) or nil
end

---@param it tideate.ui.Graph
---@return string? current state of the run
function M.current(it)
  local run = run_of(it)
  local at = run and require('tideate.ui.progress').active(run) and run.current_state or nil
  -- the exit is not a state
  return at ~= '*' and at or nil
end

---@param it tideate.ui.Graph
---@return string[] running steps
function M.running(it)
  local run = it.kind == 'graph' and run_of(it) or nil
  return run and run.running or {}
end

--- Return the step drawn on a line.
---@param line string
---@param names string[]
---@return string?
function M.step_at(line, names)
  for _, branch in ipairs({ '●', '┌', '├', '└' }) do
    local _, last = line:find(branch .. ' ', 1, true)
    local word = last and line:sub(last + 1):match('^%S+')
    if word then
      return vim.list_contains(names, word) and word or nil
    end
  end
end

---@param it tideate.ui.Graph
---@return boolean whether the drawn buffer was unloaded
function M.gone(it)
  return it.source.buf ~= nil and not api.nvim_buf_is_loaded(it.source.buf)
end

---@param it tideate.ui.Graph
---@return boolean whether its window still shows the drawing
function M.showing(it)
  return api.nvim_win_is_valid(it.win) and api.nvim_win_get_buf(it.win) == it.buf
end

--- Return the reason that the drawing cannot follow its text.
---@param it tideate.ui.Graph
---@return string?
function M.stale(it)
  if M.gone(it) then
    return 'its buffer is closed'
  elseif it.source.buf and require('tideate.language.requests').too_large(it.source.buf) then
    return 'its text is larger than 1 MiB'
  end
end

--- Draw the winbar: name, current step, keys.
---@param it tideate.ui.Graph
---@param keys tideate.Key[]
function M.head(it, keys)
  local words = require('tideate.ui.keys').words
  local chunks = { { ' ' .. it.name .. ' ', 'TideateTitle' } } ---@type tideate.Chunk[]
  local running = M.running(it)
  local at = #running > 0 and table.concat(running, ', ') or M.current(it)
  if at then
    table.insert(chunks, { '● ' .. at .. ' ', 'TideateRunning' })
  end
  if it.mistakes > 0 then
    table.insert(chunks, { text.counted(it.mistakes, 'mistake') .. ' ', 'TideateFailed' })
  end
  local stale = M.stale(it)
  if stale then
    table.insert(chunks, { stale .. ' ', 'TideateWarning' })
  end
  local width = api.nvim_win_get_width(it.win)
  vim.list_extend(chunks, text.keys(words(keys), math.max(0, width - text.width(chunks))))
  require('tideate.ui.window').options(it.win, { winbar = text.bar(text.fit_chunks(chunks, width)) })
end

---@param it tideate.ui.Graph
---@param lines string[]
local function highlight_steps(it, lines)
  local running = it.format == 'text' and M.running(it) or {}
  for row, line in ipairs(lines) do
    if M.step_at(line, running) then
      api.nvim_buf_set_extmark(it.buf, ns, row - 1, 0, { end_col = #line, hl_group = 'TideateCurrent' })
    end
  end
end

---@param it tideate.ui.Graph
---@param lines string[]
local function highlight(it, lines)
  api.nvim_buf_clear_namespace(it.buf, ns, 0, -1)
  if it.kind == 'graph' then
    return highlight_steps(it, lines)
  end
  local box = it.format == 'text' and require('tideate.ui.graph.window').marked_box(lines) or {}
  for _, part in ipairs(box) do
    api.nvim_buf_set_extmark(it.buf, ns, part.row, part.first, { end_col = part.last, hl_group = 'TideateCurrent' })
  end
  if #box > 0 then
    api.nvim_win_set_cursor(it.win, { box[1].row + 2, box[1].first })
    api.nvim_win_call(it.win, function()
      vim.cmd('normal! zz')
    end)
  end
end

--- Return the run's path as lines below the drawing of its machine.
---@param it tideate.ui.Graph
---@return string[]
local function path_lines(it)
  local run = it.format == 'text' and it.kind == 'machine' and run_of(it) or nil
  if not run or #(run.path or {}) == 0 then
    return {}
  end
  local words = PATH .. require('tideate.machine_path').words(run.path)
  return vim.list_extend({ '' }, text.wrap(words, math.max(20, M.width_of(it))))
end

--- Write the drawing and the path below it.
---@param it tideate.ui.Graph
local function write(it)
  local lines = vim.list_extend(vim.list_slice(it.drawn), path_lines(it))
  local view = api.nvim_win_call(it.win, vim.fn.winsaveview)
  vim.bo[it.buf].modifiable = true
  api.nvim_buf_set_lines(it.buf, 0, -1, true, lines)
  vim.bo[it.buf].modifiable = false
  vim.bo[it.buf].filetype = it.format == 'mermaid' and 'mermaid' or 'tideate-graph'
  api.nvim_win_call(it.win, function()
    vim.fn.winrestview(view)
  end)
  highlight(it, lines)
  for row = #it.drawn, #lines - 1 do
    api.nvim_buf_set_extmark(it.buf, path_ns, row, 0, { end_col = #lines[row + 1], hl_group = 'TideateHint' })
  end
end

---@param source tideate.GraphSource its buffer, if any, is loaded
---@param format 'text'|'mermaid'
---@param width integer
---@return table<string, any> params
function M.request(source, format, width)
  local params = {
    format = format,
    width = width,
    current = M.current({ source = source }),
    obfuscate = source.obfuscate,
    folder = source.folder,
    name = source.name,
  }
  if source.buf then
    params.text = require('tideate.language.requests').text(source.buf) or ''
    local path = api.nvim_buf_get_name(source.buf)
    params.name = vim.fn.fnamemodify(path, ':t:r')
    params.path = vim.bo[source.buf].filetype ~= 'workflow' and path or nil
  end
  return params
end

---@param it tideate.ui.Graph
---@param result tideate.Result
---@param keys tideate.Key[]
function M.take(it, result, keys)
  it.name, it.mistakes, it.kind = result.name, result.mistakes, result.kind
  it.definition = { states = result.states, transitions = result.transitions }
  it.drawn = vim.split(result.text:gsub('\n$', ''), '\n', { plain = true })
  write(it)
  M.head(it, keys)
end

--- Update the highlights and the path after the run moved.
---@param it tideate.ui.Graph
---@param keys tideate.Key[]
function M.follow(it, keys)
  if M.showing(it) then
    write(it)
    M.head(it, keys)
  end
end

---@param it tideate.ui.Graph
---@return integer columns
function M.width_of(it)
  return api.nvim_win_get_width(it.win) - vim.fn.getwininfo(it.win)[1].textoff
end

return M
