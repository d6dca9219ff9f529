--- Confirmation of an action that the user started outside of any run.
local M = {}

local ui = require('tideate.ui')

local asked = 0

---@class tideate.OwnQuestion
---@field about string subject, for the title
---@field doing string action, for the title
---@field message string
---@field details? string markdown
---@field expanded? boolean the details are shown at once
---@field diff? string patch that `d` shows
---@field cautious? boolean <CR> means no

--- Ask; the question takes the focus at once if nothing was typed since the key or command.
---@param question tideate.OwnQuestion
---@param on_yes fun()
---@param expecting? tideate.ui.Expecting since the key or command; nil: just now
function M.yes(question, on_yes, expecting)
  asked = asked + 1
  ui.confirm('own' .. asked, {
    execution_id = '',
    workflow = question.about,
    step = question.doing,
    kind = question.cautious and 'override' or 'gate',
    message = question.message,
    details = question.details,
    expanded = question.expanded,
    diff = question.diff,
  }, function(answer)
    if answer.accepted then
      on_yes()
    end
  end, function(err)
    ui.fail(err)
  end)
  if not expecting or expecting.free() then
    vim.schedule(ui.focus)
  end
end

--- Ask whether to decline the work of a run, and why. Every answer but a yes returns to its question.
---@param question {about: string, back: string, decline: string, unchanged: boolean?} subject, labels of the
--- answers, and whether it has no work of the user's: then it is declined at once
---@param is_open fun(): boolean whether the question of the run still waits
---@param on_decline fun(reason: string?)
function M.decline(question, is_open, on_decline)
  if question.unchanged then
    return on_decline()
  end
  local without, with = question.decline, question.decline .. ', because …'
  ui.select({ question.back, without, with }, {
    prompt = ('%s: %s?'):format(question.about, question.decline),
    kind = 'tideate.decline',
  }, function(choice)
    if not is_open() or not choice or choice == question.back then
      return
    elseif choice == without then
      return on_decline()
    end
    vim.ui.input({ prompt = 'Because: ' }, function(text)
      if text and is_open() then
        on_decline(vim.trim(text) ~= '' and vim.trim(text) or nil)
      end
    end)
  end)
end

return M
