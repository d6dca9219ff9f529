--- Progress of a run in a title, a winbar and (from Neovim 0.12) a progress message.
local M = {}

local text = require('tideate.ui.text')

local FRAMES = { '⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏' }
local FRAME = 100 -- milliseconds

---@class tideate.ui.Look
---@field mark string
---@field group string
---@field word string

---@type table<string, tideate.ui.Look>
local RUNS = {
  starting = { mark = '…', group = 'TideateWaiting', word = 'starting' },
  running = { mark = '', group = 'TideateRunning', word = 'running' },
  pausing = { mark = '‖', group = 'TideateWarning', word = 'pausing' },
  confirming = { mark = '?', group = 'TideateWarning', word = 'waits for you' },
  paused = { mark = '‖', group = 'TideateWarning', word = 'paused' },
  completed = { mark = '✓', group = 'TideateDone', word = 'done' },
  failed = { mark = '✗', group = 'TideateFailed', word = 'failed' },
  cancelled = { mark = '⊘', group = 'TideateWarning', word = 'cancelled' },
  interrupted = { mark = '⊘', group = 'TideateWarning', word = 'left' },
}

---@type tideate.ui.Look
local DECLINED = { mark = '⊘', group = 'TideateWarning', word = 'declined' }

---@type tideate.ui.Look
local UNCHANGED = { mark = '=', group = 'TideateHint', word = 'nothing changed' }

---@param run tideate.Run
---@return tideate.ui.Look
local function look_of(run)
  return run.declined and DECLINED or run.unchanged and UNCHANGED or RUNS[run.state] or RUNS.running
end

---@type table<string, tideate.ui.Look>
local STEPS = {
  waiting = { mark = '○', group = 'TideateWaiting', word = '' },
  running = { mark = '●', group = 'TideateRunning', word = '' },
  completed = { mark = '✓', group = 'TideateDone', word = '' },
  failed = { mark = '✗', group = 'TideateFailed', word = '' },
  retrying = { mark = '↻', group = 'TideateWarning', word = '' },
  skipped = { mark = '–', group = 'TideateWaiting', word = '' },
}

