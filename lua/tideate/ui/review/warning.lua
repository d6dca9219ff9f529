--- The warning above the hunks of a file that other tools execute.
local M = {}

local drawn = vim.api.nvim_create_namespace('tideate.review')

---@param overlay tideate.Overlay
---@param width integer
---@return tideate.Chunk[][]
local function lines_of(overlay, width)
  local reason = overlay.entry.danger
  return reason and require('tideate.ui.executed_files').above(reason, width) or {}
end

--- Return the number of virtual lines above the first line of the buffer.
---@param overlay tideate.Overlay
---@param row integer of the hunk
---@param hunk tideate.Hunk?
---@return integer
function M.above(overlay, row, hunk)
  if row ~= 0 then
    return 0
  end
  local _, width = require('tideate.ui.review.hunk_highlights').seen(overlay.buf)
  local added = hunk and not overlay.creates and #hunk.old == 0 and #hunk.new or 0
  return #lines_of(overlay, width) + added
end

--- Warn above each visible hunk; above the first line if the file has none.
---@param overlay tideate.Overlay
---@param hunks { [1]: tideate.Hunk, [2]: string }[]
---@param width integer
function M.draw(overlay, hunks, width)
  local lines = lines_of(overlay, width)
  local last = vim.api.nvim_buf_line_count(overlay.buf) - 1
  local rows = {} ---@type table<integer, boolean>
  for _, one in ipairs(hunks) do
    rows[overlay.creates and 0 or math.min(overlay:row(one[1]), last)] = true
  end
  if not next(rows) and #overlay.entry.units == 1 and #overlay.entry.units[1].hunks == 0 then
    rows[0] = true -- only moved
  end
  for row in pairs(#lines > 0 and rows or {}) do
    vim.api.nvim_buf_set_extmark(overlay.buf, drawn, row, 0, {
      virt_lines = lines,
      virt_lines_above = true,
      virt_lines_leftcol = true,
      strict = false,
    })
  end
end

return M
