--- Errors about a missing, silent or ended host.
local M = {}

---@class tideate.HostError
---@field error string cause and next action
---@field error_code string

local AGAIN = ' Run the workflow again: that starts a new one; `:Workflow resume` continues interrupted runs.'

---@type table<string, { [1]: string, [2]: string, log: boolean? }> code and words; whether the log says more
local ERRORS = {
  died = { 'HostDied', 'The Python host %s.%s' .. AGAIN, log = true },
  died_early = {
    'HostDied',
    'The Python host %s before it was ready.%s Run `:checkhealth tideate`, and `:Workflow install` if packages are missing.',
    log = true,
  },
  closed = { 'HostDied', "Neovim's own Python host has ended. Restart Neovim, or run `:Workflow install`.", log = true },
  not_ready = {
    'HostNotReady',
    'The Python host was not ready within %g s and was ended.%s Run `:checkhealth tideate`.',
    log = true,
  },
  silent = { 'HostDied', 'The Python host has not answered for %g s and was ended.' .. AGAIN, log = true },
  replaced = { 'HostDied', 'The Python host was ended to start a new one. Run the workflow again.' },
  no_directory = { 'NoDirectory', 'The working directory was deleted; change to another one with `:cd`.' },
  no_python = {
    'HostMissing',
    'tideate has no Python environment yet. Run `:Workflow install` (needs Python 3.11 or newer), '
      .. "or set the option 'python' to an interpreter that has tideate's packages.",
  },
  no_interpreter = {
    'HostMissing',
    "The Python interpreter '%s' (from %s) cannot be started. Run `:Workflow install`, or correct it. %s",
  },
}

--- Return an error.
---@param name string
---@param ... any parts of its words
---@return tideate.HostError
function M.of(name, ...)
  local kind = ERRORS[name]
  local log = kind.log and ' Log: ' .. require('tideate.paths').log_path() or ''
  return { error = kind[2]:format(...) .. log, error_code = kind[1] }
end

--- Describe a host that ended or was killed.
---@param code integer from `on_exit`
---@param was_ready boolean
---@param last_words string
---@return tideate.HostError
function M.died(code, was_ready, last_words)
  local how = code > 128 and ('was killed by signal %d'):format(code - 128) or ('ended with code %d'):format(code)
  return M.of(was_ready and 'died' or 'died_early', how, last_words)
end

return M
