--- The text of a chat: its messages in Markdown, and the first line of each turn.
local M = {}

local MARK = '┆' -- of reasoning, as in `tideate.ui.transcript.reasoning`
local CALL = '^> [✓✗] `'

---@class tideate.ChatMessage
---@field role 'user'|'model'
---@field text string
---@field turn? integer of a model, in the whole conversation
---@field model? string
---@field reasoning? string
---@field calls? {tool: string, summary: string, arguments: string, result?: string}[]

---@class tideate.ChatRun
---@field execution_id string
---@field workflow string
---@field state string
---@field ended boolean
---@field error? string
---@field reason? string
---@field files string[]
---@field messages tideate.ChatMessage[]

---@class tideate.ChatTurn beginning of a turn in the text
---@field row integer of its heading, 1-based
---@field role 'user'|'model'
---@field run? string
---@field turn? integer last turn of a model's answer
---@field text? string of a person's message

---@class tideate.ChatText
---@field lines string[]
---@field turns tideate.ChatTurn[]
---@field calls tideate.ui.Call[]

---@param lines string[]
---@param text string
---@param before? string
local function add(lines, text, before)
  for _, line in ipairs(vim.split(text, '\n', { plain = true })) do
    table.insert(lines, (before or '') .. line)
  end
end

--- Begin a paragraph.
---@param lines string[]
local function apart(lines)
  if #lines > 0 and lines[#lines] ~= '' then
    table.insert(lines, '')
  end
end

--- Close a code block that a text left open.
---@param lines string[]
---@param from integer first line of the text
local function close_fence(lines, from)
  table.insert(lines, require('tideate.ui.text.markdown').open_fence(lines, from))
end

--- Return the heading of a turn.
---@param role 'user'|'model'
---@param model? string
---@return string
function M.heading(role, model)
  return role == 'user' and '# You' or '# ' .. require('tideate.ui.text').name(model or 'model')
end

---@param text tideate.ChatText
---@param message tideate.ChatMessage
local function add_answer(text, message)
  local lines = text.lines
  if message.reasoning ~= '' then
    apart(lines)
    add(lines, vim.trim(message.reasoning), MARK .. ' ')
  end
  if message.text ~= '' then
    apart(lines)
    local from = #lines + 1
    add(lines, vim.trim(message.text))
    close_fence(lines, from)
  end
  for index, call in ipairs(message.calls) do
    if index == 1 and not (lines[#lines] or ''):find(CALL) then
      apart(lines)
    end
    local name = require('tideate.ui.transcript.tool_calls').name(call):gsub('\n', ' ')
    local line = ('> ✓ `%s`'):format(name)
    table.insert(lines, line)
    table.insert(text.calls, { line = line, data = { result = call.result }, arguments = call.arguments })
  end
end

---@type table<string, fun(run: tideate.ChatRun): string?>
local ENDINGS = {
  completed = function(run)
    local files = vim.tbl_map(require('tideate.ui.text').name, run.files)
    return #files > 0 and ('**Done.** Changed: `%s`'):format(table.concat(files, '`, `')) or nil
  end,
  failed = function(run)
    return ('**Failed.** %s'):format(run.error or '')
  end,
  cancelled = function(run)
    return run.reason == 'declined' and '**Declined.**' or '**Cancelled.**'
  end,
}

---@param text tideate.ChatText
---@param run tideate.ChatRun
local function add_run(text, run)
  local lines, turns = text.lines, text.turns
  local function begin(role, message)
    apart(lines)
    table.insert(lines, M.heading(role, message.model))
    local turn = { row = #lines, role = role, run = run.execution_id, text = role == 'user' and message.text or nil }
    table.insert(turns, turn)
  end
  for index, message in ipairs(run.messages) do
    message.text = message.text:gsub('\r\n', '\n')
    if message.role == 'user' and index == 1 then
      begin('user', message)
      apart(lines)
      local from = #lines + 1
      add(lines, vim.trim(message.text))
      close_fence(lines, from)
    elseif message.role == 'user' then
      apart(lines)
      add(lines, vim.trim(message.text), '> ')
    else
      if turns[#turns].role ~= 'model' then
        begin('model', message)
      end
      turns[#turns].turn = message.turn
      add_answer(text, message)
    end
  end
  local word = ENDINGS[run.state]
  local ending = run.ended and word and word(run) or nil
  if not run.ended then
    local short = require('tideate.stored_runs').short(run.execution_id)
    ending = ('> This turn is %s; `:Workflow resume %s` continues it.'):format(run.state, short)
  end
  if ending then
    apart(lines)
    if run.ended then
      vim.list_extend(lines, { '---', '' })
    end
    add(lines, ending)
  end
end

--- Return the text of runs.
---@param runs tideate.ChatRun[] oldest first
---@return tideate.ChatText
function M.text(runs)
  local text = { lines = {}, turns = {}, calls = {} }
  for _, run in ipairs(runs) do
    add_run(text, run)
  end
  return text
end

--- Return the turn of a line.
---@param turns tideate.ChatTurn[]
---@param row integer 1-based
---@return tideate.ChatTurn?, integer? index
function M.turn_at(turns, row)
  for index = #turns, 1, -1 do
    if turns[index].row <= row then
      return turns[index], index
    end
  end
end

--- Return the text of a closed fold of reasoning or tool calls.
---@return [string, string][]|string
function M.foldtext()
  local first, last = vim.v.foldstart, vim.v.foldend
  local line = vim.fn.getline(first)
  if not line:find(CALL) then
    return require('tideate.ui.transcript.reasoning').foldtext()
  elseif first == last then
    return { { line, 'TideateHint' } }
  end
  local names, seen = {}, {}
  for _, one in ipairs(vim.fn.getline(first, last)) do
    local name = one:match('`([^%s`]+)')
    if name and not seen[name] then
      seen[name] = true
      table.insert(names, name)
    end
  end
  return { { ('▸ %d tool calls: %s'):format(last - first + 1, table.concat(names, ', ')), 'TideateHint' } }
end

--- Options of a window that folds reasoning and tool calls.
function M.options()
  return vim.tbl_extend('force', require('tideate.ui.transcript.reasoning').options, {
    foldexpr = ([[getline(v:lnum)=~#'^\(%s\|> [✓✗] `\)']]):format(MARK),
    fillchars = 'fold: ,eob: ',
    foldtext = "v:lua.require'tideate.ui.chat.history'.foldtext()",
  })
end

return M
