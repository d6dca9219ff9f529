--- Guarded programs: a terminal window with a program in a private copy of the project, and the review of its changes.
local M = {}

local api = vim.api
local ui = require('tideate.ui')

---@class tideate.GuardSession
---@field id string
---@field argv string[]
---@field state 'prepared'|'running'|'interrupted'|'waiting'|'damaged'
---@field created integer milliseconds since the epoch
---@field status? integer exit status of the program

---@class tideate.GuardStart the host's answer to `guard_prepare` and `guard_resume`
---@field session tideate.GuardSession
---@field command string[]
---@field cwd string

local SHORT = 8

---@type tideate.GuardSession[] last sent by the host
local known = {}
local landing = {} ---@type table<string, string> runs that land a session, by its id
local waiting = {} ---@type table<string, string> runs whose review was left, by the session's id

---@param id string
---@return string
local function short(id)
  return id:sub(1, SHORT)
end

--- Return the name of a session: program and id.
---@param session tideate.GuardSession
---@return string
function M.named(session)
  return ('%s %s'):format(require('tideate.ui.text').name(vim.fs.basename(session.argv[1])), short(session.id))
end

---@param folder string
---@param on_done fun(sessions: tideate.GuardSession[])
function M.read(folder, on_done)
  require('tideate.client').request('guard_sessions', { folder = folder }, function(result)
    if result.ok then
      known = result.sessions
      on_done(known)
    end
  end)
end

--- Complete the ids of sessions, and request new sessions for the next completion.
---@return string[]
function M.complete()
  M.read(require('tideate.context').folder(), function() end)
  return vim.tbl_map(function(session)
    return short(session.id)
  end, known)
end

--- Return the known sessions that may have changes to land.
---@return tideate.GuardSession[]
function M.known()
  return known
end

local function refresh()
  require('tideate.ui.panel').changed()
end

--- Review the changes of a session and land the accepted ones; show its review again if it is open or was left.
---@param id string a prefix; empty: the only session
---@param folder? string of the project
function M.land(id, folder)
  if landing[id] then
    ui.focus_run(landing[id])
    return
  end
  folder = folder or require('tideate.context').folder()
  local runner, earlier = require('tideate.run'), waiting[id]
  ---@param result tideate.RunResult
  local function done(result)
    landing[id] = nil
    waiting[id] = result.reason == 'interrupted' and result.execution_id or nil
    refresh()
  end
  local status = earlier and require('tideate.state').get_status(earlier)
  if status and status.state == 'interrupted' then
    landing[id] = status.execution_id
    runner.resume_stored(status.execution_id, folder, done)
  else
    landing[id] = runner.start('land', { inputs = { session = id }, context = { cwd = folder } }, done)
  end
end

--- Run `:Workflow land`; of several sessions, ask for one.
---@param id string a prefix of its id, or empty
function M.choose_to_land(id)
  local folder = require('tideate.context').folder()
  if id ~= '' then
    return M.land(id, folder)
  end
  M.read(folder, function(sessions)
    if #sessions < 2 then
      return M.land(sessions[1] and sessions[1].id or '', folder)
    end
    ui.select(sessions, {
      prompt = 'Review the changes of:',
      kind = 'tideate.session',
      format_item = function(session)
        local words = require('tideate.ui.text').name(table.concat(session.argv, ' '))
        return ('%s  %s  %s'):format(short(session.id), session.state, words)
      end,
    }, function(session)
      if session then
        M.land(session.id, folder)
      end
    end)
  end)
end

--- Leave the terminal of an ended program; its window stays only after a failure.
---@param buf integer
---@param code integer exit status
local function leave_terminal(buf, code)
  if api.nvim_get_current_buf() == buf then
    vim.cmd.stopinsert()
  end
  for _, win in ipairs(code == 0 and vim.fn.win_findbuf(buf) or {}) do
    require('tideate.ui.window').close(win)
  end
end

--- Land the session after its program, or report that it changed nothing.
---@param session tideate.GuardSession
---@param folder string
---@param code integer exit status
local function ended(session, folder, code)
  M.read(folder, function(sessions)
    refresh()
    local left = vim.iter(sessions):any(function(one)
      return one.id == session.id
    end)
    if left then
      return M.land(session.id, folder)
    end
    local words = code == 0 and '' or (' (exit status %d)'):format(code)
    ui.notify(('%s changed no file%s'):format(M.named(session), words))
  end)
