--- Failures of checks and runs as diagnostics of buffers.
--- A run that starts on a file clears the file's; a check replaces its earlier ones; an ended run clears those of other
--- runs in the files it wrote.
local M = {}

local MOST = 1000 -- kept failures
local namespace = vim.api.nvim_create_namespace('tideate')

---@type table<string, string> names instead of values: loading `vim.diagnostic` is slow
local SEVERITIES = { E = 'ERROR', W = 'WARN', I = 'INFO', N = 'HINT' }

---@class tideate.PlacedFailure
---@field path string absolute
---@field name string check or gate
---@field root string root of the run's project
---@field run string
---@field entry table<string, any>

---@type tideate.PlacedFailure[]
local placed = {}

---@param path string
---@return string
local function normal(path)
  return vim.fs.normalize(path)
end

---@param run string
---@return string
local function root_of(run)
  local status = require('tideate.state').get_status(run)
  return status and status.root or ''
end

---@param buf integer
---@param entry table<string, any>
---@return integer column 0-based, in bytes
local function column(buf, entry)
  local characters = math.max((tonumber(entry.col) or 0) - 1, 0)
  local line = vim.api.nvim_buf_is_loaded(buf)
      and vim.api.nvim_buf_get_lines(buf, entry.lnum - 1, entry.lnum, false)[1]
  local bytes = line and vim.fn.byteidx(line, characters) or characters
  return bytes >= 0 and bytes or #line
end

---@param failure tideate.PlacedFailure
---@param buf integer
---@return vim.Diagnostic
local function diagnostic(failure, buf)
  local entry = failure.entry
  local lines = vim.split(entry.text or '', '\n', { plain = true })
  local line = math.max(tonumber(entry.lnum) or 1, 1)
  return {
    lnum = line - 1,
    col = column(buf, { lnum = line, col = entry.col }),
    severity = vim.diagnostic.severity[SEVERITIES[entry.type] or 'ERROR'],
    message = table.concat(vim.tbl_map(require('tideate.ui.text').plain, lines), '\n'),
    source = 'tideate: ' .. failure.name,
    code = entry.code ~= '' and entry.code or nil,
    user_data = { tideate = { run = failure.run } },
  }
end

---@param paths table<string, true>
local function show(paths)
  for path in pairs(paths) do
    local buf = vim.fn.bufadd(path)
    local found = vim.tbl_map(function(failure)
      return diagnostic(failure, buf)
    end, vim.tbl_filter(function(failure)
      return failure.path == path
    end, placed))
    vim.diagnostic.set(namespace, buf, found)
  end
end

--- Remove matching failures and return their paths.
---@param fits fun(failure: tideate.PlacedFailure): boolean
---@return table<string, true> paths
local function take_out(fits)
  local paths = {}
  placed = vim.tbl_filter(function(failure)
    local out = fits(failure)
    if out then
      paths[failure.path] = true
    end
    return not out
  end, placed)
  return paths
end

--- Replace the failures of a check or gate in this project.
---@param name string
---@param run string
---@param entries table<string, any>[] of `setqflist()`, with absolute paths
function M.replace(name, run, entries)
  local root = root_of(run)
  local paths = take_out(function(failure)
    return failure.name == name and failure.root == root
  end)
  for _, entry in ipairs(entries) do
    local path = type(entry.filename) == 'string' and entry.filename ~= '' and normal(entry.filename)
    if path and #placed < MOST then
      table.insert(placed, { path = path, name = name, root = root, run = run, entry = entry })
      paths[path] = true
    end
  end
  show(paths)
end

--- Clear the failures of a file when a run starts on it.
---@param path string absolute; empty without a file
function M.begin(path)
  path = path ~= '' and normal(path) or path
  show(take_out(function(failure)
    return failure.path == path
  end))
end

--- Clear the failures of other runs in the files that an ended run wrote.
---@param run string
---@return table<string, true> written files, absolute
function M.ended(run)
  local status, written = require('tideate.state').get_status(run), {}
  for _, file in ipairs(status and status.files or {}) do
    local absolute = vim.startswith(file, '/') and file or vim.fs.joinpath(status.root or '', file)
    written[normal(absolute)] = true
  end
  show(take_out(function(failure)
    return written[failure.path] == true and failure.run ~= run
  end))
  return written
end

return M
