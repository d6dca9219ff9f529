--- Transcript lines of checks, gates and rollbacks, and the last output of a running check.
local M = {}

local parallel_steps = require('tideate.ui.transcript.parallel_steps')
local progress = require('tideate.ui.progress')
local text = require('tideate.ui.text')

local SHOWN = 6 -- lines of a running check
local LONGEST = 200 -- bytes of a line
local FRAME = 100 -- milliseconds between two drawings
local NAMED = 20 -- listed file names

---@class tideate.ui.LiveCheck
---@field name string
---@field command string
---@field lines string[] last lines of output
---@field drawing? boolean a drawing is scheduled

---@param live tideate.ui.LiveCheck
---@return string[]
local function drawn(live)
  return vim.list_extend({ '', ('    ▸ %s  %s'):format(live.name, live.command) }, vim.tbl_map(function(line)
    return '    │ ' .. line
  end, live.lines))
end

--- Schedule one drawing of a running check.
---@param entry tideate.ui.Run
local function draw_soon(entry)
  local live = entry.check
  if live and not live.drawing then
    live.drawing = true
    vim.defer_fn(function()
      live.drawing = nil
      if entry.check == live then
        entry.stream:set_tail(drawn(live))
      end
    end, FRAME)
  end
end

---@type table<string, { [1]: string, [2]: string }> status → mark and word
local STATUS = {
  passed = { '✓', 'passed' },
  failed = { '✗', 'failed' },
  timed_out = { '✗', 'took too long' },
  not_configured = { '✗', 'not configured' },
  not_trusted = { '✗', 'not trusted' },
  cancelled = { '⊘', 'cancelled' },
  skipped = { '·', 'not touched by the change' },
}

--- Return mark and word of an ended check. A check turned off by the configuration did not fail.
---@param data {status: string, required?: boolean}
---@return { [1]: string, [2]: string }
local function look_of(data)
  local off = data.status == 'not_configured' and data.required == false
  return off and { '·', 'off' } or STATUS[data.status] or { '?', tostring(data.status) }
end

---@param data {status: string, required?: boolean} data of an ended check
---@return string
function M.mark(data)
  return look_of(data)[1]
end

--- Describe the end of a check.
---@param data table<string, any>
---@return string
function M.ended_words(data)
  local look, failures = look_of(data), #(data.failures or {})
  local words = ('%s **%s** %s'):format(look[1], data.check or '?', look[2])
  if (tonumber(data.duration_ms) or 0) > 0 then
    words = ('%s in %s'):format(words, progress.duration(data.duration_ms))
  end
  if failures > 0 then
    return ('%s  \n%s in the quickfix list'):format(words, text.counted(failures, 'failure'))
  end
  -- without failures the reason says why; a passed check needs none
  local silent = data.status == 'passed' or look[2] == 'off' or type(data.reason) ~= 'string' or data.reason == ''
  return silent and words or ('%s: %s'):format(words, data.reason)
end

---@param mark string
---@param word string
---@return fun(data: table<string, any>): string?
local function gate_words(mark, word)
  return function(data)
    if not data.number then
      return nil -- it belongs to a step, which reports it itself
    end
    local took = tonumber(data.duration_ms) and ' in ' .. progress.duration(data.duration_ms) or ''
    local fixed = data.auto_fixed == true and ', with the fixes applied' or ''
    local lines = { ('%s **gate %d, %s** %s%s%s'):format(mark, data.number, data.gate, word, took, fixed) }
    for _, issue in ipairs(data.issues or {}) do
      table.insert(lines, '- ' .. issue:gsub('\n', '\n  '))
    end
    return table.concat(lines, '\n')
  end
end

--- List names up to a limit, then a count.
---@param names string[]
---@param uncounted integer further names
---@return string
local function listed(names, uncounted)
  local sorted = vim.list_slice(names)
  table.sort(sorted)
  local shown = vim.tbl_map(function(name)
    return ('`%s`'):format(name)
  end, vim.list_slice(sorted, 1, NAMED))
  local more = #names - #shown + uncounted
  return table.concat(shown, ', ') .. (more > 0 and (' and %d more'):format(more) or '')
