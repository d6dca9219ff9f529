--- A machine as a drawing in a window of its own; where a run is at is highlighted and moves with it.
local M = {}

local ns = vim.api.nvim_create_namespace('tideate.graph')
local WAIT = 200 -- milliseconds without a change before the drawing follows what is typed

---@class tideate.GraphSource one of `buf` and `name`
---@field buf? integer a buffer of filetype workflow, as it is now
---@field name? string of a workflow, or the path of a file
---@field execution_id? string whose current state is highlighted
---@field obfuscate? boolean

---@class tideate.ui.Graph
---@field source tideate.GraphSource
---@field buf integer
---@field win integer
---@field format 'text'|'mermaid'
---@field asked integer counts the requests, so that a late answer draws nothing
---@field name string
---@field mistakes integer
---@field group integer
---@field back integer the window the person came from
---@field timer? uv.uv_timer_t

---@type tideate.ui.Graph?
local shown

---@return boolean
function M.is_visible()
  return shown ~= nil and require('tideate.ui.window').visible(shown.win)
end

---@param it tideate.ui.Graph
---@return tideate.Run?
local function run_of(it)
  return it.source.execution_id and require('tideate.state').get_status(it.source.execution_id) or nil
end

---@param it tideate.ui.Graph
---@return string? state that the run is in
local function current(it)
  local run = run_of(it)
  local at = run and require('tideate.ui.progress').active(run) and run.current_state or nil
  -- at the exit it is in no state any more
  return at ~= '*' and at or nil
end

---@param it tideate.ui.Graph
local function head(it)
  local text, keys = require('tideate.ui.text'), require('tideate.ui.keys')
  local chunks = { { ' ' .. it.name .. ' ', 'TideateTitle' } } ---@type tideate.Chunk[]
  local at = current(it)
  if at then
    table.insert(chunks, { '● ' .. at .. ' ', 'TideateRunning' })
  end
  if it.mistakes > 0 then
    local words = it.mistakes == 1 and '1 mistake ' or ('%d mistakes '):format(it.mistakes)
    table.insert(chunks, { words, 'TideateFailed' })
  end
  local width = vim.api.nvim_win_get_width(it.win)
  vim.list_extend(chunks, text.keys(keys.words(M.keys()), math.max(0, width - text.width(chunks))))
  require('tideate.ui.window').options(it.win, { winbar = text.bar(text.fit_chunks(chunks, width)) })
end

---@param it tideate.ui.Graph
---@param lines string[]
local function highlight(it, lines)
  vim.api.nvim_buf_clear_namespace(it.buf, ns, 0, -1)
  local box = it.format == 'text' and require('tideate.ui.graph_window').marked_box(lines) or {}
  for _, part in ipairs(box) do
    vim.api.nvim_buf_set_extmark(it.buf, ns, part.row, part.first, { end_col = part.last, hl_group = 'TideateCurrent' })
  end
  if #box > 0 then
    vim.api.nvim_win_set_cursor(it.win, { box[1].row + 2, box[1].first })
    vim.api.nvim_win_call(it.win, function()
      vim.cmd('normal! zz')
    end)
  end
end

---@param it tideate.ui.Graph
---@param text string
local function write(it, text)
  local lines = vim.split(text:gsub('\n$', ''), '\n', { plain = true })
  local view = vim.api.nvim_win_call(it.win, vim.fn.winsaveview)
  vim.bo[it.buf].modifiable = true
  vim.api.nvim_buf_set_lines(it.buf, 0, -1, true, lines)
  vim.bo[it.buf].modifiable = false
  vim.bo[it.buf].filetype = it.format == 'mermaid' and 'mermaid' or 'tideate-graph'
  vim.api.nvim_win_call(it.win, function()
    vim.fn.winrestview(view)
  end)
  highlight(it, lines)
end

---@param it tideate.ui.Graph
---@return table<string, any>? params nil if the source is gone
local function request(it)
  local source = it.source
  local params = {
    format = it.format,
    width = vim.api.nvim_win_get_width(it.win) - vim.fn.getwininfo(it.win)[1].textoff,
    current = current(it),
    obfuscate = source.obfuscate,
    folder = require('tideate.context').folder(),
  }
  if not source.buf then
    params.name = source.name
  elseif vim.api.nvim_buf_is_loaded(source.buf) then
    params.text = require('tideate.language.ask').text(source.buf) or ''
    params.name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(source.buf), ':t:r')
  else
    return nil
  end
  return params
end

--- Draw again: the text, the run or the window changed.
function M.draw()
  local it = shown
  if not it or not vim.api.nvim_win_is_valid(it.win) then
    return
  end
  local params = request(it)
  if not params then
    return
  end
  it.asked = it.asked + 1
  local asked = it.asked
  require('tideate.client').request('graph', params, function(result)
    if shown ~= it or asked ~= it.asked or not vim.api.nvim_win_is_valid(it.win) then
      return
    elseif not result.ok then
      return M.failed(it, result)
    end
    it.name, it.mistakes = result.name, result.mistakes
    write(it, result.text)
    head(it)
  end)
end

