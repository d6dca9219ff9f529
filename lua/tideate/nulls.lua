--- Remove nulls of decoded JSON and MessagePack: `vim.NIL` is truthy.
local M = {}

--- Remove nulls from dictionaries in place.
---@generic T
---@param value T
---@return T
function M.drop(value)
  for key, one in pairs(type(value) == 'table' and value or {}) do
    if one == vim.NIL and type(key) == 'string' then
      value[key] = nil
    else
      M.drop(one)
    end
  end
  return value
end

return M
