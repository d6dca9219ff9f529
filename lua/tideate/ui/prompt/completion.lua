--- Completion in the prompt window: mentions, files, symbols, workflows. Slow sources are asked beforehand.
local M = {}

local api = vim.api

local MOST_LINES = 5000 -- searched for definitions
local WITHIN = 5000 -- milliseconds for language servers
local DEFINES = { 'def', 'class', 'function', 'fn', 'func', 'struct', 'enum', 'trait', 'interface', 'type', 'module' }

---@class tideate.ui.CompletionItem
---@field word string
---@field menu string its kind

---@type tideate.ui.CompletionItem[]
local symbols = {}

--- Return names after a defining keyword, for buffers without a language server.
---@param buf integer
---@return tideate.ui.CompletionItem[]
local function defined(buf)
  local found, seen = {}, {}
  for _, line in ipairs(api.nvim_buf_get_lines(buf, 0, MOST_LINES, false)) do
    for word, name in line:gmatch('%f[%w](%l+)%s+([%a_][%w_.:]*)') do
      if vim.list_contains(DEFINES, word) and not seen[name] then
        seen[name] = true
        table.insert(found, { word = name, menu = word })
      end
    end
  end
  return found
end

---@param result table<string, any> of `tideate.queries.symbols`
---@return tideate.ui.CompletionItem[]
local function listed(result)
  local found, seen = {}, {}
  for _, answer in ipairs(result.answers or {}) do
    for _, symbol in ipairs(answer.result) do
      if not seen[symbol.name] then
        seen[symbol.name] = true
        table.insert(found, { word = symbol.name, menu = symbol.kind })
      end
    end
  end
  return found
end

--- Collect the symbols of a prompt's buffer; servers answer later.
---@param buf integer
function M.learn(buf)
  symbols = defined(buf)
  local path = api.nvim_buf_get_name(buf)
  if path == '' or #vim.lsp.get_clients({ bufnr = buf, method = 'textDocument/documentSymbol' }) == 0 then
    return
  end
  local function log(err)
    require('tideate.paths').log('no symbols for the prompt: ' .. err)
  end
  local task = require('tideate.queries.task').new(WITHIN, function(result)
    local found = listed(result)
    symbols = #found > 0 and found or symbols
  end, log)
  require('tideate.queries.symbols').document(task, { path = path })
end

---@param words string[]
---@param kind string
---@return tideate.ui.CompletionItem[]
local function items(words, kind)
  return vim.tbl_map(function(word)
    return { word = word, menu = kind }
  end, words)
end

---@param start string
---@return tideate.ui.CompletionItem[]
local function workflows(start)
  local lookup, names = require('tideate.workflow_lookup'), {}
  for _, workflow in ipairs(require('tideate.registry').list()) do
    table.insert(names, workflow.name)
  end
  local found = vim.tbl_filter(function(name)
    return vim.startswith(name, start)
  end, lookup.merge(names, lookup.found()))
  return items(vim.tbl_map(function(name)
    return '/' .. name
  end, found), 'workflow')
end

---@param lead string
---@return tideate.ui.CompletionItem[]
local function files(lead)
  local root = require('tideate.ui.prompt.history').project(require('tideate.context').folder())
  local outside = vim.startswith(lead, '/') or vim.startswith(lead, '~')
  return items(require('tideate.file_completion').complete(lead, nil, not outside and root or nil), 'file')
end

---@param lead string
---@return tideate.ui.CompletionItem[]
local function matching_symbols(lead)
  local start = lead:lower()
  return vim.tbl_filter(function(item)
    return vim.startswith(item.word:lower(), start)
  end, symbols)
end

--- Return the completions of a word. Never asks the host or a server.
---@param lead string
---@param at_start boolean whether it is the first word
---@return tideate.ui.CompletionItem[]
function M.candidates(lead, at_start)
  if vim.startswith(lead, '@') then
    return items(require('tideate.mentions').complete(lead), 'mention')
  elseif at_start and vim.startswith(lead, '/') then
    return workflows(lead:sub(2))
  end
  local found = matching_symbols(lead)
  vim.list_extend(found, files(lead))
  return vim.list_extend(found, at_start and lead == '' and workflows('') or {})
end

--- 'completefunc' and 'omnifunc' of the window.
---@param findstart integer
---@param base string
---@return integer|tideate.ui.CompletionItem[]
function M.complete(findstart, base)
  local row, col = unpack(api.nvim_win_get_cursor(0))
  local before = api.nvim_get_current_line():sub(1, col)
  if findstart == 1 then
    return col - #before:match('[^%s()]*$')
  end
  return M.candidates(base, row == 1 and not before:find('%S'))
end

return M