--- A window that never showed anything goes away again.
---@param it tideate.ui.Graph
---@param result tideate.Result
function M.failed(it, result)
  if vim.api.nvim_buf_line_count(it.buf) == 1 and vim.api.nvim_buf_get_lines(it.buf, 0, 1, true)[1] == '' then
    M.close()
  end
  if not result.cancelled then
    if result.error_code == 'InvalidWorkflowFile' then
      require('tideate.machines').list_mistakes(result.error)
    end
    require('tideate.ui').notify(require('tideate.machines').brief(result.error), vim.log.levels.ERROR)
  end
end

--- Close the window and give the focus back.
function M.close()
  local it = shown
  if not it then
    return
  end
  shown = nil
  vim.api.nvim_del_augroup_by_id(it.group)
  if it.timer then
    it.timer:stop()
    it.timer:close()
  end
  local focused = it.win == vim.api.nvim_get_current_win()
  require('tideate.ui.window').close(it.win)
  if focused and vim.api.nvim_win_is_valid(it.back) then
    vim.api.nvim_set_current_win(it.back)
  end
end

local function yank()
  local lines = vim.api.nvim_buf_get_lines(shown.buf, 0, -1, true)
  vim.fn.setreg(vim.v.register, lines, 'l')
  require('tideate.ui').notify(('%d lines yanked'):format(#lines))
end

---@return tideate.Key[]
function M.keys()
  local function toggle()
    shown.format = shown.format == 'text' and 'mermaid' or 'text'
    M.draw()
  end
  local other = shown and shown.format == 'mermaid' and 'drawing' or 'mermaid'
  return {
    { lhs = { 'q' }, word = 'close', desc = 'close this window', run = M.close },
    { lhs = { 'm' }, word = other, desc = 'the drawing, or the same as Mermaid', run = toggle },
    { lhs = { 'y' }, word = 'yank', desc = 'yank the whole text', run = yank, begins = false },
    { lhs = { 'r' }, word = 'redraw', desc = 'draw again', run = M.draw },
    {
      lhs = { '?', 'g?' },
      word = 'help',
      desc = 'this help',
      run = function()
        require('tideate.ui.keys').help('graph', M.keys())
      end,
    },
  }
end

---@param it tideate.ui.Graph
local function follow_text(it)
  local timer = assert(vim.uv.new_timer())
  it.timer = timer
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'TextChangedP' }, {
    group = it.group,
    buffer = it.source.buf,
    desc = 'Let the drawing follow the text',
    callback = function()
      timer:start(WAIT, 0, vim.schedule_wrap(function()
        if shown == it then
          M.draw()
        end
      end))
    end,
  })
end

---@param it tideate.ui.Graph
local function watch(it)
  it.group = vim.api.nvim_create_augroup('tideate.graph', { clear = true })
  vim.api.nvim_create_autocmd('WinClosed', {
    group = it.group,
    pattern = tostring(it.win),
    callback = vim.schedule_wrap(function()
      if shown == it then
        M.close()
      end
    end),
  })
  local width = vim.api.nvim_win_get_width(it.win)
  vim.api.nvim_create_autocmd({ 'VimResized', 'WinResized' }, {
    group = it.group,
    callback = vim.schedule_wrap(function()
      if shown == it and vim.api.nvim_win_is_valid(it.win) and vim.api.nvim_win_get_width(it.win) ~= width then
        width = vim.api.nvim_win_get_width(it.win)
        M.draw()
      end
    end),
  })
  if it.source.buf then
    follow_text(it)
  end
end

--- Draw a machine; returns at once.
---@param source tideate.GraphSource
function M.open(source)
  M.close()
  require('tideate.ui.highlights').define()
  local window = require('tideate.ui.window')
  local label = source.name and require('tideate.machines').label(source.name)
    or vim.fn.fnamemodify(vim.api.nvim_buf_get_name(source.buf), ':t:r')
  local buf = window.scratch()
  vim.api.nvim_buf_set_name(buf, ('tideate://graph/%d/%s'):format(buf, label))
  vim.bo[buf].bufhidden = 'wipe'
  local back = vim.api.nvim_get_current_win()
  shown = {
    source = source,
    buf = buf,
    win = require('tideate.ui.graph_window').open(buf),
    format = 'text',
    asked = 0,
    name = label,
    mistakes = 0,
    back = back,
  }
  require('tideate.ui.keys').set(buf, M.keys())
  watch(shown)
  vim.api.nvim_set_current_win(shown.win)
  head(shown)
  M.draw()
end

--- Take an event: the highlight moves with a run, and a run of the machine that is shown is followed.
---@param event tideate.Event
function M.on_event(event)
  local it = shown
  if not it then
    return
  end
  local name = event.name
  if name == 'SD_EVENT_WORKFLOW_STARTED' and not it.source.buf and not current(it) then
    local run = require('tideate.state').get_status(event.execution_id)
    if run and run.kind == 'machine' and run.asked == it.source.name then
      it.source.execution_id, it.source.obfuscate = run.execution_id, run.obfuscate
    end
  end
  local ends = name == 'SD_EVENT_WORKFLOW_COMPLETED' or name == 'SD_EVENT_WORKFLOW_FAILED' or name == 'SD_EVENT_WORKFLOW_CANCELLED'
  if event.execution_id == it.source.execution_id and (name == 'SD_EVENT_TRANSITION' or ends) then
    M.draw()
  end
end

return M
