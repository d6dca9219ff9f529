-- Stop-watches inside Neovim for benchmarks/editor_chat.py. Times in milliseconds.
local M = {}

---@return number
local function now()
  return vim.uv.hrtime() / 1e6
end

local LINES = 1000 -- at least, of the whole chat

--- Open the last chat of the project; the result is in `M.opened` once it is shown whole and coloured.
function M.open()
  local stop, began = require('bench').watch(), now()
  vim.cmd('Workflow chat')
  local opened = { returned = now() - began }
  local timer = assert(vim.uv.new_timer())
  timer:start(
    1,
    1,
    vim.schedule_wrap(function()
      local chat = require('tideate.ui.chat').of()
      if not chat or timer:is_closing() or vim.api.nvim_buf_line_count(chat.stream.buf) < LINES then
        return
      elseif not opened.shown then
        vim.cmd.redraw()
        opened.shown = now() - began
      elseif vim.b[chat.stream.buf].ts_highlight then
        timer:close()
        vim.cmd.redraw()
        opened.pause, opened.processor = stop()
        M.opened = opened
      end
    end)
  )
end

--- Stream an answer into the open chat, a piece in each turn of the loop; then `M.streamed` has the time of a piece with
--- its drawing, and the longest pause.
---@param pieces integer
function M.stream(pieces)
  local chat, id = assert(require('tideate.ui.chat').of()), ''
  local receive, run = require('tideate.events').receive, require('tideate').run
  -- no host: the events come from here
  require('tideate').run = function(name, opts, on_done)
    id = ('3'):rep(32)
    require('tideate.state').begin({ execution_id = id, name = name, prompt = opts.prompt, steps = { 'reply' } })
    M.done = on_done
    return id
  end
  local function event(name, data)
    return { type = 'event', name = 'SD_EVENT_' .. name, execution_id = id, at = 0, data = data }
  end
  chat:set_text('more')
  local stop = require('bench').watch()
  local began = now()
  chat:send()
  receive({ event('WORKFLOW_STARTED', { name = 'chat', steps = { 'reply' }, adapter = 'bench' }) })
  receive({ event('STEP_STARTED', { step = 'reply', index = 1, total = 1 }) })
  vim.cmd.redraw()
  local result = { begun = now() - began }
  require('tideate').run = run
  local number, spent = 0, 0
  local timer = assert(vim.uv.new_timer())
  timer:start(
    1,
    1,
    vim.schedule_wrap(function()
      if timer:is_closing() then
        return
      elseif number < pieces then
        number = number + 1
        local before = os.clock()
        receive({ event('TOKEN', { step = 'reply', text = number % 12 == 0 and 'word\n' or 'word ' }) })
        spent = spent + os.clock() - before
        return
      end
      timer:close()
      receive({
        event('MODEL_ANSWERED', { step = 'reply', model = 'bench' }),
        event('STEP_COMPLETED', { step = 'reply' }),
        event('WORKFLOW_COMPLETED', { response = '' }),
      })
      M.done({ ok = true, execution_id = id })
      vim.cmd.redraw()
      result.token = spent / pieces * 1000
      result.pause, result.processor = stop()
      M.streamed = result
    end)
  )
end

return M
