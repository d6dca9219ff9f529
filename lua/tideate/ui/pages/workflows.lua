--- The window of the known workflows.
local M = {}

local key = require('tideate.ui.keys').key

local window ---@type tideate.ui.PageWindow
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
  local columns = require('tideate.ui.pages.window').columns()
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

---@param run fun(name: string)
---@return fun()
local function with_name(run)
  return function()
    local name = names[window:row()]
    if name then
      window:close()
      run(name)
    end
  end
end

window = require('tideate.ui.pages.window').new('workflows', function()
  return {
    key('<CR>', 'run', 'run the workflow, after the question for its prompt', with_name(function(name)
      require('tideate').run(name)
    end)),
    key('g', 'graph', 'draw it', with_name(function(name)
      require('tideate.workflow_lookup').show_graph(name)
    end)),
  }
end)

function M.close()
  window:close()
end

--- Show workflows and notices about unusable ones.
---@param workflows tideate.WorkflowInfo[]
---@param notices string[]
function M.show(workflows, notices)
  window:show({}, page_of(workflows, notices))
end

return M
