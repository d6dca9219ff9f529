--- Reasoning of a model: folded and dimmed in the transcript, not part of the answer.
local M = {}

local parallel_steps = require('tideate.ui.transcript.parallel_steps')

local MARK = '┆'
local BETWEEN = 100 -- milliseconds between two updates of its size
local MOST = 100000 -- bytes kept per turn

--- Events that end the reasoning of a step.
---@type table<string, true>
local ENDS = {
  SD_EVENT_TOKEN = true,
  SD_EVENT_TOOL_CALLED = true,
  SD_EVENT_MODEL_ANSWERED = true,
  SD_EVENT_STEP_EXECUTED = true, -- of a list item
  SD_EVENT_STEP_COMPLETED = true,
  SD_EVENT_STEP_FAILED = true,
  SD_EVENT_STEP_RETRYING = true,
  SD_EVENT_WORKFLOW_COMPLETED = true,
  SD_EVENT_WORKFLOW_FAILED = true,
  SD_EVENT_WORKFLOW_CANCELLED = true,
}

---@class tideate.ui.Reasoning
---@field pieces string[]
---@field size integer bytes
---@field drawn integer milliseconds

---@param size integer
---@return string
local function head(size)
  return ('reasoning (%s)'):format(require('tideate.ui.transcript.tool_calls').size_words(size))
end

---@type table<string, tideate.ui.Writer>
M.writers = {
  SD_EVENT_REASONING = function(entry, data, run)
    local step = data.step or ''
    entry.reasoning[step] = entry.reasoning[step] or { pieces = {}, size = 0, drawn = 0 }
    local it = entry.reasoning[step]
    if it.size < MOST then
      table.insert(it.pieces, data.text)
    end
    it.size = it.size + #data.text
    if vim.uv.now() - it.drawn >= BETWEEN and parallel_steps.is_written(entry, data.step, run) then
      it.drawn = vim.uv.now()
      parallel_steps.write_headings(entry)
      entry.stream:set_tail({ '', '… ' .. head(it.size) })
    end
  end,
}

--- Write the reasoning that an event ends.
---@param entry tideate.ui.Run
---@param event tideate.Event
---@param run tideate.Run
function M.settle(entry, event, run)
  if not ENDS[event.name] then
    return
  end
  for step, it in pairs(entry.reasoning) do
    if not event.data.step or event.data.step == step then
      entry.reasoning[step] = nil
      local text = vim.trim(table.concat(it.pieces))
      if text ~= '' then
        local block = MARK .. ' ' .. text:gsub('\n', '\n' .. MARK .. ' ')
        parallel_steps.put(entry, step ~= '' and step or nil, { apart = block }, run)
      end
    end
  end
end

--- Return the text of a closed fold.
---@return [string, string][]
function M.foldtext()
  local size = 0
  for _, line in ipairs(vim.fn.getline(vim.v.foldstart, vim.v.foldend)) do
    size = size + vim.fn.strchars(line) - 1 -- without the mark, with the line end
  end
  return { { ('%s %s'):format(MARK, head(math.max(0, size - 1))), 'TideateHint' } }
end

--- Options of a window that folds reasoning.
M.options = {
  foldenable = true,
  foldmethod = 'expr',
  foldexpr = ("getline(v:lnum)=~#'^%s'"):format(MARK),
  foldtext = "v:lua.require'tideate.ui.transcript.reasoning'.foldtext()",
  foldlevel = 0,
  foldminlines = 0,
  fillchars = 'fold: ',
}

--- Dim reasoning outside of folds.
---@param win integer
function M.dim(win)
  if not vim.w[win].tideate_reasoning then
    vim.w[win].tideate_reasoning = vim.fn.matchadd('TideateHint', ('^%s.*'):format(MARK), 10, -1, { window = win })
  end
end

return M
