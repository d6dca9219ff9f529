--- Dialog for a question of a run with a yes-or-no answer.
local M = {}

local text = require('tideate.ui.text')

---@class tideate.Question
---@field execution_id string
---@field workflow string
---@field step string
---@field kind 'gate'|'override'|'plan'|'review'|'document'|'tool'
---@field message string
---@field details? string markdown
---@field expanded? boolean the details are shown at once
---@field diff? string patch that `d` shows instead of the details
---@field payload? any
---@field draft? string file with the user's work on a review, a plan or a document
---@field executed? tideate.Executed[]

---@class tideate.Asked
---@field close fun(self) withdraw it without an answer
---@field focus fun(self) give it the focus
---@field focused fun(self): boolean whether it has the focus
---@field ready fun(self): boolean whether keys answer now
---@field in_code? fun(self): boolean whether it is answered in code visible in this tab page

local WIDTH = 64 -- of the text
local AROUND = 5 -- rows: border and empty lines
local NAMED = 30 -- cells of a prompt in a title
local MOST = 400 -- lines of details in the dialog
local FEW = 8 -- lines of details beside a diff, even if they cover something

--- Return a run's prompt or id if several runs are active.
---@param question tideate.Question
---@return string
local function which(question)
  local running, prompt = 0, ''
  for _, run in ipairs(require('tideate.state').runs()) do
    running = running + (require('tideate.ui.progress').active(run) and 1 or 0)
    prompt = run.execution_id == question.execution_id and vim.trim(run.prompt or '') or prompt
  end
  if running < 2 then
    return ''
  end
  return ' · ' .. (prompt ~= '' and text.fit(prompt, NAMED) or question.execution_id:sub(1, 8))
end

---@param question tideate.Question
---@return fun(): tideate.Chunk[]
function M.title(question)
  return function()
    local step = require('tideate.run_status').label(question.step)
    return { { (' %s · %s%s '):format(question.workflow, step, which(question)), 'TideateTitle' } }
  end
end

---@param details string[]
---@param shown boolean
---@return tideate.Chunk[][]
local function detail_lines(details, shown)
  if not shown then
    local count = text.counted(#details, 'line')
    return { { { (' d shows the details (%s)'):format(count), 'TideateHint' } } }
  end
  local beginning, left_out = require('tideate.ui.text.readable').beginning(details, MOST)
  local lines = vim.tbl_map(function(line)
    return { { ' ' .. line } }
  end, beginning)
  if left_out then
    table.insert(lines, { { (' %s: d shows all'):format(left_out), 'TideateWarning' } })
  end
  return lines
end

--- Return whether question and details fit beside their subject.
---@param message string
---@param details string[]
---@return boolean
local function fits_beside(message, details)
  local place = require('tideate.ui.window.float_layout').free()
  local width = math.min(WIDTH, place.columns - 4)
  local rows = #text.wrap(message, width - 2)
  for _, line in ipairs(details) do
    rows = rows + math.max(1, math.ceil((vim.fn.strdisplaywidth(line) + 1) / width))
  end
  return rows + AROUND <= place.rows * 0.6
end

--- Ask for a confirmation.
---@param question tideate.Question
---@param respond fun(result: { accepted: boolean, value: string?, reason: string? }) called once, unless `on_left` is
---@param on_left fun() its window was closed: the run waits
---@return tideate.Asked
function M.open(question, respond, on_left)
  local details = vim.trim(question.details or '')
  -- a tool's arguments are the subject of its question
  local read = require('tideate.ui.text.readable').lines(details)
  local always = question.kind == 'tool' or question.expanded or question.diff and #read <= FEW
  local expanded = details ~= '' and (always or fits_beside(question.message, read))
  local dialog ---@type tideate.Dialog

  local function answer(accepted, reason, value)
    dialog:close()
    respond({ accepted = accepted, reason = reason, value = value })
  end
  local payload = type(question.payload) == 'table' and question.payload or {}
  local function say_no()
    answer(false, payload.back and 'back to the review' or nil, payload.back and 'back' or nil)
  end
  local keys ---@type tideate.Key[]
  local key = require('tideate.ui.keys').key
  local cautious = question.kind == 'override'
  local no_keys = cautious and { 'n', '<CR>', 'q', '<Esc>' } or { 'n', 'q', '<Esc>' }
  local no_words = payload.back and 'back to the review' or 'no'
  keys = {
    key(cautious and { 'y' } or { 'y', '<CR>' }, cautious and 'yes, do it anyway' or 'yes', 'yes', function()
      answer(true)
    end),
    key(no_keys, no_words, payload.back and no_words or 'no, stop here', say_no),
  }
  if cautious and payload.fixable then
    table.insert(keys, 2, key('f', 'let the model correct it', 'let the model correct it, and review that', function()
      answer(false, 'the model corrects it', 'fix')
    end))
  end
  if question.kind == 'tool' then
    table.insert(keys, 2, key('r', 'this run', 'yes, in this run from now on', function()
      answer(true, nil, 'run')
    end))
    table.insert(keys, 3, key('a', 'always', 'yes, always in this project, until the tool changes', function()
      answer(true, nil, 'project')
    end))
  end
  if question.diff then
    table.insert(keys, key('d', 'diff', 'show the differences', function()
      require('tideate.ui.questions.preview').open('diff', question.diff, 'diff', question.execution_id)
    end))
  elseif details ~= '' then
    local function word()
      return expanded and #read <= MOST and 'hide details' or 'details'
    end
    local toggle ---@type tideate.Key
    toggle = key('d', word(), 'show or hide the details', function()
      if #read > MOST then
        return require('tideate.ui.questions.preview').open('details', details, 'markdown', question.execution_id)
      end
      expanded = not expanded
      toggle.word = word()
      dialog:show()
    end)
    table.insert(keys, toggle)
  end
  table.insert(keys, require('tideate.ui.keys').help_key('confirmation', function()
    return keys
  end))

  dialog = require('tideate.ui.questions.dialog').open({
    title = M.title(question),
    keys = keys,
    width = WIDTH,
    leaves = 6,
    about = question.kind ~= 'tool' and question.execution_id or nil,
    markdown = details ~= '' and #read <= MOST,
    lines = function(width)
      local lines = require('tideate.ui.questions.executed_files').lines(question, width)
      table.insert(lines, {})
      for _, line in ipairs(text.wrap(question.message, width - 2)) do
        table.insert(lines, { { ' ' }, { line, cautious and 'TideateWarning' or nil } })
      end
      table.insert(lines, {})
      if details ~= '' then
        vim.list_extend(lines, detail_lines(read, expanded))
        table.insert(lines, {})
      end
      return lines
    end,
    on_closed = function()
      -- without a waiting run, closing is a no
      if require('tideate.state').ended(question.execution_id) then
        return answer(false, 'the question was closed')
      end
      dialog:close()
      on_left()
    end,
  })
  return dialog
end

return M
