-- Stop-watches inside Neovim for benchmarks/editor.py; times in milliseconds unless said.
local M = {}

local function now()
  return vim.uv.hrtime() / 1e6
end

--- Processor time of Neovim, all of its threads.
---@return number
local function spent()
  local used = vim.uv.getrusage()
  return (used.utime.sec + used.stime.sec) * 1e3 + (used.utime.usec + used.stime.usec) / 1e3
end

--- What plugin/ and setup() cost, where nothing of the plugin is loaded yet.
function M.load(root)
  local started = now()
  vim.cmd.source(root .. '/plugin/tideate.lua')
  local sourced = now()
  require('tideate').setup({})
  return { plugin = sourced - started, setup = now() - sourced }
end

--- Look every millisecond how long the editor did nothing that was scheduled, as keys are. A timer alone would
--- tick also while it reads a script.
---@return fun(): number, number stop returns the longest pause, and the most processor time of one: other
--- programs take none of that
function M.watch()
  local timer = assert(vim.uv.new_timer())
  local last, last_spent, longest, most = now(), spent(), 0, 0
  local stopped = false
  local function look()
    local at, used = now(), spent()
    longest, most = math.max(longest, at - last - 1), math.max(most, used - last_spent)
    last, last_spent = at, used
  end
  timer:start(
    1,
    1,
    vim.schedule_wrap(function()
      if not stopped then
        look()
      end
    end)
  )
  return function()
    stopped = true
    timer:stop()
    timer:close()
    look()
    return longest, most
  end
end

--- From the first `:Workflow` to a host that is ready; the result is in `M.ready` then.
function M.first_command()
  local host = require('tideate.host')
  local on_ready = host.on_ready
  local stop = M.watch()
  local started = now()
  host.on_ready = function(message)
    on_ready(message)
    local took = now() - started
    -- after this round of the loop, so that the work in it counts
    vim.schedule(function()
      local pause, processor = stop()
      M.ready = { ready = took, pause = pause, processor = processor }
    end)
  end
  vim.cmd('silent Workflow list')
  M.returned = now() - started
end

--- Stream an answer into the output window; the result is in `M.streamed` then.
function M.stream(prompt)
  local stop, first, last, bytes
  require('tideate').run('ask', {
    prompt = prompt,
    on_token = function(text)
      last = now()
      if not first then
        first, bytes, stop = last, 0, M.watch()
      end
      bytes = bytes + #text
    end,
  }, function(result)
    M.streamed = { ok = result.ok, error = result.error, ms = last and last - first, bytes = bytes }
    if stop then
      M.streamed.pause, M.streamed.processor = stop()
    end
  end)
end

--- Microseconds of one `get_status()`.
function M.status_time(calls)
  local tideate = require('tideate')
  assert(tideate.get_status(), 'nothing is running')
  collectgarbage()
  local started = vim.uv.hrtime()
  for _ = 1, calls do
    tideate.get_status()
  end
  return (vim.uv.hrtime() - started) / 1e3 / calls
end

--- Let a first run open the output window and end; syntax and parser are loaded only then, its modules while the
--- host starts. What it took and the longest pause are in `M.opened` when it is coloured.
function M.open_window()
  require('tideate.ui').load_ahead(nil, M.show_first)
end

function M.show_first()
  local stop, started, began = M.watch(), now(), spent()
  local id = ('1'):rep(32)
  require('tideate.events').receive({
    { type = 'event', name = 'SD_EVENT_WORKFLOW_STARTED', execution_id = id, at = 0, data = { name = 'first', steps = { 'one' } } },
    { type = 'event', name = 'SD_EVENT_WORKFLOW_CANCELLED', execution_id = id, at = 0, data = { reason = 'cancelled' } },
  })
  vim.cmd.redraw()
  local took, used = now() - started, spent() - began
  local timer = assert(vim.uv.new_timer())
  timer:start(
    1,
    1,
    vim.schedule_wrap(function()
      local buf = vim.fn.bufnr('tideate://first')
      if not M.opened and buf > 0 and vim.b[buf].ts_highlight then
        timer:close()
        vim.cmd.redraw()
        local pause, processor = stop()
        M.opened = { ms = took, used = used, pause = pause, processor = processor }
      end
    end)
  )
end

