--- Fetches of the inbox every few minutes (`inbox.fetch_minutes`), with a notice about new questions.
local M = {}

--- Milliseconds: a minute of the option, and the wait for the first fetch.
M.limits = { minute = 60000, first = 1000 }

local timer = nil ---@type uv.uv_timer_t?
local current = nil ---@type number? minutes
local is_fetching = false
local seen = {} ---@type table<string, true> keys of questions that were announced
local last_failure = '' -- reported once

--- Warn about a failure, once.
---@param result tideate.Result
local function report_failure(result)
  -- without a repository there is no inbox
  local failure = result.error_code ~= 'WorkspaceError' and result.error or ''
  for _, one in ipairs(result.failed or {}) do
    failure = ('%s\n%s'):format(failure, one.reason)
  end
  failure = vim.trim(failure)
  if failure ~= last_failure and failure ~= '' then
    require('tideate.ui').warn('the inbox was not fetched: ' .. failure)
  end
  last_failure = failure
end

--- Announce new questions.
---@param folder string of the project
local function announce(folder)
  local inbox = require('tideate.inbox')
  local questions = inbox.open_questions(inbox.known(folder))
  local new = vim.tbl_filter(function(one)
    return not seen[inbox.key(one)]
  end, questions)
  M.note_seen(folder)
  if #new > 0 then
    require('tideate.ui').notify(require('tideate.ui.inbox_words').news(new))
    vim.api.nvim_exec_autocmds('User', {
      pattern = 'TideateInboxReceived',
      data = { new = #new, waiting = #questions },
      modeline = false,
    })
  end
end

--- Record the known questions, so that they are not announced again.
---@param folder string of the project
function M.note_seen(folder)
  local inbox = require('tideate.inbox')
  for _, one in ipairs(inbox.open_questions(inbox.known(folder))) do
    seen[inbox.key(one)] = true
  end
end

local function fetch()
  if is_fetching or #vim.api.nvim_list_uis() == 0 or vim.fn.getcwd() == '' then
    return
  end
  local folder = require('tideate.context').folder()
  is_fetching = true
  require('tideate.inbox').fetch(folder, {}, function(result)
    is_fetching = false
    report_failure(result)
    if result.ok then
      announce(folder)
    end
  end)
end

--- Fetch every few minutes from now on.
---@param minutes? number nil: stop
function M.every(minutes)
  if minutes == current then
    return
  end
  current = minutes
  if timer then
    timer:stop()
    timer:close()
    timer = nil
  end
  if minutes then
    timer = assert(vim.uv.new_timer())
    timer:start(M.limits.first, math.max(1, math.floor(minutes * M.limits.minute)), vim.schedule_wrap(fetch))
  end
end

return M
