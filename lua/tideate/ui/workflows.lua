--- The window of the known workflows.
local M = {}

---@type tideate.ui.PageWindow?
local shown
---@type table<integer, string> workflow name by line
local names = {}

---@param workflow tideate.WorkflowInfo
---@return string
local function kind_of(workflow)
  return workflow.kind == 'machine' and 'machine' or ''
end

---@param workflows tideate.WorkflowInfo[]
---@param notices string[]
---@return tideate.ui.Page
local function page_of(workflows, notices)
  local text, lines, widest = require('tideate.ui.text'), {}, 4 ---@type table, tideate.Chunk[][], integer
  names = {}
  for _, workflow in ipairs(workflows) do
    widest = math.max(widest, vim.fn.strdisplaywidth(text.plain(workflow.name)))
  end
  widest = math.min(widest, 24)
  local columns = require('tideate.ui.page_window').columns()
  for _, workflow in ipairs(workflows) do
    local words = text.wrap(workflow.description or '', math.max(20, columns - widest - 25))
    for index, part in ipairs(words) do
      local head = index == 1
      table.insert(lines, {
        { ' ' .. text.pad(head and text.fit(workflow.name, widest) or '', widest) .. '  ', 'TideateTitle' },
        { text.pad(head and text.fit(workflow.source or '', 8) or '', 10) .. text.pad(head and kind_of(workflow) or '', 9), 'TideateHint' },
        { part },
      })
      names[#lines] = workflow.name
    end
  end
  for _, notice in ipairs(notices) do
    for _, part in ipairs(text.wrap(notice, columns - 2)) do
      table.insert(lines, { { ' ' .. part, 'TideateWarning' } })
    end
  end
  return { title = 'workflows', lines = lines }
end

function M.close()
  local it = shown
  if it then
    shown = nil
    require('tideate.ui.page_window').close(it)
  end
end

---@param run fun(name: string)
local function with_name(run)
  return function()
    local name = shown and names[vim.api.nvim_win_get_cursor(shown.win)[1]]
    if name then
      M.close()
      run(name)
    end
  end
end

---@return tideate.Key[]
function M.keys()
  local function key(lhs, word, desc, run)
    return { lhs = lhs, word = word, desc = desc, run = run }
  end
  return {
    key({ '<CR>' }, 'run', 'run the workflow, after the question for its prompt', with_name(function(name)
      require('tideate').run(name)
    end)),
    key({ 'g' }, 'graph', 'draw it', with_name(function(name)
      require('tideate.workflow_lookup').show_graph(name)
    end)),
    key({ 'q', '<Esc>' }, 'close', 'close this window', M.close),
    key({ '?', 'g?' }, 'help', 'this help', function()
      require('tideate.ui.keys').help('workflows', M.keys())
    end),
  }
end

--- Show workflows and notices about unusable ones.
---@param workflows tideate.WorkflowInfo[]
---@param notices string[]
function M.show(workflows, notices)
  local window, page = require('tideate.ui.page_window'), page_of(workflows, notices)
  if not (shown and require('tideate.ui.window').visible(shown.win)) then
    M.close()
    local it
    it = window.open(page, M.keys, {
      closed = function()
        shown = shown ~= it and shown or nil
      end,
    })
    shown = it
  end
  window.draw(shown, page)
end

return M
