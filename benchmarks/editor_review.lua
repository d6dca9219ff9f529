-- Stop-watches inside Neovim for benchmarks/editor_review.py: a review of many hunks in many files, and the same
-- text in a plain scratch buffer. Times in milliseconds, memory in MB.
local M = {}

local EVERY = 8 -- lines from one hunk to the next

---@return number clock, number processor
local function now()
  local used = vim.uv.getrusage()
  local spent = used.utime.sec + used.stime.sec + (used.utime.usec + used.stime.usec) / 1e6
  return vim.uv.hrtime() / 1e6, spent * 1e3
end

---@return number
local function memory()
  collectgarbage()
  collectgarbage()
  return vim.uv.resident_set_memory() / 2 ^ 20
end

--- Run a function, what it scheduled, and the drawing of the screen.
---@param act fun()
---@return { clock: number, processor: number }
local function timed(act)
  local clock, processor = now()
  act()
  local done = false
  vim.schedule(function()
    done = true
  end)
  vim.wait(10000, function()
    return done
  end, 1)
  vim.cmd.redraw()
  local clock_after, processor_after = now()
  return { clock = clock_after - clock, processor = processor_after - processor }
end

---@param file integer
---@param line integer
---@return string
local function text(file, line)
  return ('    value_%d = compute(%d, offset=%d)  # what line %d says'):format(line, file, line * 3, line)
end

---@param number integer
---@param hunks integer
---@param loaded boolean
---@return tideate.ReviewFile
local function file(number, hunks, loaded)
  local lines, made = {}, {}
  for line = 1, hunks * EVERY do
    lines[line] = text(number, line)
    if line % EVERY == 1 then
      local new = lines[line]:gsub('compute', 'calculate')
      table.insert(made, { start = line - 1, old = { lines[line] }, new = { new, '    # and one more line' } })
    end
  end
  local path = ('package_%d/module_%d.py'):format(number % 10, number)
  local before = table.concat(lines, '\n')
  local one = { path = path, action = 'modify', filetype = 'python', hunks = made, before = before }
  if loaded then
    one.buffer = vim.api.nvim_create_buf(true, false)
    vim.api.nvim_buf_set_lines(one.buffer, 0, -1, true, lines)
  end
  return one
end

--- Review: open it, decide hunk after hunk, about a file, about all; and what memory grew by.
---@param files integer
---@param hunks integer in each
---@param loaded boolean its files are open in buffers
---@param decisions integer
---@return table<string, any>
function M.review(files, hunks, loaded, decisions)
  local list = {}
  for number = 1, files do
    list[number] = file(number, hunks, loaded)
  end
  local question = { execution_id = ('0'):rep(32), workflow = 'bench', payload = { files = list } }
  local before, review, answered = memory(), nil, false
  local result = {}
  result.open = timed(function()
    review = require('tideate.ui.review').open(question, function()
      answered = true
    end)
    review:focus()
  end)
  result.opened_memory = memory() - before
  result.decisions = {}
  for index = 1, decisions do
    result.decisions[index] = timed(function()
      vim.api.nvim_feedkeys(index % 3 == 0 and 'gr' or 'ga', 'mx', false)
    end)
  end
  result.file = timed(function()
    vim.api.nvim_feedkeys('gfa', 'mx', false)
  end)
  result.revert = timed(function()
    vim.api.nvim_feedkeys('gu', 'mx', false)
  end)
  result.memory = memory() - before
  vim.api.nvim_feedkeys('gA', 'mx', false)
  result.revert_all = timed(function()
    vim.api.nvim_feedkeys('gu', 'mx', false)
  end)
  result.all = timed(function()
    vim.api.nvim_feedkeys('gA', 'mx', false)
    review:finish()
  end)
  assert(answered, 'the review did not end')
  return result
end

--- The same text, before and after, in one scratch buffer, with the same syntax.
---@param files integer
---@param hunks integer
---@return table<string, any>
function M.scratch(files, hunks)
  local lines = {}
  for number = 1, files do
    for line = 1, hunks * EVERY do
      table.insert(lines, text(number, line))
      if line % EVERY == 1 then
        table.insert(lines, (text(number, line):gsub('compute', 'calculate')))
        table.insert(lines, '    # and one more line')
      end
    end
  end
  local before, buf = memory(), nil
  local result = {}
  result.open = timed(function()
    buf = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
    vim.api.nvim_win_set_buf(0, buf)
    vim.bo[buf].syntax = 'python'
  end)
  result.memory = memory() - before
  result.decisions = {}
  for index = 1, 50 do
    result.decisions[index] = timed(function()
      vim.api.nvim_win_set_cursor(0, { index * EVERY, 0 })
      vim.api.nvim_buf_set_lines(buf, index, index + 1, true, { 'a line' })
    end)
  end
  return result
end

return M
