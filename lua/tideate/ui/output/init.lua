--- The output window: one window, a buffer for each run.
local M = {}

local api = vim.api
local ui = require('tideate.ui')

local runs = require('tideate.ui.output.runs')
local beside = require('tideate.ui.output.beside')
local placement = require('tideate.ui.output.window')
local progress = require('tideate.ui.progress')
local dialog = require('tideate.ui.questions.dialog')
local window = require('tideate.ui.window')

local BEGINS = { SD_EVENT_WORKFLOW_STARTED = true, SD_EVENT_WORKFLOW_RESTORED = true }

---@class tideate.ui.Shown
---@field win integer?
---@field id string?
---@field kind string?
---@field stop fun()?
---@field group integer?
---@field back integer?
---@field gave_way? boolean hidden for the code, not by the user
---@field later? string[] runs that wait for the end of the review, the newest last

---@type tideate.ui.Shown
local shown = {}

---@param id string
---@return tideate.Run?
local function status(id)
  return require('tideate.state').get_status(id)
end

---@return boolean
function M.is_visible()
  return window.visible(shown.win)
end

--- Return whether a run's text is on the screen.
---@param id string
---@return boolean
function M.shows(id)
  return shown.id == id and M.is_visible()
end

--- Draw the title and the steps.
local function draw()
  local run = shown.id and status(shown.id)
  if not run or not shown.win or not api.nvim_win_is_valid(shown.win) then
    return
  end
  local active = progress.active(run)
  local can_reply = not active and require('tideate.reply').refusal(run) == nil
  local keys = M.keys(active, can_reply, active and require('tideate.run').analyzes(run))
  placement.head(shown.win, shown.kind, run, keys)
end

--- Turn the spinner only while the window is visible and the run works.
local function animate()
  local run = shown.id and status(shown.id)
  local wanted = run and progress.turning(run) and M.is_visible()
  if wanted and not shown.stop then
    shown.stop = progress.tick(function()
      draw()
      animate()
    end)
  elseif not wanted and shown.stop then
    shown.stop()
    shown.stop = nil
  end
end

--- Ask for a message to the model of the shown run.
local function say()
  local run = shown.id and status(shown.id)
  local ended = not run or not progress.active(run)
  require('tideate.ui.run_actions').ask_what_to_say({ id = shown.id, ended = ended })
end

--- Show the tool call of the cursor's line, or toggle its fold.
local function open_line()
  local entry = shown.id and runs.get(shown.id)
  local row = api.nvim_win_get_cursor(0)[1]
  local calls = require('tideate.ui.transcript.tool_calls')
  local call = entry and calls.at(entry, api.nvim_buf_get_lines(0, 0, row, true))
  if call then
    require('tideate.ui.questions.preview').open('tool call', calls.details(call), 'markdown')
  elseif not require('tideate.ui.references').follow() and vim.fn.foldlevel(row) > 0 then
    vim.cmd.normal({ 'za', bang = true })
  end
end

--- Send the prompt of a `refactor` as `edit` while it is analyzed.
local function skip_analysis()
  local run = shown.id and status(shown.id)
  if not run or not require('tideate.run').analyzes(run) then
    return vim.cmd.normal({ 'e', bang = true })
  end
  M.hide() -- the edit comes in the code
  require('tideate.run').skip_analysis(run)
end

---@param active boolean? whether the run can be cancelled; default: true
---@param can_reply boolean? whether the user can reply to an answer
---@param analyzes boolean? whether the run is at the analysis of a `refactor`
---@return tideate.Key[]
function M.keys(active, can_reply, analyzes)
  local keys = require('tideate.ui.keys')
  local key = keys.key
  return {
    key('q', 'hide', 'hide this window; the run continues', M.hide),
    key('<C-c>', active ~= false and 'cancel' or nil, 'cancel the run', function()
      local run = shown.id and status(shown.id)
      if run and progress.active(run) then
        require('tideate').cancel(run.execution_id)
      end
    end),
    key('e', analyzes and 'no analysis' or nil, 'during the analysis of a `refactor`: skip it, and send the prompt as `edit`', skip_analysis),
    key('s', active ~= false and 'say' or nil, 'send the model a message before its next turn', say),
    key('<CR>', nil, 'open the tool call, the file or the fold of this line', open_line),
    key('gc', nil, 'continue the conversation as a chat', function()
      require('tideate.ui.chat').open(shown.id)
    end),
    key({ 'r', 'i' }, can_reply and 'reply' or nil, 'reply to the answer after the run has ended: a new run continues its conversation', function()
      local run = shown.id and status(shown.id)
      if run then
        require('tideate.reply').to(run)
      end
    end),
    keys.help_key('output', M.keys),
  }