--- Count the events of a run that come in; after the last one the result is in `M.counted`.
function M.count_events(execution_id, expected)
  local state = require('tideate.state')
  state.begin({ execution_id = execution_id, name = 'bench', steps = { 'one', 'two' } })
  local apply, count, first = state.apply, 0, nil
  local stop = M.watch()
  state.apply = function(event)
    first = first or now()
    count = count + 1
    apply(event)
    if count == expected then
      state.apply = apply
      local ms = now() - first
      vim.schedule(function()
        local pause, processor = stop()
        M.counted = { ms = ms, pause = pause, processor = processor }
      end)
    end
  end
end

local FRAME = 16

--- Call back once a frame; after the last one `M[name]` is the longest pause by both clocks.
---@param name string
---@param frames integer
---@param on_frame fun(number: integer)
local function each_frame(name, frames, on_frame)
  local stop, number = M.watch(), 0
  local timer = assert(vim.uv.new_timer())
  timer:start(
    FRAME,
    FRAME,
    vim.schedule_wrap(function()
      if number == frames then
        if not M[name] then
          timer:close()
          vim.cmd.redraw()
          M[name] = { stop() }
        end
        return
      end
      number = number + 1
      on_frame(number)
    end)
  )
end

---@param step integer
---@param number integer of the frame
---@return string
local function piece(step, number)
  return ('word %d of %d '):format(number, step)
end

--- Stream answers of steps that run at the same time into the panel, a piece of each in every frame;
--- `M.drawing_time` is the processor time of a drawing then.
function M.panel(steps, frames)
  require('tideate.ui.panel').open()
  local id, names, begun = ('2'):rep(32), {}, {}
  local function event(name, data)
    return { type = 'event', name = 'SD_EVENT_' .. name, execution_id = id, at = 0, data = data }
  end
  for step = 1, steps do
    names[step] = 'step' .. step
    table.insert(begun, event('STEP_STARTED', { step = names[step], index = step, total = steps }))
  end
  local receive = require('tideate.events').receive
  receive({ event('WORKFLOW_STARTED', { name = 'wide', steps = names, prompt = 'all at once' }) })
  receive(begun)
  -- a panel alone: what the output window costs is measured elsewhere
  require('tideate.ui.output').hide()
  local function begin()
    if require('tideate.client').busy() then
      return vim.defer_fn(begin, 50) -- what its start costs is measured elsewhere, too
    end
    local drawing, drawing_time, drawn = require('tideate.ui.panel.drawing'), 0, 0
    local touch = drawing.touch
    drawing.touch = function(...)
      local before = os.clock()
      touch(...)
      drawing_time, drawn = drawing_time + os.clock() - before, drawn + 1
      M.drawing_time = drawing_time / drawn * 1000
    end
    each_frame('panel_pause', frames, function(number)
      local batch = {}
      for step = 1, steps do
        batch[step] = event('TOKEN', { step = names[step], text = piece(step, number) })
      end
      receive(batch)
    end)
  end
  begin()
end

--- Write the same into a plain scratch buffer, a line a step.
function M.scratch(steps, frames)
  local buf, lines = vim.api.nvim_create_buf(false, true), {}
  vim.cmd.split()
  vim.api.nvim_win_set_buf(0, buf)
  vim.wo.wrap = false
  for step = 1, steps do
    lines[step] = ''
  end
  each_frame('scratch_pause', frames, function(number)
    for step = 1, steps do
      lines[step] = lines[step] .. piece(step, number)
    end
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  end)
end

--- Time the candidates of mentions, and Neovim's own fuzzy search, for each query.
---@param names string[] paths of files
---@param queries string[]
---@return number[][]
function M.complete(names, queries)
  local client = require('tideate.client')
  local request = client.request
  client.request = function(method, params, done)
    if method ~= 'project_names' then
      return request(method, params, done)
    end
    done({ ok = true, root = vim.uv.cwd(), files = table.concat(names, '\n') .. '\n', changed = {} })
  end
  require('tideate.project_files').refresh(assert(vim.uv.cwd()))
  local ours, peer = {}, {}
  for _, query in ipairs(queries) do
    local begun = now()
    local found = require('tideate.mentions').candidates('@' .. query)
    table.insert(ours, now() - begun)
    assert(#found > 0)
    begun = now()
    assert(#vim.fn.matchfuzzy(names, query) > 0) -- with a limit, it would stop at the first matches
    table.insert(peer, now() - begun)
  end
  return { ours, peer }
end

return M
