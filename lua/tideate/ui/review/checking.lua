--- A check of the project on the accepted part of a review, and its result.
local M = {}

local ui = require('tideate.ui')

---@class tideate.ReviewCheck
---@field review tideate.Review
---@field running boolean
---@field result? { check: string, status: string, report: string }
---@field files table[] decisions on each file that the result is about
local Check = {}
Check.__index = Check

---@param review tideate.Review
---@return tideate.ReviewCheck
function M.new(review)
  return setmetatable({ review = review, running = false, files = {} }, Check)
end

--- Return the last check of a file for its bar; nil without one.
---@param index integer
---@return string?
function Check:words(index)
  if self.running then
    return 'check runs'
  end
  local result = self.result
  if result then
    local now = self.review.model:result().value.files[index]
    local earlier = vim.deep_equal(now, self.files[index]) and '' or ' earlier'
    return ('%s %s%s'):format(result.check:gsub('_', ' '), result.status, earlier)
  end
  return self.review.model.entries[index].file.checked
end

--- Show the result of a check.
---@param self tideate.ReviewCheck
---@param files table[] the checked decisions
---@param reply tideate.Result
local function show(self, files, reply)
  self.running = false
  if self.review.closed then
    return
  elseif reply.checks then
    return self:choose(reply.checks)
  elseif not reply.ok then
    self.review:draw_bars()
    return ui.warn(reply.error or 'the check was not run')
  end
  self.result, self.files = { check = reply.check, status = reply.status, report = reply.report }, files
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
  local question = self.review.question
  local files = self.review.model:result().value.files
  require('tideate.client').request('check_review', {
    execution_id = question.execution_id,
    files = files,
    check = check,
  }, function(reply)
    show(self, files, reply)
  end)
  self.review:draw_bars()
end

return M
