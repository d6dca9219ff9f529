--- Write the events of a run into its transcript, as Markdown.
local M = {}

local checks = require('tideate.ui.transcript.checks')
local reasoning = require('tideate.ui.transcript.reasoning')
local sections = require('tideate.ui.transcript.parallel_steps')
local tool_calls = require('tideate.ui.transcript.tool_calls')

--- Milliseconds that a notice waits for the end of a line.
M.limits = { held = 2000 }

local TASK = 'task' -- the workflow with gates

---@alias tideate.ui.Writer fun(entry: tideate.ui.Run, data: table<string, any>, run: tideate.Run)

---@param entry tideate.ui.Run
---@param text string
local function paragraph(entry, text)
  entry.stream:paragraph()
  entry.stream:write(text)
end

---@param text string
---@return string
local function quote(text)
  return '> ' .. text:gsub('\n', '\n> ')
end

--- Write the head of a run's text.
---@param entry tideate.ui.Run
---@param run tideate.Run
function M.begin(entry, run)
  if entry.begun then
    return
  end
  entry.begun = true
  paragraph(entry, '# ' .. run.name)
  if run.prompt ~= '' then
    paragraph(entry, quote(run.prompt))
  end
  entry.stream:paragraph()
end

---@param entry tideate.ui.Run
---@param run tideate.Run
---@param word string
---@param text string?
local function ending(entry, run, word, text)
  sections.finish_all(entry, run)
  sections.close_fence(entry)
  paragraph(entry, '---')
  paragraph(entry, ('**%s**%s'):format(word, text and text ~= '' and ' ' .. text or ''))
  entry.stream:finish()
end

--- Return the reason of a declined run; empty without one.
---@param data {message?: string}
---@return string
function M.decline_reason(data)
  local message = data.message
  return type(message) == 'string' and message ~= 'declined' and message or ''
end

---@param files string[]
---@return string
local function names(files)
  return table.concat(
    vim.tbl_map(function(path)
      return '`' .. path .. '`'
    end, files),
    ', '
  )
end

--- Describe a transition; the model gives a reason if it chose it.
---@param data {to: string, when: string?, reason: string?}
---@return string
local function move_words(data)
  local target = data.to == '*' and 'end' or ('`%s`'):format(data.to)
  local when = data.when and data.when ~= '' and (' (%s)'):format(data.when:gsub('%s+', ' ')) or ''
  local reason = data.reason and data.reason ~= '' and '  \n' .. quote(data.reason) or ''
  return ('→ %s%s%s'):format(target, when, reason)
end

