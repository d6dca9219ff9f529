--- A check of the project on the accepted part of a review, and its result.
local M = {}

local ui = require('tideate.ui')

---@class tideate.ReviewCheck
---@field review tideate.Review
---@field running boolean
---@field result? { check: string, status: string, report: string }
---@field steps integer decisions at the time of the result
local Check = {}
Check.__index = Check

---@param review tideate.Review
---@return tideate.ReviewCheck
function M.new(review)
  return setmetatable({ review = review, running = false, steps = 0 }, Check)
end

--- Return the state of the check for the bar; nil before the first one.
---@return string?
function Check:words()
  if self.running then
    return 'check runs'
  end
  local result = self.result
  if result then
    local earlier = self.steps ~= #self.review.history.past and ' earlier' or ''
    return ('%s %s%s'):format(result.check:gsub('_', ' '), result.status, earlier)
  end
end

--- Show the result of a check.
---@param self tideate.ReviewCheck
---@param steps integer
---@param reply tideate.Result
local function show(self, steps, reply)
  self.running = false
  if self.review.closed then
    return
  elseif reply.checks then
    return self:choose(reply.checks)
  elseif not reply.ok then
    self.review:draw_bars()
    return ui.warn(reply.error or 'the check was not run')
  end
  self.result, self.steps = { check = reply.check, status = reply.status, report = reply.report }, steps
  self.review:draw_bars()
  local tell = reply.status == 'passed' and ui.notify or ui.warn
  tell(reply.report)
end

---@param checks string[]
function Check:choose(checks)
  ui.select(checks, { prompt = 'Run which check on the accepted hunks?' }, function(check)
    if check then
      self:run(check)
    end
  end)
end

--- Run a check on the accepted hunks, without waiting for its end.
---@param check? string without it, the only one or the choice of the user
function Check:run(check)
  if self.running then
    return ui.notify('a check of the accepted hunks is running')
  end
  self.running = true
  local question, steps = self.review.question, #self.review.history.past
  local files = self.review.model:result().value.files
  require('tideate.client').request('check_review', {
    execution_id = question.execution_id,
    files = files,
    check = check,
  }, function(reply)
    show(self, steps, reply)
  end)
  self.review:draw_bars()
end

return M
