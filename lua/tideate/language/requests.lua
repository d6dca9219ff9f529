--- Requests to the host about workflow texts, with one notice if there is no host.
local M = {}

local api = vim.api

--- Errors that a retry cannot fix.
local LASTING = { HostMissing = true, HostNotReady = true, ConfigError = true }

local missing = false
---@type table<string, boolean>
local notified = {}

---@param result tideate.Result
local function notify_once(result)
  -- mistakes in a text are not the host's trouble
  if result.cancelled or result.error_code == 'InvalidWorkflowFile' or notified[result.error] then
    return
  end
  notified[result.error] = true
  local text = '.workflow files are shown without checks and completion. ' .. tostring(result.error)
  require('tideate.ui').warn(text)
end

--- Return whether a request makes sense: a host that failed to start is not started again.
---@return boolean
function M.available()
  return not missing or require('tideate.host').state() == 'ready'
end

--- Allow a start of the host again, for example after a file was opened.
function M.retry()
  missing = false
end

--- Send a request.
---@param method 'machine_check'|'definition_check'|'machine_outline'|'machine_format'
---@param params table<string, any>
---@param callback fun(result: tideate.Result) called once, after this returns
function M.ask(method, params, callback)
  require('tideate.client').request(method, params, function(result)
    missing = not result.ok and (LASTING[result.error_code] or not require('tideate.paths').python())
    if not result.ok and vim.v.exiting == vim.NIL then
      notify_once(result)
    end
    callback(result)
  end)
end

--- Return whether a buffer is blank.
---@param buf integer
---@return boolean
function M.is_blank(buf)
  for row = 0, api.nvim_buf_line_count(buf) - 1 do
    if api.nvim_buf_get_lines(buf, row, row + 1, true)[1]:find('%S') then
      return false
    end
  end
  return true
end

--- Size limit of the host for workflow files.
local MAX_BYTES = 1024 * 1024

---@param buf integer loaded
---@return boolean
function M.too_large(buf)
  return api.nvim_buf_get_offset(buf, api.nvim_buf_line_count(buf)) > MAX_BYTES
end

--- Return the text of a buffer as written to disk; nil if it cannot be a workflow file.
---@param buf integer
---@return string? text, string? reason
function M.text(buf)
  if M.too_large(buf) then
    return nil, 'this text is larger than 1 MiB; a .workflow file is not'
  end
  local lines = api.nvim_buf_get_lines(buf, 0, -1, false)
  if require('tideate.context').is_binary(lines) then
    return nil, 'this is no UTF-8 text'
  end
  return table.concat(lines, '\n') .. '\n'
end

return M
