--- Find workflows by name or file and complete them; put a workflow file's mistakes into the quickfix list.
local M = {}

local definitions = require('tideate.language.definitions')
local paths = require('tideate.paths')
local ui = require('tideate.ui')

--- Return whether a word names a file.
---@param name string
---@return boolean
function M.is_path(name)
  return definitions.is_definition(name) or name:find('/', 1, true) ~= nil or vim.endswith(name, '.workflow')
end

--- Return a name unchanged, a file with its absolute path.
---@param name string
---@return string
function M.resolve(name)
  return M.is_path(name) and vim.fn.fnamemodify(vim.fs.normalize(name), ':p') or name
end

--- Return the shown name of a workflow given by file.
---@param name string
---@return string
function M.label(name)
  return M.is_path(name) and vim.fn.fnamemodify(name, ':t:r') or name
end

--- Complete workflow files; directories only in a path.
---@param lead string
---@return string[] paths escaped for `:Workflow`
function M.files(lead)
  local in_path = lead:find('[/~.]') ~= nil
  local found = require('tideate.file_completion').complete((lead:gsub('\\(.)', '%1')), function(path)
    local is_machine = vim.endswith(path, '.workflow') or vim.fs.basename(path) == 'PLANNER'
    return is_machine or definitions.is_kept(path) or in_path and vim.endswith(path, '/')
  end)
  return vim.tbl_map(function(path)
    return (path:gsub('[ \t\\]', '\\%0'))
  end, found)
end

--- Return the names of the workflow files of project and user, even before the host has read them.
---@return string[]
function M.found()
  local root = paths.project(require('tideate.context').folder())
  local names = {}
  for _, folder in ipairs({ paths.user_workflows(), root and vim.fs.joinpath(root, '.tideate', 'workflows') }) do
    for file, kind in vim.fs.dir(folder) do
      local name, extension = file:match('^([%a_][%w_.-]*)%.(%w+)$')
      local is_workflow = extension == 'workflow' or definitions.is_definition(file)
      if name and is_workflow and kind ~= 'directory' and not require('tideate.command').reserved(name) then
        names[name] = true
      end
    end
  end
  return vim.tbl_keys(names)
end

--- Merge words, sorted and without duplicates.
---@param words string[]
---@param more string[]
---@return string[] words sorted, each once
function M.merge(words, more)
  local all = vim.list_extend(vim.list_slice(words), more)
  table.sort(all)
  return vim.fn.uniq(all)
end

--- Complete names and files of workflows.
---@param lead string
---@return string[]
function M.complete(lead)
  local names = {}
  for _, workflow in ipairs(require('tideate.registry').list()) do
    table.insert(names, workflow.name)
  end
  return vim.list_extend(M.merge(names, M.found()), M.files(lead))
end

---@param message string with lines like `FILE:LINE:COLUMN: severity: text`
---@return table[] items of a quickfix list
local function mistakes(message)
  local items = {}
  for _, line in ipairs(vim.split(message, '\n', { plain = true })) do
    local path, row, column, severity, text = line:match('^(/.-):(%d+):(%d+): (%a+): (.+)$')
    if not path then -- definitions report errors only
      path, row, column, text = line:match('^(/.-):(%d+):(%d+): (.+)$')
      severity = 'error'
    end
    if path then
      local place = { filename = path, lnum = tonumber(row), col = tonumber(column) }
      table.insert(items, vim.tbl_extend('force', place, { text = text, type = severity:sub(1, 1):upper() }))
    end
  end
  return items
end

--- Put the mistakes of a message into the quickfix list, if it has any.
---@param message string
function M.list_mistakes(message)
  local items = mistakes(message)
  if #items == 0 then
    return
  end
  local path = items[1].filename
  local ok, lines = pcall(vim.fn.readfile, path)
  for _, item in ipairs(items) do
    -- the host counts characters, the list bytes; a byte order mark is not part of the text
    local line = (ok and lines[item.lnum] or ''):gsub('^\239\187\191', '')
    item.col = require('tideate.language.columns').byte(line, item.col) + 1
  end
  vim.fn.setqflist({}, ' ', { title = 'Mistakes of ' .. vim.fn.fnamemodify(path, ':t'), items = items })
end

--- Add a suggestion to the error of an unknown workflow, including subcommands, which the host does not know.
---@param failure { error?: string, error_code?: string }
function M.suggest(failure)
  if not failure or failure.error_code ~= 'UnknownWorkflow' then
    return
  end
  local name, known = failure.error:match("^unknown workflow '([^']*)'.- %(known: (.*)%)$")
  if not name then
    return
  end
  local words = vim.tbl_map(function(command)
    return command.name
  end, require('tideate.command').subcommands)
  local hint = require('tideate.did_you_mean').hint(name, vim.list_extend(words, vim.split(known, ', ', { plain = true })))
  failure.error = ("unknown workflow '%s'%s (known: %s)"):format(name, hint, known)
end

--- Shorten a message to its first mistake.
---@param message string
---@return string
function M.brief(message)
  local count = #mistakes(message)
  if count == 0 then
    return message
  end
  local first = vim.split(message, '\n', { plain = true })[1]
  return count == 1 and first or ('%s (and %d more; :copen lists them)'):format(first, count - 1)
end

--- Warn that a workflow file has unsaved changes, which do not run.
---@param path string
function M.warn_if_unsaved(path)
  local buf = vim.fn.bufnr('^' .. vim.fn.escape(path, '^$.*?[]{},\\') .. '$')
  if buf > 0 and vim.bo[buf].modified then
    local text = ('%s has changes that are not saved; the saved text runs'):format(vim.fn.fnamemodify(path, ':~:.'))
    ui.warn(text)
  end
end

---@param name? string default: the newest run
---@return tideate.GraphSource?
local function source_of(name)
  name = name and M.resolve(name)
  local run = vim.iter(require('tideate.state').active()):find(function(one)
    return not name or one.asked == name or one.name == name
  end)
  return run and { name = run.asked, execution_id = run.execution_id, obfuscate = run.obfuscate } or name and { name = name }
end

--- Return an error if a file does not exist.
---@param name string
---@return string?
local function missing(name)
  if not M.is_path(name) or vim.uv.fs_stat(M.resolve(name)) then
    return nil
  end
  local folder = vim.fn.fnamemodify(name, ':h')
  local files = vim.tbl_map(function(file)
    return (file:gsub('\\(.)', '%1'))
  end, M.files(folder == '.' and '' or folder .. '/'))
  return ('no such file: %s%s'):format(name, require('tideate.did_you_mean').hint(name, files))
end

--- Draw a workflow: the named one, else that of the buffer, else that of the newest run, else ask for one.
---@param name string may be empty
function M.show_graph(name)
  local graph, buf = require('tideate.ui.graph'), require('tideate.context').current()
  if name ~= '' then
    name = name:gsub('\\(.)', '%1')
    local problem = missing(name)
    if problem then
      return ui.fail(problem)
    end
    return graph.open(source_of(name))
  end
  local drawable = vim.bo[buf].filetype == 'workflow' or definitions.is_kept(vim.api.nvim_buf_get_name(buf))
  local source = drawable and { buf = buf } or source_of()
  if source then
    return graph.open(source)
  end
  vim.ui.input({ prompt = 'Draw which workflow? ', completion = "customlist,v:lua.require'tideate.workflow_lookup'.complete" }, function(typed)
    if typed and typed:find('%S') then
      graph.open(source_of(vim.trim(typed)))
    end
  end)
end

return M
