--- The window of the project's runs: the list, a run with its steps, its events; each leads to the next.
local M = {}

local ns = vim.api.nvim_create_namespace('tideate.runs')

---@class tideate.ui.Runs
---@field buf integer
---@field win integer
---@field view 'history'|'show'|'events'
---@field page tideate.ui.RunsPage
---@field run? tideate.StoredRun that is shown
---@field from_list boolean whether the list was there before
---@field folder string of the project
---@field back integer the window the person came from
---@field asked integer counts the requests, so that a late answer shows nothing
---@field turning? integer the request of a page that is not there yet
---@field stale? boolean something happened while it was on its way

---@type tideate.ui.Runs?
local shown

---@return boolean
function M.is_visible()
  return shown ~= nil and require('tideate.ui.window').visible(shown.win)
end

---@return table<string, any> config of the float
local function place()
  local window = require('tideate.ui.window')
  local columns, rows = window.room()
  local height = math.max(8, math.floor(rows * 0.7))
  local footer = require('tideate.ui.text').keys(require('tideate.ui.keys').words(M.keys()), columns - 6)
  return window.centered(math.min(120, columns - 4), height, {
    title = { { (' %s '):format(shown.page.title), 'TideateTitle' } },
    footer = footer,
    zindex = 55,
  })
end

--- Close the window and give the focus back.
function M.close()
  local it = shown
  if not it then
    return
  end
  shown = nil
  local focused = it.win == vim.api.nvim_get_current_win()
  require('tideate.ui.window').close(it.win)
  if focused and vim.api.nvim_win_is_valid(it.back) then
    vim.api.nvim_set_current_win(it.back)
  end
end

--- The folded lines of a result.
---@return string
function M.foldtext()
  local count = vim.v.foldend - vim.v.foldstart + 1
  return ('       … %d line%s'):format(count, count == 1 and '' or 's')
end

local function fold()
  vim.api.nvim_win_call(shown.win, function()
    vim.cmd('normal! zE')
    for _, range in ipairs(shown.page.folds or {}) do
      vim.cmd(('%d,%dfold'):format(range[1], range[2]))
    end
  end)
end

local function draw()
  local it = shown --[[@as tideate.ui.Runs]]
  require('tideate.ui.text').render(it.buf, ns, it.page.lines)
  fold()
  local config = place()
  config.relative = 'editor'
  vim.api.nvim_win_set_config(it.win, config)
end

local function follow_window()
  vim.api.nvim_create_autocmd('WinClosed', {
    buffer = shown.buf,
    once = true,
    callback = function()
      shown = nil
    end,
  })
  vim.api.nvim_create_autocmd('VimResized', {
    buffer = shown.buf,
    callback = vim.schedule_wrap(function()
      if M.is_visible() then
        draw()
      end
    end),
  })
end

---@param folder string
---@param page tideate.ui.RunsPage
local function open(folder, page)
  local window = require('tideate.ui.window')
  local buf = window.scratch()
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].filetype = 'tideate-runs'
  local back = vim.api.nvim_get_current_win()
  if window.is_float(back) then
    back = window.for_files() or window.normal_windows()[1]
  end
  shown = { buf = buf, page = page, back = back, folder = folder, view = 'history', asked = 0, from_list = false }
  local enter = require('tideate.ui.idle').plain_normal()
  shown.win = window.float(buf, enter, place())
  window.options(shown.win, {
    wrap = false,
    cursorline = true,
    foldenable = true,
    foldmethod = 'manual',
    fillchars = 'fold: ',
    foldtext = "v:lua.require'tideate.ui.runs'.foldtext()",
  })
  require('tideate.ui.keys').set(buf, M.keys())
  follow_window()
end

