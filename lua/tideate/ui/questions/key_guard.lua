--- Ignore keys for a moment after a question takes the focus: they were typed for something else.
local M = {}

--- Milliseconds to notice the new window.
M.limits = { settle = 500 }

---@class tideate.Guard
---@field until_ms integer? nil: keys count
---@field on_ready fun()
local Guard = {}
Guard.__index = Guard

---@param on_ready fun() redraws the keys, or the hint in their place
---@return tideate.Guard
function M.new(on_ready)
  return setmetatable({ on_ready = on_ready }, Guard)
end

---@return boolean whether keys answer
function Guard:ready()
  vim.uv.update_time()
  return self.until_ms == nil or vim.uv.now() >= self.until_ms
end

--- Ignore keys for a while.
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

--- Accept keys at once: the user came here on purpose, or waited.
function Guard:release()
  if self.until_ms then
    self.until_ms = nil
    self.on_ready()
  end
end

--- Wrap keys so that they act only when the guard is ready; an early key restarts the delay.
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

--- Hint in place of the keys during the delay.
---@type tideate.Chunk
M.HINT = { ' in a moment your keys answer ', 'TideateHint' }

return M