---@type table<string, tideate.ui.Writer>
local on = {
  SD_EVENT_WORKFLOW_STARTED = function(entry, _, run)
    M.begin(entry, run)
  end,
  SD_EVENT_WORKFLOW_RESTORED = function(entry, data, run)
    M.begin(entry, run)
    entry.floor, entry.held, entry.headings = nil, {}, {}
    if data.forked then
      return -- the next notice says what is reused
    end
    local done = data.completed or {}
    sections.remark(entry, #done == 0 and 'Restarted' or 'Resumed; done before: ' .. table.concat(done, ', '))
  end,
  SD_EVENT_STEP_STARTED = function(entry, data, run)
    -- steps of a task without a stage only prepare or decide
    local bare = run.name == TASK and not data.stage
    sections.start(entry, data.step, run, bare)
  end,
  SD_EVENT_STEP_RETRYING = function(entry, data)
    local words = '%s is tried again in %.1f s: %s'
    sections.remark(entry, words:format(data.step, (data.wait_ms or 0) / 1000, data.error or '?'), data.step)
  end,
  SD_EVENT_STEP_SKIPPED = function(entry, data)
    sections.remark(entry, ('%s is skipped: %s'):format(data.step, data.reason or ''), data.step)
  end,
  SD_EVENT_STEP_EXECUTED = function(entry, data, run)
    -- list items only: another event reports a step
    if data.step and data.step:find('%[%d+%]$') then
      sections.finish(entry, data.step, nil, run)
    end
  end,
  SD_EVENT_CHECKPOINT_CREATED = function(entry, data)
    if data.manual then
      sections.remark(entry, 'Checkpoint ' .. data.checkpoint_id:sub(1, 8))
    end
  end,
  SD_EVENT_TRANSITION = function(entry, data, run)
    if run.name == TASK then
      return -- its stages and gates show the transition
    end
    sections.close_fence(entry)
    paragraph(entry, move_words(data))
    entry.stream:paragraph()
    entry.stream:flush()
  end,
  SD_EVENT_TOKEN = function(entry, data, run)
    sections.put(entry, data.step, data.text or '', run)
  end,
  SD_EVENT_MODEL_ANSWERED = function(entry, data, run)
    -- the next turn begins a paragraph
    sections.put(entry, data.step, { apart = '' }, run)
  end,
  SD_EVENT_NOTICE = function(entry, data, run)
    if data.level == 'warn' then
      sections.remark(entry, '**Warning:** ' .. data.message, data.step)
    else
      sections.put(entry, data.step, { remark = data.message }, run)
    end
  end,
  SD_EVENT_STEP_COMPLETED = function(entry, data, run)
    sections.finish(entry, data.step, data.result, run)
  end,
  SD_EVENT_STEP_FAILED = function(entry, data, run)
    sections.finish(entry, data.step, nil, run, true)
  end,
  SD_EVENT_WORKFLOW_COMPLETED = function(entry, data, run)
    if type(data.files) == 'table' and #data.files > 0 then
      local left = data.next and ('\n\n%s.'):format(data.next.message) or ''
      local unsaved = require('tideate.modified_buffers').of_run(run)
      local rest = #unsaved > 0 and '  \nNot saved: ' .. names(unsaved) or ''
      ending(entry, run, 'Done.', 'Changed: ' .. names(data.files) .. rest .. left)
    else
      sections.finish_all(entry, run)
      sections.close_fence(entry)
      entry.stream:finish()
    end
  end,
  SD_EVENT_WORKFLOW_FAILED = function(entry, data, run)
    local lines = data.error and data.error:find('\n') and ('\n\n```\n%s\n```'):format(data.error)
    ending(entry, run, 'Failed.', lines or data.error)
  end,
  SD_EVENT_WORKFLOW_CANCELLED = function(entry, data, run)
    if data.reason == 'declined' then
      ending(entry, run, 'Declined.', M.decline_reason(data))
    else
      ending(entry, run, 'Cancelled.')
    end
  end,
}

---@param entry tideate.ui.Run
---@param event tideate.Event
---@param run tideate.Run
local function write(entry, event, run)
  if next(entry.reasoning) then
    reasoning.settle(entry, event, run)
  end
  local writer = on[event.name]
    or checks.writers[event.name]
    or tool_calls.writers[event.name]
    or reasoning.writers[event.name]
  if writer then
    writer(entry, event.data or {}, run)
  end
end

--- Write the notices that waited for the end of a line.
---@param entry tideate.ui.Run
---@param run tideate.Run
local function write_notices(entry, run)
  local notices = entry.notices
  entry.notices, entry.in_line = {}, false
  for _, notice in ipairs(notices) do
    write(entry, notice, run)
  end
end

---@param entry tideate.ui.Run
---@param event tideate.Event
---@param text string
---@param run tideate.Run
local function write_text(entry, event, text, run)
  if text ~= '' then
    local data = vim.tbl_extend('force', event.data, { text = text })
    write(entry, vim.tbl_extend('force', event, { data = data }), run)
    entry.in_line = text:sub(-1) ~= '\n'
  end
end

--- Write the waiting notices although the line has not ended.
---@param entry tideate.ui.Run
---@param run tideate.Run
local function write_late(entry, run)
  local waiting = entry.notices
  vim.defer_fn(function()
    if waiting == entry.notices and #waiting > 0 then
      write_notices(entry, run)
    end
  end, M.limits.held)
end

--- Write an event; a notice waits briefly for the end of a streamed line.
---@param entry tideate.ui.Run
---@param event tideate.Event
---@param run tideate.Run
function M.on_event(entry, event, run)
  local text = event.name == 'SD_EVENT_TOKEN' and (event.data or {}).text
  if event.name == 'SD_EVENT_NOTICE' and entry.in_line then
    table.insert(entry.notices, event)
    if #entry.notices == 1 then
      write_late(entry, run)
    end
  elseif text and #entry.notices > 0 and text:find('\n', 1, true) then
    local line = text:match('^[^\n]*\n')
    write_text(entry, event, line, run)
    write_notices(entry, run)
    write_text(entry, event, text:sub(#line + 1), run)
  elseif text then
    write_text(entry, event, text, run)
  else
    if not require('tideate.run_events').FREQUENT[event.name] then
      write_notices(entry, run)
    end
    write(entry, event, run)
  end
end

return M
