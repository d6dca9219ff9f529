--- End of a landing: rejections and comments for the next prompt of the guarded program.
local M = {}

local ui = require('tideate.ui')

--- Put the reasons of a landing into the clipboard, or into the unnamed register if there is no clipboard.
---@param result tideate.RunResult
function M.hand_over(result)
  local landed = (result.results or {}).update or {}
  local feedback = landed.feedback or ''
  if feedback == '' then
    return
  end
  local register = vim.fn.has('clipboard') == 1 and '+' or '"'
  vim.fn.setreg(register, feedback)
  local file = landed.feedback_file and (' and in %s of the copy'):format(landed.feedback_file) or ''
  ui.notify(('your decisions for the next prompt are in register %s%s'):format(register, file))
end

return M
