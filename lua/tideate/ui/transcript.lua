--- What a run's buffer says, in markdown.
local M = {}

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

--- The head of a run's text.
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

--- Close a code fence that a step's text left open, so that what follows is not code.
---@param entry tideate.ui.Run
local function close_fence(entry)
  entry.stream:flush()
  local fence ---@type string?
  for _, line in ipairs(vim.api.nvim_buf_get_lines(entry.stream:revive(), entry.step_began, -1, false)) do
    local ticks, info = line:match('^%s*(```+)(.*)$')
    if ticks and not fence then
      fence = ticks
    elseif ticks and #ticks >= #fence and not info:find('%S') then
      fence = nil
    end
  end
  if fence then
    entry.stream:write('\n' .. fence)
  end
end

---@param entry tideate.ui.Run
---@param word string
---@param text string?
local function ending(entry, word, text)
  close_fence(entry)
  paragraph(entry, '---')
  paragraph(entry, ('**%s**%s'):format(word, text and text ~= '' and '  ' .. text or ''))
  entry.stream:finish()
end

---@param files string[]
---@return string
local function changed(files)
  return 'Changed: ' .. table.concat(
    vim.tbl_map(function(path)
      return '`' .. path .. '`'
    end, files),
    ', '
  )
end

--- A move of a machine; the reason is the model's, where it chose.
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
  SD_EVENT_STEP_STARTED = function(entry, data, run)
    close_fence(entry)
    entry.stream:paragraph()
    if run.total_steps > 1 or run.kind == 'machine' and data.step ~= '*' then
      entry.stream:write('## ' .. data.step)
      entry.stream:paragraph()
    end
    entry.stream:flush()
    entry.wrote = false
    entry.step_began = vim.api.nvim_buf_line_count(entry.stream:revive()) - 1
  end,
  SD_EVENT_TRANSITION = function(entry, data)
    close_fence(entry)
    paragraph(entry, move_words(data))
    entry.stream:paragraph()
    entry.stream:flush()
  end,
  SD_EVENT_TOKEN = function(entry, data)
    entry.wrote = true
    entry.stream:write(data.text or '')
  end,
  SD_EVENT_NOTICE = function(entry, data)
    close_fence(entry)
    paragraph(entry, quote((data.level == 'warn' and '**Warning:** ' or '') .. data.message))
    entry.stream:paragraph()
  end,
  SD_EVENT_STEP_COMPLETED = function(entry, data)
    if not entry.wrote and type(data.result) == 'string' and data.result ~= '' then
      entry.stream:write(data.result)
      entry.wrote = true
    end
    close_fence(entry)
  end,
  SD_EVENT_WORKFLOW_COMPLETED = function(entry, data)
    if type(data.files) == 'table' and #data.files > 0 then
      ending(entry, 'Done.', changed(data.files))
    else
      close_fence(entry)
      entry.stream:finish()
    end
  end,
  SD_EVENT_WORKFLOW_FAILED = function(entry, data)
    local lines = data.error and data.error:find('\n') and ('\n\n```\n%s\n```'):format(data.error)
    ending(entry, 'Failed.', lines or data.error)
  end,
  SD_EVENT_WORKFLOW_CANCELLED = function(entry, data)
    ending(entry, data.reason == 'declined' and 'Declined.' or 'Cancelled.')
  end,
}

--- Write what an event says.
---@param entry tideate.ui.Run
---@param event tideate.Event
---@param run tideate.Run
function M.on_event(entry, event, run)
  local writer = on[event.name]
  if writer then
    writer(entry, event.data or {}, run)
  end
end

return M
