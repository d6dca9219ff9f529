--- A confirmation of something that the person began themselves, outside of any run.
local M = {}

local asked = 0

---@class tideate.OwnQuestion
---@field about string what it is about, for the title
---@field doing string what is to be done, for the title
---@field message string
---@field details? string markdown
---@field diff? string what `d` shows
---@field cautious? boolean <CR> is a no

--- Ask; the person just pressed a key or gave a command, so that the next key answers.
---@param question tideate.OwnQuestion
---@param on_yes fun()
function M.yes(question, on_yes)
  asked = asked + 1
  local ui = require('tideate.ui')
  ui.confirm('own' .. asked, {
    execution_id = '',
    workflow = question.about,
    step = question.doing,
    kind = question.cautious and 'override' or 'gate',
    message = question.message,
    details = question.details,
    diff = question.diff,
  }, function(answer)
    if answer.accepted then
      on_yes()
    end
  end, function(err)
    ui.notify(err, vim.log.levels.ERROR)
  end)
  vim.schedule(ui.focus)
end

return M
