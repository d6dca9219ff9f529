--- Error messages about a missing, silent or ended host.
local M = {}

---@class tideate.HostError
---@field error string cause and next action
---@field error_code string

---@return string
local function log()
  return ' Log: ' .. require('tideate.paths').log_path()
end

--- Describe a host that ended or was killed.
---@param code integer from `on_exit`
---@param was_ready boolean
---@param last_words string
---@return tideate.HostError
function M.died(code, was_ready, last_words)
  local how = code > 128 and ('was killed by signal %d'):format(code - 128) or ('ended with code %d'):format(code)
  local when = was_ready and 'The Python host %s.%s' or 'The Python host %s before it was ready.%s'
  local what = was_ready and ' Run the workflow again: that starts a new one; `:Workflow resume` continues interrupted runs.'
    or ' Run `:checkhealth tideate`, and `:Workflow install` if packages are missing.'
  return { error = when:format(how, last_words) .. what .. log(), error_code = 'HostDied' }
end

--- Describe the end of Neovim's shared host, known from its closed channel.
---@return tideate.HostError
function M.closed()
  return {
    error = "Neovim's own Python host has ended. Restart Neovim, or run `:Workflow install`." .. log(),
    error_code = 'HostDied',
  }
end

---@param seconds number
---@param last_words string
---@return tideate.HostError
function M.not_ready(seconds, last_words)
  local text = 'The Python host was not ready within %g s and was ended.%s Run `:checkhealth tideate`.'
  return { error = text:format(seconds, last_words) .. log(), error_code = 'HostNotReady' }
end

---@param seconds number
---@return tideate.HostError
function M.silent(seconds)
  local text = 'The Python host has not answered for %g s and was ended. Run the workflow again: that starts a new one; '
    .. '`:Workflow resume` continues interrupted runs.'
  return { error = text:format(seconds) .. log(), error_code = 'HostDied' }
end

--- Describe a host replaced after a change of options or environment.
---@return tideate.HostError
function M.replaced()
  return { error = 'The Python host was ended to start a new one. Run the workflow again.', error_code = 'HostDied' }
end

--- Describe a deleted working directory.
---@return tideate.HostError
function M.no_directory()
  return {
    error = 'The working directory was deleted; change to another one with `:cd`.',
    error_code = 'NoDirectory',
  }
end

---@return tideate.HostError
function M.no_python()
  return {
    error = 'tideate has no Python environment yet. Run `:Workflow install` (needs Python 3.11 or newer), '
      .. "or set the option 'python' to an interpreter that has tideate's packages.",
    error_code = 'HostMissing',
  }
end

---@param python string
---@param source string source of the interpreter
---@param err string
---@return tideate.HostError
function M.no_interpreter(python, source, err)
  local text = "The Python interpreter '%s' (from %s) cannot be started. Run `:Workflow install`, or correct it. %s"
  return { error = text:format(python, source, err), error_code = 'HostMissing' }
end

return M