end

--- Move a foreign buffer (for example after `:e! file`) to a window that shows files.
local function move_foreign_buffer()
  local entry = shown.id and runs.get(shown.id)
  if not entry or not shown.win or not api.nvim_win_is_valid(shown.win) then
    return
  end
  local other = api.nvim_win_get_buf(shown.win)
  if other == entry.stream.buf then
    return
  end
  window.options(shown.win, { winfixbuf = false })
  api.nvim_win_set_buf(shown.win, entry.stream:loaded_buffer())
  placement.set_reading_options(shown.win)
  draw()
  local target = window.for_files()
  if target and api.nvim_buf_is_valid(other) then
    api.nvim_win_set_buf(target, other)
    api.nvim_set_current_win(target)
  end
end

local function watch()
  shown.group = api.nvim_create_augroup('tideate.output', { clear = true })
  api.nvim_create_autocmd('WinClosed', {
    group = shown.group,
    pattern = tostring(shown.win),
    callback = function()
      M.closed()
    end,
  })
  api.nvim_create_autocmd('BufWinEnter', { group = shown.group, callback = vim.schedule_wrap(move_foreign_buffer) })
  api.nvim_create_autocmd({ 'VimResized', 'TabEnter' }, {
    group = shown.group,
    callback = vim.schedule_wrap(M.arrange),
  })
end

--- Lay out the window again.
function M.arrange()
  if shown.kind == 'float' and M.is_visible() then
    local config = placement.float_config()
    config.relative = 'editor'
    api.nvim_win_set_config(shown.win, config)
  end
  draw()
  animate()
  dialog.arrange()
end

--- Handle the close of the window.
function M.closed()
  if shown.group then
    api.nvim_del_augroup_by_id(shown.group)
  end
  if shown.stop then
    shown.stop()
  end
  shown = { id = shown.id, later = shown.later }
  dialog.arrange()
end

--- Show a run.
---@param id string
---@param enter boolean? nil: if the user is in normal mode
function M.show(id, enter)
  local entry = runs.revived(id, M.keys)
  if not entry then
    return
  end
  if enter == nil then
    enter = not M.is_visible() and placement.may_focus()
  end
  shown.id = id
  if M.is_visible() then
    window.options(shown.win, { winfixbuf = false })
    api.nvim_win_set_buf(shown.win, entry.stream.buf)
  else
    if shown.win then
      M.hide()
    end
    shown.back = api.nvim_get_current_win()
    shown.win, shown.kind = placement.open(entry.stream.buf)
    watch()
  end
  placement.set_reading_options(shown.win)
  placement.to_end(shown.win, entry.stream.buf)
  if enter then
    api.nvim_set_current_win(shown.win)
  end
  shown.later = vim.tbl_filter(function(held)
    return held ~= id
  end, shown.later or {})
  draw()
  animate()
  dialog.arrange()
end

--- Hide the window; the run continues.
function M.hide()
  if beside.close_here() then
    return
  end
  local win, back = shown.win, shown.back
  M.closed()
  window.leave(win, back)
end

--- Free the space of the code: hide a float, leave a tab page.
function M.make_room()
  beside.close()
  if shown.kind == 'float' and shown.win then
    M.hide()
    shown.gave_way = true
  elseif shown.kind == 'tab' and shown.win == api.nvim_get_current_win() then
    if shown.back and api.nvim_win_is_valid(shown.back) then
      api.nvim_set_current_win(shown.back)
    end
  end
end

---@return integer? win the window, if it is a float
function M.float()
  return shown.kind == 'float' and M.is_visible() and shown.win or nil
end

