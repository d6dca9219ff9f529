--- Watch the width of the columns left of a text: the first sign opens one, an option adds another.
local M = {}

local ns = vim.api.nvim_create_namespace('tideate.review.columns')

---@type table<integer, tideate.Overlay> by buffer
local watched = {}

---@param overlay tideate.Overlay
function M.watch(overlay)
  local first = next(watched) == nil
  watched[overlay.buf] = overlay
  if not first then
    return
  end
  vim.api.nvim_set_decoration_provider(ns, {
    on_win = function(_, win, buf)
      local drawn = watched[buf]
      if drawn and vim.fn.getwininfo(win)[1].textoff ~= drawn.left then
        drawn:draw_soon()
      end
    end,
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
