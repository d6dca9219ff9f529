--- Diagnostics of a workflow buffer while it is edited.
local M = {}

local api = vim.api

M.namespace = api.nvim_create_namespace('tideate.language')

--- Milliseconds without a change before a check.
M.pause = 150

---@class tideate.HostDiagnostic 1-based columns in characters
---@field line integer
---@field column integer
---@field end_line? integer default: the same line
---@field end_column integer exclusive
---@field severity 'error'|'warning'|'hint'
---@field code string
---@field message string

---@type table<integer, uv.uv_timer_t>
local timers = {}
---@type table<integer, true> buffers with YAML or JSON definitions
local definitions = {}

local SEVERITY = {
  error = vim.diagnostic.severity.ERROR,
  warning = vim.diagnostic.severity.WARN,
  hint = vim.diagnostic.severity.HINT,
}

---@param buf integer
---@param found tideate.HostDiagnostic
---@return vim.Diagnostic
local function diagnostic(buf, found)
  local columns = require('tideate.language.columns')
  local row, first = columns.place(buf, found)
  local end_row, last = columns.place(buf, { line = found.end_line or found.line, column = found.end_column })
  -- a missing part after the last line is shown on that line
  row = math.min(row, api.nvim_buf_line_count(buf) - 1)
  end_row = math.max(row, math.min(end_row, api.nvim_buf_line_count(buf) - 1))
  return {
    lnum = row,
    end_lnum = end_row,
    col = first,
    end_col = end_row > row and last or math.max(first, last),
    severity = SEVERITY[found.severity],
    code = found.code,
    message = found.message,
    source = 'tideate',
  }
end

---@param buf integer
---@param reason string why the text is not sent to the host
---@return vim.Diagnostic[]
local function no_text(buf, reason)
  local first = { lnum = 0, col = 0, severity = SEVERITY.error, message = reason, source = 'tideate' }
  if require('tideate.language.requests').too_large(buf) then
    return { first }
  end
  for row, line in ipairs(api.nvim_buf_get_lines(buf, 0, -1, false)) do
    if require('tideate.context').is_binary({ line }) then
      local message = 'this line is not UTF-8 text; the file of a workflow is'
      return { vim.tbl_extend('force', first, { lnum = row - 1, end_col = #line, message = message }) }
    end
  end
  return { first }
end

--- Check a buffer now.
---@param buf integer
function M.run(buf)
  local ask = require('tideate.language.requests')
  if not api.nvim_buf_is_loaded(buf) or not ask.available() then
    return
  end
  if ask.is_blank(buf) then
    return vim.diagnostic.set(M.namespace, buf, {}) -- an empty file has no mistakes yet
  end
  local text, reason = ask.text(buf)
  if not text then
    return vim.diagnostic.set(M.namespace, buf, no_text(buf, reason --[[@as string]]))
  end
  local tick = api.nvim_buf_get_changedtick(buf)
  local path = api.nvim_buf_get_name(buf)
  local name = vim.fn.fnamemodify(path, ':t:r')
  local method, params = 'machine_check', { text = text, name = name }
  if definitions[buf] then
    method, params = 'definition_check', { text = text, path = path, folder = vim.fs.dirname(path) }
  end
  ask.ask(method, params, function(result)
    local stale = not timers[buf] or not api.nvim_buf_is_loaded(buf)
    if stale or not result.ok or api.nvim_buf_get_changedtick(buf) ~= tick then
      return
    end
    vim.diagnostic.set(M.namespace, buf, vim.tbl_map(function(found)
      return diagnostic(buf, found)
    end, result.diagnostics))
  end)
end

---@param buf integer
local function later(buf)
  timers[buf]:start(M.pause, 0, vim.schedule_wrap(function()
    if timers[buf] then
      M.run(buf)
    end
  end))
end

--- Prefer the sign of an error over that of a warning, unless the user configured an order.
local function errors_first()
  if not vim.diagnostic.config().severity_sort then
    vim.diagnostic.config({ severity_sort = true }, M.namespace)
  end
end

--- Check a buffer now and after every change.
---@param buf integer
---@param definition? boolean a YAML or JSON definition
function M.start(buf, definition)
  definitions[buf] = definition
  if not timers[buf] then
    errors_first()
    timers[buf] = assert(vim.uv.new_timer())
    local timer = timers[buf]
    local function changed()
      if timers[buf] ~= timer then
        return true -- stop watching
      end
      later(buf)
    end
    api.nvim_buf_attach(buf, false, {
      on_lines = changed,
      on_reload = changed,
      on_detach = function()
        vim.schedule(function()
          M.stop(buf)
        end)
      end,
    })
  end
  M.run(buf)
end

--- Stop checking a buffer and remove its diagnostics.
---@param buf integer
function M.stop(buf)
  if timers[buf] then
    timers[buf]:stop()
    timers[buf]:close()
    timers[buf] = nil
  end
  if api.nvim_buf_is_valid(buf) then
    vim.diagnostic.reset(M.namespace, buf)
  end
end

return M
