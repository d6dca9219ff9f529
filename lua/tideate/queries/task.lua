--- Life of one query of the host: answered once, within its time limit, then cleaned up; never blocks.
local M = {}

local SLICE = 4 -- milliseconds of work in a row, a part of a frame
local LONGEST = 120000 -- milliseconds
local LAST = 1000 -- milliseconds to answer with a partial result

---@class tideate.Task
---@field waits_for string pending work, named in the timeout message
---@field at_limit? fun(): boolean called at the time limit; true: it answers with a partial result
---@field private cleanups fun()[]
---@field private timer uv.uv_timer_t
---@field private respond fun(result: any)
---@field private refuse fun(err: string)
---@field private ended boolean
local Task = {}
Task.__index = Task

---@param limit any milliseconds
---@param respond fun(result: any)
---@param refuse fun(err: string)
---@return tideate.Task
function M.new(limit, respond, refuse)
  limit = math.max(1, math.min(tonumber(limit) or 10000, LONGEST))
  local task = setmetatable({ waits_for = 'the answer', cleanups = {}, ended = false }, Task)
  task.respond, task.refuse = respond, refuse
  task.timer = assert(vim.uv.new_timer())
  task:expire_after(limit, function()
    local at_limit = task.at_limit
    task.at_limit = nil
    local too_late = ('%s: no answer within %g s; try again later, or continue without it'):format(
      task.waits_for,
      limit / 1000
    )
    if not at_limit or not at_limit() then
      task:fail(too_late)
    elseif not task.ended then
      task:expire_after(LAST, function()
        task:fail(too_late)
      end)
    end
  end)
  return task
end

---@private
---@param milliseconds number
---@param fn fun()
function Task:expire_after(milliseconds, fn)
  self.timer:start(math.floor(milliseconds), 0, vim.schedule_wrap(self:guard(fn)))
end

--- End the task and run all cleanups, last first, even if one fails.
---@private
---@return boolean whether it was still active
function Task:finish()
  if self.ended then
    return false
  end
  self.ended = true
  self.timer:stop()
  self.timer:close()
  for index = #self.cleanups, 1, -1 do
    local ok, err = xpcall(self.cleanups[index], debug.traceback)
    if not ok then
      require('tideate.paths').log('a query was not tidied up: ' .. err)
    end
  end
  return true
end

---@param result any
function Task:done(result)
  if self:finish() then
    self.respond(result)
  end
end

---@param err string
function Task:fail(err)
  if self:finish() then
    self.refuse(err)
  end
end

--- Cancel the task.
function Task:cancel()
  self:finish()
end

---@return boolean
function Task:is_over()
  return self.ended
end

---@param cleanup fun() called at any end
function Task:on_end(cleanup)
  if self.ended then
    return cleanup()
  end
  table.insert(self.cleanups, cleanup)
end

--- Wrap a callback: it does nothing after the end, and its error fails the task.
---@param fn function
---@return function
function Task:guard(fn)
  return function(...)
    if self.ended then
      return
    end
    local ok, err = xpcall(fn, debug.traceback, ...)
    if not ok then
      require('tideate.paths').log(err)
      self:fail('the editor failed: ' .. tostring(err):match('[^\n]*'))
    end
  end
end

--- Call back after a delay, unless the task ends before.
---@param milliseconds integer
---@param fn fun()
function Task:later(milliseconds, fn)
  vim.defer_fn(self:guard(fn), milliseconds)
end

--- Process items in slices, so that the editor stays responsive.
---@generic T
---@param items T[]
---@param fn fun(item: T): boolean? true: stop
---@param finish fun()
function Task:each(items, fn, finish)
  local index = 0
  local function go_on()
    local stop = vim.uv.hrtime() + SLICE * 1e6
    while index < #items and vim.uv.hrtime() < stop do
      index = index + 1
      if fn(items[index]) then
        index = #items
      end
    end
    if index < #items then
      return self:later(1, go_on)
    end
    finish()
  end
  self:guard(go_on)()
end

---@param event string|string[]
---@param options table<string, any> of `nvim_create_autocmd()`; removed when the task ends
function Task:autocmd(event, options)
  options.callback = self:guard(options.callback)
  local id = vim.api.nvim_create_autocmd(event, options)
  self:on_end(function()
    pcall(vim.api.nvim_del_autocmd, id)
  end)
end

return M
