--- Completion source for blink.cmp and nvim-cmp: mentions; for prompts also workflows, files, symbols.
--- One object serves blink.cmp (`module = 'tideate.completion'`) and nvim-cmp
--- (`cmp.register_source('tideate', require('tideate.completion').new())`). It never asks the host.
local M = {}

local TRIGGERS = { '@', ':', '/' } -- of a mention, its path, a folder or a workflow
local MENTION = [[@[^[:space:]()]*]]
local WORD = [=[[^[:space:]()]\+]=]
local PROMPT = 'tideate_prompt'

---@type table<string, integer> kind of a candidate → `CompletionItemKind`
local KINDS = { mention = 18, run = 18, file = 17, ['changed file'] = 17, workflow = 3 } -- Reference, File, Function
local SYMBOL = 6 -- Variable; also for a mention of one

---@class tideate.CompletionItem of the language server protocol, with columns in bytes
---@field label string
---@field kind integer
---@field labelDetails { description: string }
---@field filterText string
---@field insertText string

---@return boolean
local function in_prompt()
  return vim.bo.filetype == PROMPT
end

--- Return the completions of the word before the cursor.
---@param before string the line up to the cursor
---@param row integer 1-based
---@return tideate.CompletionItem[] items, integer start column of the word, 0-based, in bytes
local function candidates(before, row)
  local word = before:match('[^%s()]*$')
  local start = #before - #word
  local found = {} ---@type tideate.ui.CompletionItem[]
  if in_prompt() then
    local first = row == 1 and not before:sub(1, start):find('%S')
    found = require('tideate.ui.prompt.completion').candidates(word, first)
  elseif vim.startswith(word, '@') then
    found = require('tideate.mentions').candidates(word)
  end
  return vim.tbl_map(function(one)
    return {
      label = one.word,
      kind = KINDS[one.menu:match('^[^:]*')] or SYMBOL,
      labelDetails = { description = one.menu },
      filterText = one.word,
      insertText = one.word,
    }
  end, found), start
end

---@class tideate.CompletionSource
local Source = {}
Source.__index = Source

---@return tideate.CompletionSource
function M.new()
  return setmetatable({}, Source)
end

---@return string[]
function Source:get_trigger_characters()
  return TRIGGERS
end

--- Return the replaced pattern (nvim-cmp).
---@return string
function Source:get_keyword_pattern()
  return in_prompt() and WORD or MENTION
end

---@return string
function Source:get_debug_name()
  return 'tideate'
end

--- Complete (nvim-cmp).
---@param params { context: { cursor_before_line: string, cursor: { row: integer } } }
---@param callback fun(response: table<string, any>)
function Source:complete(params, callback)
  local items = candidates(params.context.cursor_before_line, params.context.cursor.row)
  callback({ items = items, isIncomplete = true }) -- a folder's files follow its `/`
end

--- Complete (blink.cmp).
---@param context { line: string, cursor: integer[] } row 1-based, column 0-based in bytes
---@param callback fun(response: table<string, any>)
function Source:get_completions(context, callback)
  local row, column = context.cursor[1], context.cursor[2]
  local items, start = candidates(context.line:sub(1, column), row)
  for _, item in ipairs(items) do
    item.textEdit = {
      newText = item.insertText,
      range = {
        start = { line = row - 1, character = start },
        ['end'] = { line = row - 1, character = column },
      },
    }
  end
  callback({ items = items, is_incomplete_forward = true, is_incomplete_backward = true })
end

return M
