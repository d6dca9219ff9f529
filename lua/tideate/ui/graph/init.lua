--- Window of a workflow's drawing: opens, draws and closes it, and follows the events of a run.
local M = {}

local api = vim.api
local ui = require('tideate.ui')

local drawing = require('tideate.ui.graph.drawing')
local keys = require('tideate.ui.keys')
local text = require('tideate.ui.text')
local window = require('tideate.ui.window')

local WAIT = 200 -- milliseconds without a change before a redraw

local WIDEST = 76

---@class tideate.GraphDefinition
---@field states {name: string, guidance: string}[]
---@field transitions {source: string, target: string, when: string}[]

---@param line string
---@return string[] characters
local function characters(line)
  return vim.fn.split(line, '\\zs')
end

--- Return the end of the upper border of a box.
---@param chars string[]
---@param from integer
---@return integer? to
local function border_end(chars, from)
  if not vim.list_contains({ '╭', '┌', '╔' }, chars[from]) then
    return nil
  end
  for at = from + 1, #chars do
    if vim.list_contains({ '╮', '┐', '╗' }, chars[at]) then
      return at
    elseif not vim.list_contains({ '─', '═', '┬', '┴', '╧', '╤', '▼' }, chars[at]) then
      return nil
    end
  end
end

--- Return the title of the box with its upper border in a row, at a column.
---@param lines string[]
---@param row integer
---@param column integer in characters
---@return string? title, integer? bottom row
local function box_in(lines, row, column)
  local chars = characters(lines[row])
  for from = 1, math.min(column, #chars) do
    local to = border_end(chars, from)
    if to and to >= column and lines[row + 1] then
      local title = vim.list_slice(characters(lines[row + 1]), from + 1, to - 1)
      for below = row + 1, #lines do
        if vim.list_contains({ '╰', '└', '╚' }, characters(lines[below])[from]) then
          return vim.trim(table.concat(title)), below
        end
      end
    end
  end
end

---@param title string
---@param names string[]
---@return string? name
local function named(title, names)
  for _, name in ipairs(names) do
    local start = title:match('^(.-)…$')
    if title == name or vim.endswith(title, ' ' .. name) or start and vim.startswith(name, (start:gsub('^%S+ ', ''))) then
      return name
    end
  end
  return title:find('●', 1, true) and '*' or nil
end

--- Return the state drawn at a position; `*` is the entry.
---@param lines string[]
---@param row integer 1-based
---@param byte integer 0-based
---@param names string[]
---@return string?
local function state_at(lines, row, byte, names)
  local column = vim.fn.charidx((lines[row] or '') .. ' ', byte) + 1
  for top = row, 1, -1 do
    local title, bottom = box_in(lines, top, column)
    if title and bottom >= row then
      local name = named(title, names)
      if name then
        return name
      end
    end
  end
end

---@param definition tideate.GraphDefinition
---@param name string
---@param width integer
---@return tideate.Chunk[][]
local function words(definition, name, width)
  local lines = {} ---@type tideate.Chunk[][]
  local function add(prefix, body, group)
    for index, line in ipairs(text.wrap(body, width - vim.fn.strdisplaywidth(prefix) - 1)) do
      local lead = index == 1 and prefix or (' '):rep(vim.fn.strdisplaywidth(prefix))
      table.insert(lines, { { lead, 'TideateHint' }, { line, group } })
    end
  end
  for _, state in ipairs(definition.states) do
    if state.name == name and state.guidance ~= '' then
      add(' ', state.guidance)
      table.insert(lines, {})
    end
  end
  for _, move in ipairs(definition.transitions) do
    if move.source == name then
      add(' → ', move.target == '*' and 'end' or move.target, 'TideateKey')
      if move.when ~= '' then
        add('   ', move.when)
      end
    end
  end
  return #lines > 0 and lines or { { { ' nothing is said of it', 'TideateHint' } } }
end

--- Show a state's guidance and transitions in a float.
---@param definition tideate.GraphDefinition
---@param name string
local function open_state(definition, name)
  local width = math.min(WIDEST, (window.room()) - 4)
  local title = name == '*' and 'entry' or name
  local config = { width = width, zindex = 110 }
  window.show_lines(words(definition, name, width), title, { 'q', '<Esc>', '<CR>', 'K' }, config)
end

---@class tideate.ui.GraphActions
---@field draw fun() redraw
---@field leave fun() close the drawing
---@field keys fun(): tideate.Key[]

---@param it tideate.ui.Graph
---@param draw fun()
local function draw_soon(it, draw)
  it.timer:start(WAIT, 0, vim.schedule_wrap(function()
    if not it.left then
      draw()
    end
  end))
end

--- Watch changes of the text, in any window and by anyone.
---@param it tideate.ui.Graph
---@param draw fun()
local function listen(it, draw)
  if it.followed then
    return
  end
  local function changed()
    if it.left then
      return true -- stop watching
    end
    draw_soon(it, draw)
  end
  it.followed = api.nvim_buf_attach(it.source.buf, false, {
    on_lines = changed,
    on_reload = changed,
    on_detach = function()
      it.followed = false
    end,
  })
end

---@param it tideate.ui.Graph
---@param actions tideate.ui.GraphActions
local function follow_text(it, actions)
  it.timer = assert(vim.uv.new_timer())
  listen(it, actions.draw)
  local function on(events, desc, callback)
    api.nvim_create_autocmd(events, { group = it.group, buffer = it.source.buf, desc = desc, callback = callback })
  end
  on({ 'BufReadPost', 'BufNewFile' }, 'Let the drawing follow a text that is opened again', function()
    listen(it, actions.draw)
    draw_soon(it, actions.draw)
  end)
  -- later: rereading a file unloads it first
  on({ 'BufUnload', 'BufWipeout' }, 'Say that the drawn text is closed', vim.schedule_wrap(function()
    if not it.left and drawing.showing(it) then
      drawing.head(it, actions.keys())
    end
  end))
end

---@param it tideate.ui.Graph
---@param actions tideate.ui.GraphActions
local function follow_window(it, actions)
  local width = api.nvim_win_get_width(it.win)
  local function on(events, desc, callback, pattern)
    local later = vim.schedule_wrap(function()
      if not it.left then
        callback()
      end
    end)
    api.nvim_create_autocmd(events, { group = it.group, pattern = pattern, desc = desc, callback = later })
  end
  on('WinClosed', 'End the drawing with its window', actions.leave, tostring(it.win))
  on({ 'BufEnter', 'BufWinEnter' }, 'Leave the window to another buffer that is shown in it', function()
    if not drawing.showing(it) then
      actions.leave()
    end
  end)
  on({ 'VimResized', 'WinResized' }, 'Draw again with the new width', function()
    if drawing.showing(it) and api.nvim_win_get_width(it.win) ~= width then
      width = api.nvim_win_get_width(it.win)
      actions.draw()
    end
  end)
end

--- Follow text and window until the drawing is closed.
---@param it tideate.ui.Graph
---@param actions tideate.ui.GraphActions
local function follow(it, actions)
  it.group = api.nvim_create_augroup('tideate.graph', { clear = true })
  follow_window(it, actions)
  if it.source.buf then
    follow_text(it, actions)
  end
end

---@class tideate.GraphSource either `buf` or `name`
---@field buf? integer a workflow buffer with its current text
---@field name? string workflow name or file path
---@field execution_id? string run with the highlighted state
---@field obfuscate? boolean
---@field folder? string project at the time of the request

---@class tideate.ui.Graph
---@field source tideate.GraphSource
---@field buf integer
---@field win integer
---@field format 'text'|'mermaid' shown
---@field wanted 'text'|'mermaid' requested last
---@field asked integer number of requests; only the last answer is drawn
---@field name string
---@field mistakes integer
---@field kind? 'machine'|'graph'
---@field definition tideate.GraphDefinition
---@field drawn string[] lines of the drawing, without the path
---@field group integer
---@field back integer window that had the focus before
---@field timer? uv.uv_timer_t
---@field left? boolean closed
---@field followed? boolean whether changes of the buffer are watched

---@type tideate.ui.Graph?
local shown
local opening = 0 -- number of requested drawings; only the last one opens

---@return boolean
function M.is_visible()
  return shown ~= nil and window.visible(shown.win)
end

---@param result tideate.Result
local function failed(result)
  if not result.cancelled then
    if result.error_code == 'InvalidWorkflowFile' or result.error_code == 'InvalidDefinitionFile' then
      require('tideate.workflow_lookup').list_mistakes(result.error)
    end
    ui.fail(require('tideate.workflow_lookup').brief(result.error))
  end
end

--- Redraw after a change of the text, the run or the window.
function M.draw()
  local it = shown
  if not it or not drawing.showing(it) then
    return
  end
  if drawing.stale(it) then
    it.wanted = it.format
    return drawing.head(it, M.keys())
  end
  it.asked = it.asked + 1
  local asked, format = it.asked, it.wanted
  require('tideate.client').request('graph', drawing.request(it.source, format, drawing.width_of(it)), function(result)
    if shown ~= it or asked ~= it.asked or not drawing.showing(it) then
      return
    elseif not result.ok then
      it.wanted = it.format
      return failed(result)
    end
    it.format = format
    drawing.take(it, result, M.keys())
  end)
end

--- Close the window and give the focus back.
local function leave()
  local it = shown
  if not it then
    return
  end
  shown, it.left = nil, true
  api.nvim_del_augroup_by_id(it.group)
  if it.timer then
    it.timer:stop()
    it.timer:close()
  end
  local showing = drawing.showing(it)
  local focused = showing and it.win == api.nvim_get_current_win()
  if showing then
    window.close(it.win)
  elseif api.nvim_win_is_valid(it.win) then
    window.options(it.win, { winfixbuf = false }) -- the one option that a new buffer keeps
  end
  window.delete(it.buf) -- if another window shows it
  if focused and api.nvim_win_is_valid(it.back) then
    api.nvim_set_current_win(it.back)
  end
  require('tideate.ui.output').arrange()
end

--- Close the window; cancel one that is about to open.
function M.close()
  opening = opening + 1
  leave()
end

--- Redraw on request.
local function redraw()
  local stale = drawing.stale(shown)
  if drawing.gone(shown) then
    ui.warn('the buffer of this drawing is closed: the drawing is no longer updated')
  elseif stale then
    ui.warn('not drawn again: ' .. stale)
  end
  M.draw()
end

--- Show the state under the cursor.
local function explain()
  local it = shown --[[@as tideate.ui.Graph]]
  local names = vim.tbl_map(function(state)
    return state.name
  end, it.definition.states)
  local name ---@type string?
  if it.format == 'text' and it.kind == 'graph' then
    name = drawing.step_at(api.nvim_get_current_line(), names)
  elseif it.format == 'mermaid' then
    local word = vim.fn.expand('<cword>')
    name = vim.list_contains(names, word) and word or nil
  else
    local cursor = api.nvim_win_get_cursor(it.win)
    local lines = api.nvim_buf_get_lines(it.buf, 0, -1, true)
    name = state_at(lines, cursor[1], cursor[2], names)
  end
  if not name then
    return ui.notify('there is no state under the cursor')
  end
  open_state(it.definition, name)
end

local function yank()
  local lines = shown.drawn
  vim.fn.setreg(vim.v.register, lines, 'l')
  ui.notify(('%d lines yanked'):format(#lines))
end

---@return tideate.Key[]
function M.keys()
  local function toggle()
    shown.wanted = shown.wanted == 'text' and 'mermaid' or 'text'
    M.draw()
  end
  local other = shown and shown.format == 'mermaid' and 'drawing' or 'mermaid'
  return {
    keys.key('q', 'close', 'close this window', leave),
    keys.key({ 'K', '<CR>' }, 'state', "the state's guidance and its transitions", explain),
    keys.key('m', other, 'the drawing, or the same as Mermaid', toggle),
    keys.key('y', 'yank', 'yank the whole text', yank),
    keys.key('r', 'redraw', 'draw again', redraw),
    keys.help_key('graph', M.keys),
  }
end

--- Open the window with a drawing.
---@param source tideate.GraphSource
---@param result tideate.Result
---@param back integer window that gets the focus afterwards
local function show(source, result, back)
  leave()
  require('tideate.ui.highlights').define()
  local buf = window.scratch(nil, { bufhidden = 'wipe', modifiable = false })
  api.nvim_buf_set_name(buf, ('tideate://graph/%d/%s'):format(buf, result.name))
  shown = { source = source, buf = buf, format = 'text', wanted = 'text', asked = 0, back = back }
  shown.win = require('tideate.ui.graph.window').open(buf)
  keys.set(buf, M.keys())
  api.nvim_create_autocmd('BufReadCmd', { buffer = buf, desc = 'Draw again', callback = M.draw })
  follow(shown, { draw = M.draw, leave = leave, keys = M.keys })
  drawing.take(shown, result, M.keys())
  require('tideate.ui.output').arrange()
end

--- Request a drawing and show it; the previous drawing stays until then.
---@param source tideate.GraphSource
function M.open(source)
  local from = api.nvim_get_current_win()
  local back = window.origin()
  if shown and from == shown.win then
    back = shown.back
  end
  opening = opening + 1
  local stale = drawing.stale({ source = source })
  if stale then
    return ui.warn('not drawn: ' .. stale)
  end
  source.folder = source.folder or require('tideate.context').folder()
  local ticket, width = opening, require('tideate.ui.graph.window').width()
  local params = drawing.request(source, 'text', width)
  require('tideate.client').request('graph', params, function(result)
    if ticket ~= opening then
      return
    elseif not result.ok then
      return failed(result)
    end
    local enter = vim.list_contains({ from, shown and shown.win }, api.nvim_get_current_win())
    show(source, result, back)
    if enter and require('tideate.ui.typing').plain_normal() then
      api.nvim_set_current_win(shown.win)
    end
    if drawing.width_of(shown) ~= width or drawing.current(shown) ~= params.current then
      M.draw()
    end
  end)
end

--- Update the drawing with the path of its run.
---@param execution_id string
function M.on_path(execution_id)
  if shown and shown.source.execution_id == execution_id then
    drawing.follow(shown, M.keys())
  end
end

--- Follow a run's events; a new run of the drawn workflow becomes the highlighted one.
---@param event tideate.Event
function M.on_event(event)
  local it = shown
  if not it then
    return
  end
  local name = event.name
  local begins = name == 'SD_EVENT_WORKFLOW_STARTED' or name == 'SD_EVENT_WORKFLOW_RESTORED'
  if begins and not it.source.buf and not drawing.current(it) then
    local run = require('tideate.state').get_status(event.execution_id)
    if run and run.asked == it.source.name then
      it.source.execution_id, it.source.obfuscate = run.execution_id, run.obfuscate
    end
  end
  local ends = name == 'SD_EVENT_WORKFLOW_COMPLETED' or name == 'SD_EVENT_WORKFLOW_FAILED' or name == 'SD_EVENT_WORKFLOW_CANCELLED'
  if event.execution_id == it.source.execution_id and (name == 'SD_EVENT_TRANSITION' or ends) then
    M.draw()
  elseif event.execution_id == it.source.execution_id and it.kind == 'graph' then
    drawing.follow(it, M.keys())
  end
end

return M
