--- Watch the width of the columns left of a text: the first sign opens one, an option adds another.
local M = {}

local ns = vim.api.nvim_create_namespace('tideate.review.columns')

---@type table<integer, tideate.Overlay> by buffer
local watched = {}

---@type table<integer, true> buffers with a window that is being redrawn
local redrawn = {}

--- The width is right only once all windows are drawn: before, a column that the redraw opens is not counted.
local function compare()
  for buf in pairs(redrawn) do
    local drawn = watched[buf]
    local _, _, _, left = require('tideate.ui.review.hunk_highlights').seen(buf)
    if drawn and left ~= drawn.left then
      drawn:draw_soon()
    end
  end
  redrawn = {}
end

---@param overlay tideate.Overlay
function M.watch(overlay)
  local first = next(watched) == nil
  watched[overlay.buf] = overlay
  if not first then
    return
  end
  vim.api.nvim_set_decoration_provider(ns, {
    on_win = function(_, _, buf)
      redrawn[buf] = watched[buf] and true
    end,
    on_end = compare,
  })
end

---@param overlay tideate.Overlay
function M.unwatch(overlay)
  watched[overlay.buf] = nil
  if next(watched) == nil then
    vim.api.nvim_set_decoration_provider(ns, {})
  end
end

return M