--- Focus the window.
---@return boolean done
function M.focus()
  if not M.is_visible() then
    return false
  end
  api.nvim_set_current_win(shown.win)
  return true
end

--- Hide the window, or show a run in it.
---@param id string? default: the newest run
---@return boolean known whether there is a run to show
function M.toggle(id)
  if M.is_visible() and (id == nil or id == shown.id) then
    M.hide()
    return true
  end
  local newest = require('tideate.state').runs()[1]
  id = id or (newest and newest.execution_id)
  local chat = package.loaded['tideate.ui.chat']
  if id and chat and chat.show_run(id) then
    return true
  elseif not id or not runs.revived(id, M.keys) then
    return false
  end
  M.show(id, require('tideate.ui.typing').plain_normal())
  return true
end

--- Hold a run's output back until a question is answered.
---@param run tideate.Run
---@param kind string of the question
local function hold_back(run, kind)
  shown.later = vim.list_extend(shown.later or {}, { run.execution_id })
  ui.notify(('%s runs; its output comes after the %s'):format(run.name, kind))
end

--- Show a run, but neither over the code of a question nor with the focus of its keys.
---@param id string
---@param enter boolean? as in `show`
local function show_beside_questions(id, enter)
  local question = ui.pending()[1]
  if question and question.in_code and not M.is_visible() then
    hold_back(assert(status(id)), question.kind)
  elseif question then
    M.show(id, false)
  else
    M.show(id, enter)
  end
end

--- Show the runs that waited for the last question.
function M.on_answered()
  local others = shown.later or {}
  local newest = table.remove(others)
  shown.later = nil
  if newest then
    M.show(newest, false)
  end
  if others[1] then
    local ids = require('tideate.ui.text').names(vim.tbl_map(require('tideate.stored_runs').short, others))
    ui.notify(('also began: %s; :Workflow output ID shows the output'):format(ids))
  end
end

--- Show a started run; one of a comparison beside the others, or after them.
---@param id string
---@param entry tideate.ui.Run
---@param event tideate.Event
local function show_begun(id, entry, event)
  if not event.data.compared then
    return show_beside_questions(id)
  end
  local busy = M.is_visible() and beside.is_busy(shown.id)
  if not beside.began(id, entry, event.data) and not busy then
    show_beside_questions(id)
  end
end

--- Return whether a run writes its answer into the buffer, without this window.
---@param run tideate.Run
---@return boolean
local function in_place(run)
  return require('tideate.ui.review.stream').IN_PLACE[run.name] == true
end

--- Handle an event.
---@param event tideate.Event
function M.on_event(event)
  local id = event.execution_id
  local run = status(id)
  if not run then
    return
  end
  local chat = package.loaded['tideate.ui.chat'] -- not loaded: never opened
  if chat and chat.on_event(event, run) then
    return
  end
  local entry = runs.get(id) or runs.add(id, M.keys)
  if event.name == 'SD_EVENT_WORKFLOW_RESTORED' then
    entry.stream.finished = false -- its process had ended, the run has not
  end
  require('tideate.ui.transcript').on_event(entry, event, run)
  if require('tideate.run_events').FREQUENT[event.name] then
    return
  elseif BEGINS[event.name] and not run.parent then
    runs.evict_old(shown.id)
    require('tideate.ui.notify').close_of_run()
    if not in_place(run) then
      show_begun(id, entry, event)
    end
  elseif event.name == 'SD_EVENT_TOOL_CALLED' and in_place(run) and not entry.looks then
    entry.looks = true
    show_begun(id, entry, event) -- its lines are gone, and the model looks for them
  elseif shown.id == id and shown.gave_way and event.name == 'SD_EVENT_CHECK_STARTED' then
    show_beside_questions(id, false) -- a check lasts long enough to be watched
  elseif shown.id == id then
    draw()
    animate()
  end
  local next_one = beside.on_event(event)
  if next_one and shown.id == id and M.is_visible() then
    M.show(next_one, false)
  end
end

--- Redraw the head of a run if it is shown.
---@param id string
function M.refresh(id)
  if shown.id == id then
    draw()
  end
end

--- Close the window and drop all texts.
function M.close()
  M.hide()
  runs.close()
  shown = {}
end

return M