---@param view 'history'|'show'|'events'
---@param folder string
---@param page tideate.ui.RunsPage
---@param run? tideate.StoredRun
local function put(view, folder, page, run)
  local same = shown and shown.view == view
  if not M.is_visible() then
    M.close()
    open(folder, page)
  end
  local cursor = same and vim.api.nvim_win_get_cursor(shown.win)[1] or page.opens or 1
  shown.view, shown.page, shown.run = view, page, run or shown.run
  draw()
  vim.api.nvim_win_set_cursor(shown.win, { math.max(1, math.min(cursor, #page.lines)), 0 })
end

--- Ask the host for a page; only the last one that was asked for is shown.
---@param method 'history'|'show'|'run_events'
---@param params table<string, any>
---@param take fun(result: tideate.Result, folder: string)
local function load(method, params, take)
  local it = shown
  params.folder = it and it.folder or require('tideate.context').folder()
  local ticket = it and it.asked + 1 or 0
  if it then
    it.asked = ticket
    it.turning = ticket
  end
  require('tideate.stored').ask(method, params, function(result)
    -- a window that was closed meanwhile stays closed
    if it == shown and (not it or it.asked == ticket) then
      take(result, params.folder)
      if it and it.stale then
        it.stale = false
        M.refresh()
      end
    end
  end, function()
    if it and it.turning == ticket then
      it.turning = nil
    end
  end)
end

--- Show the runs of the project.
function M.history()
  load('history', {}, function(result, folder)
    put('history', folder, require('tideate.ui.runs_text').history(result))
    shown.from_list = true
  end)
end

--- Show a run.
---@param id? string its beginning; the newest by default
function M.show(id)
  load('show', { execution_id = id }, function(result, folder)
    put('show', folder, require('tideate.ui.runs_text').show(result), result.run)
  end)
end

local function events()
  local run = shown.run --[[@as tideate.StoredRun]]
  load('run_events', { execution_id = run.execution_id }, function(result, folder)
    put('events', folder, require('tideate.ui.runs_text').events(run, result), run)
  end)
end

--- The run under the cursor, else the one that is shown.
---@return tideate.StoredRun?
local function selected()
  if shown.view ~= 'history' then
    return shown.run
  end
  return (shown.page.runs or {})[vim.api.nvim_win_get_cursor(shown.win)[1]]
end

--- Show again what is shown: something happened to the runs. A page that the person turned to comes first.
function M.refresh()
  if not M.is_visible() or shown.view == 'events' then
    return
  elseif shown.turning then
    shown.stale = true
  elseif shown.view == 'history' then
    M.history()
  else
    M.show(shown.run.execution_id)
  end
end

local function back()
  if shown.view == 'events' then
    M.show(shown.run.execution_id)
  elseif shown.view == 'show' and shown.from_list then
    M.history()
  else
    M.close()
  end
end

local function enter()
  if shown.view == 'history' then
    local run = selected()
    return run and M.show(run.execution_id)
  end
  -- a line without a fold has nothing to open
  pcall(vim.cmd, 'normal! za')
end

--- Do something to the selected run.
---@param act fun(run: tideate.StoredRun, folder: string)
---@return fun()
local function with_run(act)
  return function()
    local run = selected()
    if run then
      act(run, shown.folder)
    end
  end
end

local resume = with_run(function(run, folder)
  M.close()
  require('tideate').resume(run.execution_id, { folder = folder })
end)

local cancel = with_run(function(run, folder)
  require('tideate.ui.runs_actions').cancel(run, folder, M.refresh)
end)

local roll_back = with_run(function(run, folder)
  require('tideate.ui.runs_actions').roll_back(run, folder, M.refresh)
end)

---@return tideate.Key[]
function M.keys()
  local view = shown and shown.view or 'history'
  local listed = view == 'history'
  return {
    { lhs = { '<CR>' }, word = listed and 'show' or 'fold', desc = 'show the run; in it: open or close a fold', run = enter },
    { lhs = { 'r' }, word = 'resume', desc = 'let a run go on that is paused or was interrupted', run = resume },
    { lhs = { 'R' }, word = 'roll back', desc = 'put back the files that a run changed', run = roll_back, begins = false },
    { lhs = { 'x' }, word = 'cancel', desc = 'cancel a run; one that was interrupted is given up', run = cancel },
    {
      lhs = { 'e' },
      word = view == 'show' and 'events' or nil,
      desc = 'the events of the run that is shown',
      run = function()
        if shown.view == 'show' then
          events()
        end
      end,
    },
    {
      lhs = { 'q', '<Esc>' },
      word = (listed or not (shown and shown.from_list)) and 'close' or 'back',
      desc = 'back to the list, or close this window',
      run = back,
    },
    {
      lhs = { '?', 'g?' },
      word = 'help',
      desc = 'this help',
      run = function()
        require('tideate.ui.keys').help('runs', M.keys())
      end,
    },
  }
end

---@type table<string, true> events after which the runs stand elsewhere
local MOVES = {
  SD_EVENT_WORKFLOW_STARTED = true,
  SD_EVENT_WORKFLOW_RESTORED = true,
  SD_EVENT_WORKFLOW_PAUSED = true,
  SD_EVENT_WORKFLOW_RESUMED = true,
  SD_EVENT_STEP_COMPLETED = true,
}

--- Take an event: what is shown follows the runs of this Neovim.
---@param event tideate.Event
function M.on_event(event)
  if shown and MOVES[event.name] then
    M.refresh()
  end
end

return M
