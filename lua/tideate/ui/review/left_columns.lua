--- Watch the width of the columns left of the text: a first sign or an option changes it.
local M = {}

local ns = vim.api.nvim_create_namespace('tideate.review.columns')

---@type table<integer, tideate.Overlay> by buffer
local watched = {}

---@type table<integer, true> buffers with a window being redrawn
local redrawn = {}

--- Compare widths once all windows are drawn: the redraw itself may open a column.
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