end

---@param value any
---@return boolean
local function given(value)
  return value ~= nil and value ~= vim.NIL and value ~= ''
end

---@param data {restored: string[], merged: string[], left: string[], error?: string}
---@return string
local function rollback_head(data)
  if given(data.error) then
    return ('**Not everything was rolled back: %s**'):format(data.error)
  elseif #data.restored + #data.merged > 0 then
    return '**Rolled back** what the run wrote.'
  end
  return #data.left > 0 and '**Nothing was rolled back.**' or '**Nothing to roll back**: the run had changed no file.'
end

--- Describe a rollback: restored files, and files that stay, with the reason.
---@param data {restored: string[], merged: string[], left: string[], foreign?: string[], more_foreign?: integer, snapshot?: string, error?: string}
---@return string
function M.rollback_words(data)
  local lines = { rollback_head(data) }
  local function add(said, names, more)
    if #names > 0 then
      table.insert(lines, ('%s: %s.'):format(said, listed(names, more)))
    end
  end
  add('Restored', data.restored, 0)
  add('Restored, your own edits kept', data.merged, 0)
  add('Stays, changed after the run wrote it', data.left, 0)
  add('Stays, changed by you or a check', data.foreign or {}, data.more_foreign or 0)
  if given(data.snapshot) then
    local words = 'The files as they were before are snapshot `%s`: `:Workflow snapshot`.'
    table.insert(lines, words:format(data.snapshot:sub(1, 8)))
  end
  return table.concat(lines, '  \n')
end

---@type table<string, fun(data: table<string, any>): string?>
local WORDS = {
  SD_EVENT_CHECK_ENDED = M.ended_words,
  SD_EVENT_GATE_PASSED = gate_words('✓', 'passed'),
  SD_EVENT_GATE_FAILED = gate_words('✗', 'failed'),
  SD_EVENT_ROLLED_BACK = M.rollback_words,
}

--- Describe a stored event as lines without Markdown.
---@param event {name: string, data: table<string, any>}
---@return string[]
function M.plain(event)
  local say = WORDS[event.name] or require('tideate.ui.transcript.tool_calls').words[event.name]
  local words = say and say(event.data)
  if not words then
    return {}
  end
  local plain = words:gsub('%*%*', ''):gsub('`([^`\n]+)`', '%1'):gsub('  \n', '\n')
  return vim.split(plain, '\n', { plain = true })
end

---@param name string
---@return tideate.ui.Writer
local function writer(name)
  return function(entry, data)
    local words = WORDS[name](data)
    if words then
      parallel_steps.remark(entry, words)
    end
  end
end

---@param write tideate.ui.Writer
---@return tideate.ui.Writer
local function after_check(write)
  return function(entry, data, run)
    entry.check = nil
    write(entry, data, run)
  end
end

---@type table<string, tideate.ui.Writer>
M.writers = {
  SD_EVENT_CHECK_STARTED = function(entry, data)
    entry.check = { name = data.check or '?', command = data.command or '', lines = {} }
    parallel_steps.write_headings(entry)
    entry.stream:set_tail(drawn(entry.check))
  end,
  SD_EVENT_CHECK_OUTPUT = function(entry, data)
    local live = entry.check
    if not live or live.name ~= data.check then
      return
    end
    -- a line may be long, or cut within a character
    local lines = vim.list_extend(live.lines, vim.tbl_map(function(line)
      return text.fit(line:sub(1, 4 * LONGEST), LONGEST)
    end, data.lines or {}))
    live.lines = vim.list_slice(lines, math.max(1, #lines - SHOWN + 1))
    draw_soon(entry)
  end,
  SD_EVENT_CHECK_ENDED = after_check(writer('SD_EVENT_CHECK_ENDED')),
  SD_EVENT_GATE_PASSED = writer('SD_EVENT_GATE_PASSED'),
  SD_EVENT_GATE_FAILED = writer('SD_EVENT_GATE_FAILED'),
  SD_EVENT_ROLLED_BACK = after_check(writer('SD_EVENT_ROLLED_BACK')),
}

return M
