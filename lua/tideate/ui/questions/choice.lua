--- The dialog that chooses among the runs of a comparison.
local M = {}

local text = require('tideate.ui.text')

local WIDTH = 72 -- of the text

---@class tideate.ChoiceRun
---@field execution_id string
---@field adapter string
---@field takable boolean
---@field state 'review'|'completed'|'unchanged'|'failed'|'cancelled'
---@field duration_ms? integer
---@field usage? tideate.Usage
---@field checks? table<string, string> status by check
---@field files? tideate.ReviewFile[] of a run at its review
---@field response? any
---@field error? string

--- Return a run's outcome in a few words.
---@param run tideate.ChoiceRun
---@return string words, string group
local function outcome(run)
  if run.state == 'failed' then
    return vim.split(run.error or 'failed', '\n', { plain = true })[1], 'TideateFailed'
  elseif run.state ~= 'review' then
    local words = { completed = 'answered', unchanged = 'changes nothing' }
    return words[run.state] or run.state, 'TideateHint'
  end
  local new, old = 0, 0
  for _, file in ipairs(run.files) do
    for _, hunk in ipairs(file.hunks or {}) do
      new, old = new + #hunk.new, old + #hunk.old
    end
  end
  return ('+%d -%d lines in %s'):format(new, old, text.counted(#run.files, 'file')), 'TideatePath'
end

--- Return the checks, time, tokens and cost of a run.
---@param run tideate.ChoiceRun
---@return string
local function facts_of(run)
  local parts = {}
  for name, status in vim.spairs(run.checks or {}) do
    table.insert(parts, text.plain(('%s %s'):format(name:gsub('_', ' '), status)))
  end
  if run.duration_ms then
    table.insert(parts, require('tideate.ui.progress').duration(run.duration_ms))
  end
  local usage = run.usage
  if usage and usage.input_tokens + usage.output_tokens > 0 then
    table.insert(parts, ('%d/%d tokens'):format(usage.input_tokens, usage.output_tokens))
  end
  if usage and usage.cost then
    table.insert(parts, ('$%.4f'):format(usage.cost))
  end
  return table.concat(parts, ' · ')
end

--- Return the hunks of a file as text.
---@param file tideate.ReviewFile
---@return string[]
local function changes(file)
  local plain = text.plain
  local lines = { require('tideate.ui.review.model').name(file) }
  for _, hunk in ipairs(file.hunks or {}) do
    table.insert(lines, ('@@ line %d: -%d +%d @@'):format(hunk.start + 1, #hunk.old, #hunk.new))
    for _, part in ipairs({ { '-', hunk.old }, { '+', hunk.new } }) do
      for _, line in ipairs(part[2]) do
        table.insert(lines, part[1] .. plain(line))
      end
    end
  end
  return lines
end

--- Return all answers as one text.
---@param runs tideate.ChoiceRun[]
---@return string
local function answers(runs)
  local lines = {}
  for number, run in ipairs(runs) do
    table.insert(lines, ('diff %d %s'):format(number, text.name(run.adapter)))
    for _, file in ipairs(run.files or {}) do
      vim.list_extend(lines, changes(file))
    end
    local words = run.error or run.response
    if words and not run.files then
      local said = type(words) == 'string' and words or vim.json.encode(words)
      vim.list_extend(lines, vim.tbl_map(text.plain, vim.split(said, '\n', { plain = true })))
    end
    table.insert(lines, '')
  end
  return table.concat(lines, '\n')
end

---@param runs tideate.ChoiceRun[]
---@param width integer
---@return tideate.Chunk[][]
local function run_lines(runs, width)
  local lines = {} ---@type table, tideate.Chunk[][]
  for number, run in ipairs(runs) do
    local words, group = outcome(run)
    local head = { { run.takable and (' %d  '):format(number) or ' ·  ', 'TideateKey' }, { text.name(run.adapter), 'TideateTitle' } }
    table.insert(lines, text.fit_chunks(head, width))
    table.insert(lines, text.fit_chunks({ { '    ' }, { text.plain(words), group } }, width))
    local facts = facts_of(run)
    if facts ~= '' then
      table.insert(lines, text.fit_chunks({ { '    ' }, { facts, 'TideateHint' } }, width))
    end
  end
  return lines
end

--- Ask which answer to take.
---@param question tideate.Question payload: { runs: tideate.ChoiceRun[] }
---@param respond fun(result: table<string, any>) called once, unless `on_left` is
---@param on_left fun() the user left it or closed its window: the runs wait
---@return tideate.Asked
function M.open(question, respond, on_left)
  local runs = question.payload.runs ---@type tideate.ChoiceRun[]
  local dialog ---@type tideate.Dialog
  local keys = {} ---@type tideate.Key[]

  local function answer(run, reason)
    dialog:close()
    respond({ accepted = run ~= nil, value = run and { take = run.execution_id }, reason = reason })
  end
  local function leave()
    dialog:close()
    on_left()
  end
  local function key(lhs, word, desc, run)
    table.insert(keys, require('tideate.ui.keys').key(lhs, word, desc, run))
  end
  for number, run in ipairs(runs) do
    if run.takable then
      key(tostring(number), 'take', ("take the answer from the adapter '%s'"):format(text.name(run.adapter)), function()
        answer(run)
      end)
    end
  end
  key('n', 'none', 'take none of them, after a question', function()
    local asked = { about = question.message, back = 'back to the choice', decline = 'take none of them' }
    require('tideate.ui.questions.confirm_action').decline(asked, function()
      return not dialog.closed
    end, function(reason)
      answer(nil, reason or 'none of the answers was taken')
    end)
  end)
  key('q', 'leave', 'leave it: the runs wait', leave)
  key('d', 'answers', 'show the answers', function()
    require('tideate.ui.questions.preview').open('answers', answers(runs), 'diff')
  end)
  table.insert(keys, require('tideate.ui.keys').help_key('comparison', function()
    return keys
  end))

  dialog = require('tideate.ui.questions.dialog').open({
    title = require('tideate.ui.questions.confirm').title(question),
    keys = keys,
    width = WIDTH,
    leaves = 6,
    at_top = true,
    lines = function(width)
      local lines = { {}, { { ' ' }, { question.message } }, {} } ---@type tideate.Chunk[][]
      return vim.list_extend(lines, run_lines(runs, width - 1))
    end,
    on_closed = leave,
  })
  return dialog
end

return M