---@return string
local function spinner()
  return FRAMES[math.floor(vim.uv.now() / FRAME) % #FRAMES + 1]
end

---@param run tideate.Run
---@return boolean
function M.active(run)
  return not require('tideate.run_status').ENDED[run.state]
end

--- Return whether a run works without waiting for the user.
---@param run tideate.Run
---@return boolean
function M.turning(run)
  return M.active(run) and run.state ~= 'confirming' and run.state ~= 'paused'
end

---@param milliseconds integer
---@return string
function M.duration(milliseconds)
  local seconds = milliseconds / 1000
  if seconds < 10 then
    return ('%.1fs'):format(seconds)
  elseif seconds < 60 then
    return ('%ds'):format(seconds)
  end
  return ('%dm%02ds'):format(math.floor(seconds / 60), seconds % 60)
end

--- Format a running time in whole seconds.
---@param milliseconds integer
---@return string
function M.seconds(milliseconds)
  return milliseconds < 60000 and ('%ds'):format(milliseconds / 1000) or M.duration(milliseconds)
end

--- Return workflow, step, state and time of a run; without a time while it waits for the user.
---@param run tideate.Run
---@return tideate.Chunk[]
function M.title(run)
  local look = look_of(run)
  local chunks = { { ' ' .. run.name .. ' ', 'TideateTitle' } } ---@type tideate.Chunk[]
  if run.total_steps > 1 and run.step > 0 then
    table.insert(chunks, { ('%d/%d '):format(run.step, run.total_steps), 'TideateHint' })
  elseif run.total_steps == 0 and run.step > 0 then
    table.insert(chunks, { ('%d '):format(run.step), 'TideateHint' })
  end
  local after = run.state == 'confirming' and run.pausing and ', pausing' or ''
  local mark = run.state == 'running' and spinner() or look.mark .. ' ' .. look.word .. after
  table.insert(chunks, { mark .. ' ', look.group })
  local time = M.turning(run) and M.seconds(run.elapsed_ms) or not M.active(run) and M.duration(run.elapsed_ms)
  if time then
    table.insert(chunks, { time .. ' ', 'TideateHint' })
  end
  if run.demonstration then
    table.insert(chunks, { '· demonstration model ', 'TideateWarning' })
  end
  return chunks
end

---@param step tideate.RunStep
---@return boolean
function M.at_work(step)
  return step.state == 'running' or step.state == 'retrying'
end

---@param step tideate.RunStep
---@param run tideate.Run
---@return string? # nil while the run waits for the user
local function step_time(step, run)
  if step.duration_ms then
    return M.duration(step.duration_ms)
  end
  local going_on = M.at_work(step) and step.started and M.turning(run)
  return going_on and M.seconds(vim.uv.now() - step.started) or nil
end

--- Return every step with its state and time.
---@param run tideate.Run
---@return tideate.Chunk[]
function M.steps(run)
  local chunks = {} ---@type tideate.Chunk[]
  for _, step in ipairs(run.steps) do
    local look = STEPS[step.state] or STEPS.waiting
    local stopped = M.at_work(step) and not M.active(run)
    local mark = stopped and '⊘' or look.mark
    local time = step_time(step, run)
    table.insert(chunks, { (' %s '):format(mark), stopped and 'TideateWarning' or look.group })
    local again = step.state == 'retrying' and (' (attempt %d)'):format(step.attempt) or ''
    local idle = step.state == 'waiting' or step.state == 'skipped'
    local check = run.check and step.name == run.current_step and (' (%s)'):format(run.check) or ''
    table.insert(chunks, { step.label .. again .. check, idle and 'TideateHint' or nil })
    table.insert(chunks, { time and (' %s '):format(time) or ' ', 'TideateHint' })
  end
  return chunks
end

--- Return the number of steps before the first running one.
---@param run tideate.Run
---@return integer
local function behind(run)
  for index, step in ipairs(run.steps) do
    if M.at_work(step) then
      return index - 1
    end
  end
  return math.max(run.step - 1, 0)
end

--- Return the steps that fit into a width; completed ones are dropped first.
---@param run tideate.Run
---@param width integer
---@return tideate.Chunk[]
function M.fitting_steps(run, width)
  local chunks = M.steps(run)
  local dropped, done = false, behind(run)
  while text.width(chunks) + (dropped and 2 or 0) > width and #chunks > 3 do
    if #run.steps - #chunks / 3 >= done then
      break
    end
    for _ = 1, 3 do
      table.remove(chunks, 1)
    end
    dropped = true
  end
  if dropped then
    table.insert(chunks, 1, { ' …', 'TideateHint' })
  end
  return text.fit_chunks(chunks, width)
end

---@type table<string, string> run state → status of a progress message
local STATUS = { completed = 'success', failed = 'failed', cancelled = 'failed' }

---@type table<string, string> last message by run
local said = {}

--- Return whether a message can be shown: not over a command line, prompt or question.
---@return boolean
function M.can_echo()
  local mode = vim.api.nvim_get_mode()
  return not mode.blocking and not mode.mode:find('^[cr]')
end

--- Update Neovim's own progress display (0.12 and later).
---@param run tideate.Run
function M.report(run)
  if vim.fn.has('nvim-0.12') == 0 or not M.can_echo() or (M.active(run) and run.current_step == '') then
    return
  end
  local look = look_of(run)
  local words = M.active(run) and run.current_step ~= '' and require('tideate.state').place(run) or look.word
  local done = 100 ---@type integer?
  if M.active(run) then
    -- the length of a machine's path is unknown
    done = run.total_steps > 0 and math.floor(100 * math.max(run.step - 1, 0) / run.total_steps) or nil
  end
  local saying = ('%s %s %s'):format(run.state, words, done or run.step)
  if said[run.execution_id] == saying then
    return
  end
  said[run.execution_id] = M.active(run) and saying or nil
  -- a second message at once would ask the user to press a key
  vim.cmd.redraw()
  local title = text.fit(run.name, math.floor(vim.o.columns / 3))
  -- so would a message that does not fit beside title, percentage and ruler
  local room = math.max(8, vim.o.columns - text.width({ { title } }) - 30)
  -- an id, so that every event updates the same message
  vim.api.nvim_echo({ { text.fit(words, room) } }, false, {
    id = 'tideate.' .. run.execution_id,
    kind = 'progress',
    source = 'tideate',
    title = title,
    status = STATUS[run.state] or 'running',
    percent = done,
  })
  if not M.active(run) then
    require('tideate.ui.notify').echo_again(run.execution_id)
  end
end

--- Call back every frame until stopped.
---@param callback fun()
---@return fun() stop
function M.tick(callback)
  local timer = assert(vim.uv.new_timer())
  timer:start(FRAME, FRAME, vim.schedule_wrap(function()
    if not timer:is_closing() then
      callback()
    end
  end))
  return function()
    if not timer:is_closing() then
      timer:stop()
      timer:close()
    end
  end
end

return M
