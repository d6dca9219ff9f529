--- `:Workflow pick`: runs, workflows, models and changed files in the user's picker.
local M = {}

local ui = require('tideate.ui')
local editor_context = require('tideate.context')
local pickers = require('tideate.pickers')

local MOST_RUNS = 200
local MOST_LINES = 500 -- of a file in a preview

---@param text string?
---@return string on one line, escaped
local function plain(text)
  return require('tideate.ui.text').plain((vim.trim(text or ''):gsub('%s*\n%s*', ' ')))
end

---@param text string
---@return string[]
local function lines_of(text)
  return require('tideate.ui.text.readable').lines(text)
end

---@param run tideate.StoredRun
---@return tideate.PickItem
local function run_item(run)
  local when = os.date('%Y-%m-%d %H:%M', math.floor(run.started_at / 1000))
  local words = { run.execution_id:sub(1, 8), when, run.workflow, require('tideate.stored_runs').word(run), run.prompt }
  return {
    text = table.concat(vim.tbl_map(plain, words), '  '),
    value = run,
    filetype = 'markdown',
    preview = function()
      local files = vim.tbl_map(function(file)
        return '- ' .. file
      end, run.files or {})
      return lines_of(('# %s, %s\n\n%s\n\n%s\n\n%s'):format(
        run.workflow,
        require('tideate.stored_runs').word(run),
        run.prompt or '',
        run.error and ('Error: ' .. run.error) or '',
        table.concat(files, '\n')
      ))
    end,
  }
end

--- Choose a run of the project, including those of other processes.
---@param fits fun(run: tideate.StoredRun): boolean
---@param at_once fun(runs: tideate.StoredRun[]): boolean take the newest without a choice
---@param on_choice fun(run: tideate.StoredRun)
---@param nothing? string message without a matching run; default: an empty list
function M.choose_run(fits, at_once, on_choice, nothing)
  local params = { limit = MOST_RUNS, folder = editor_context.folder() }
  require('tideate.client').request_or_tell('history', params, function(result)
    local runs = vim.tbl_filter(fits, result.runs)
    if #runs == 0 and nothing then
      return ui.warn(nothing)
    elseif #runs > 0 and at_once(runs) then
      return on_choice(runs[1])
    end
    local items = vim.tbl_map(run_item, runs)
    pickers.open('Runs', items, on_choice)
  end)
end

local function pick_runs()
  M.choose_run(function()
    return true
  end, function()
    return false
  end, function(run)
    require('tideate.ui.pages.run_page').show(run.execution_id)
  end)
end

local function pick_workflows()
  local context = editor_context.capture()
  require('tideate.client').request_or_tell('list', { folder = editor_context.folder() }, function(result)
    local registry = require('tideate.registry')
    registry.set_host_workflows(result.workflows)
    local items = vim.tbl_map(function(workflow)
      return {
        text = ('%s  %s'):format(plain(workflow.name), plain(workflow.description)),
        value = workflow,
        preview = function()
          return lines_of(('%s\n\nSteps: %s'):format(workflow.description or '', table.concat(workflow.steps or {}, ', ')))
        end,
      }
    end, registry.list())
    pickers.open('Workflows', items, function(workflow)
      require('tideate').run(workflow.name, { words = '', context = context })
    end)
  end)
end

---@param run tideate.StoredRun
---@param root string
local function pick_file_of(run, root)
  local items = vim.tbl_map(function(file)
    local path = vim.startswith(file, '/') and file or vim.fs.joinpath(root, file)
    return {
      text = plain(file),
      value = path,
      filetype = vim.filetype.match({ filename = path }),
      preview = function()
        local there = vim.uv.fs_stat(path)
        if not there or there.type ~= 'file' then
          return { 'this file is not there' }
        end
        return lines_of(table.concat(vim.fn.readfile(path, '', MOST_LINES), '\n'))
      end,
    }
  end, run.files)
  local title = ('Files of run %s'):format(run.execution_id:sub(1, 8))
  pickers.open(title, items, function(path)
    vim.cmd.edit(vim.fn.fnameescape(path))
  end)
end

---@param prefix string prefix of a run's id
local function pick_files(prefix)
  local root = require('tideate.ui.prompt.history').project(editor_context.folder())
  local function changed(run)
    return #(run.files or {}) > 0 and vim.startswith(run.execution_id, prefix)
  end
  M.choose_run(changed, function(runs)
    return prefix ~= '' and #runs == 1
  end, function(run)
    pick_file_of(run, root)
  end)
end

---@type table<string, fun(rest: string)>
local KINDS = {
  runs = pick_runs,
  workflows = pick_workflows,
  models = function()
    require('tideate.model_choice').run('')
  end,
  files = pick_files,
}

---@param lead string
---@return string[]
function M.complete(lead)
  local names = vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, vim.tbl_keys(KINDS))
  table.sort(names)
  return names
end

--- Run `:Workflow pick`.
---@param rest string
function M.run(rest)
  local kind, id = rest:match('^(%S*)%s*(.-)$')
  kind = kind == '' and 'runs' or kind
  if not KINDS[kind] or (id ~= '' and kind ~= 'files') then
    local hint = require('tideate.did_you_mean').hint(kind, vim.tbl_keys(KINDS))
    local words = ("`:Workflow pick` takes runs, workflows, models or files, got '%s'%s"):format(rest, hint)
    return ui.fail(words)
  end
  KINDS[kind](id)
end

return M