end

---@param buf integer
---@param session tideate.GuardSession
---@param folder string
local function set_keys(buf, session, folder)
  local function land()
    vim.cmd.stopinsert() -- keys typed for the program must not reach the review
    M.land(session.id, folder)
  end
  vim.keymap.set('n', 'gl', land, { buffer = buf, desc = 'tideate: review the changes of the program' })
  vim.keymap.set('t', '<C-\\><C-l>', land, { buffer = buf, desc = 'tideate: review the changes of the program' })
end

--- Remove the terminal of an ended program with its windows.
---@param name string of the buffer
local function remove_terminal(name)
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_get_name(buf) == name then
      vim.tbl_map(require('tideate.ui.window').close, vim.fn.win_findbuf(buf))
      api.nvim_buf_delete(buf, { force = true })
    end
  end
end

--- Open a terminal window for a prepared program.
---@param start tideate.GuardStart
---@param folder string
local function open_terminal(start, folder)
  local name = ('tideate://guard/%s'):format(M.named(start.session))
  remove_terminal(name)
  local buf = api.nvim_create_buf(true, false)
  local win = api.nvim_open_win(buf, false, { split = 'below', win = -1 })
  api.nvim_set_current_win(win) -- not before it has its buffer: the panel follows splits of its own
  vim.bo[buf].bufhidden = 'hide'
  local is_heard = false
  local options = {
    cwd = start.cwd,
    on_stdout = function()
      if not is_heard then
        is_heard = true
        refresh() -- the session is running now
      end
    end,
    on_exit = vim.schedule_wrap(function(_, code)
      leave_terminal(buf, code)
      ended(start.session, folder, code)
    end),
  }
  local run = vim.fn.termopen
  if vim.fn.has('nvim-0.11') == 1 then
    options.term, run = true, vim.fn.jobstart
  end
  local ok, channel = pcall(run, start.command, options)
  if not ok or channel <= 0 then
    api.nvim_buf_delete(buf, { force = true })
    return ui.fail(('the program cannot be started: %s'):format(channel))
  end
  api.nvim_buf_set_name(buf, name)
  set_keys(buf, start.session, folder)
  local text = require('tideate.ui.text')
  require('tideate.ui.window').options(win, {
    winbar = text.bar({
      { (' guarded %s  '):format(M.named(start.session)), 'TideateTitle' },
      { 'gl or <C-\\><C-l> reviews its changes', 'TideateHint' },
    }),
  })
  vim.cmd.startinsert()
  refresh()
end

---@param method string
---@param params table<string, any>
local function start(method, params)
  params.folder = params.folder or require('tideate.context').folder()
  require('tideate.client').request_or_tell(method, params, function(result)
    open_terminal(result --[[@as tideate.GuardStart]], params.folder)
  end)
end

--- Run `:Workflow guard`.
---@param rest string the program and its arguments, quoted as in a shell
function M.command(rest)
  if rest == '' then
    return ui.warn('name the program to guard, for example `:Workflow guard claude`')
  end
  start('guard_prepare', { command = rest, cwd = vim.fn.getcwd() })
end

--- Run the program of a session again, in the same copy.
---@param id string
---@param folder string
function M.resume(id, folder)
  start('guard_resume', { session = id, folder = folder })
end

--- Discard a session after a confirmation that lists its changed files.
---@param id string
---@param folder string
function M.discard(id, folder)
  local expecting = require('tideate.ui.typing').expect()
  require('tideate.client').request_or_tell('guard_show', { session = id, folder = folder }, function(result)
    if result.session.state == 'running' then
      return ui.warn(('%s is still running; end it first'):format(M.named(result.session)))
    end
    local text = require('tideate.ui.text')
    local files = vim.tbl_map(function(path)
      return '- ' .. text.name(path)
    end, result.files)
    if result.session.state == 'damaged' then
      files = { 'Its record is damaged: its changes cannot be shown.' }
    end
    if result.more > 0 then
      table.insert(files, ('- … and %d more'):format(result.more))
    end
    require('tideate.ui.questions.confirm_action').yes({
      about = 'guard',
      doing = 'discard',
      message = ('Discard the session %s and its changes?'):format(M.named(result.session)),
      details = table.concat(files, '\n'),
      cautious = true,
    }, function()
      require('tideate.client').request_or_tell('guard_discard', { session = id, folder = folder }, refresh)
    end, expecting)
  end)
end

return M
