--- A guard against keys typed for something else when a question took the focus: they answer nothing.
local M = {}

--- Milliseconds; about what a person needs to see that the window changed.
M.limits = { settle = 500 }

---@class tideate.Guard
---@field until_ms integer? nil: keys count
---@field on_ready fun()
local Guard = {}
Guard.__index = Guard

---@param on_ready fun() keys count from now on, or do not any more: time to draw that
---@return tideate.Guard
function M.new(on_ready)
  return setmetatable({ on_ready = on_ready }, Guard)
end

---@return boolean whether keys count
function Guard:ready()
  vim.uv.update_time()
  return self.until_ms == nil or vim.uv.now() >= self.until_ms
end

--- Let no key count for a while.
function Guard:arm()
  vim.uv.update_time()
  self.until_ms = vim.uv.now() + M.limits.settle
  local mine = self.until_ms
  vim.defer_fn(function()
    if self.until_ms == mine then
      self:release()
    end
  end, M.limits.settle)
end

--- Let keys count at once: the person came here by themselves, or waited.
function Guard:release()
  if self.until_ms then
    self.until_ms = nil
    self.on_ready()
  end
end

--- The keys, each of which counts only when the guard is ready; one that comes too early makes it wait anew.
---@param keys tideate.Key[]
---@return tideate.Key[]
function Guard:wrap(keys)
  return vim.tbl_map(function(key)
    return vim.tbl_extend('force', key, {
      run = function()
        if self:ready() then
          return key.run()
        end
        self:arm()
      end,
    })
  end, keys)
end

--- What is shown instead of the keys meanwhile.
---@type tideate.Chunk
M.HINT = { ' in a moment your keys answer ', 'TideateHint' }

return M
