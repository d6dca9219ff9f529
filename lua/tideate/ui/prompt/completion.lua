--- Completion in the prompt window: mentions, files, symbols, workflows. Slow sources are asked beforehand.
local M = {}

local api = vim.api

local MOST_LINES = 5000 -- searched for definitions
local WITHIN = 5000 -- milliseconds for language servers
local CHOOSE = 'menu,menuone,noselect' -- 'completeopt': nothing is inserted that was not chosen
local DEFINES = { 'def', 'class', 'function', 'fn', 'func', 'struct', 'enum', 'trait', 'interface', 'type', 'module' }

---@class tideate.ui.CompletionItem
---@field word string
---@field menu string its kind
---@field equal? integer 1: Neovim does not filter it

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
  require('tideate.project_files').refresh(require('tideate.context').folder())
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

--- Return the names of the known symbols.
---@return string[]
function M.symbol_names()
  return vim.tbl_map(function(item)
    return item.word
  end, symbols)
end

--- Return the completions of a word. Never asks the host or a server.
---@param lead string
---@param at_start boolean whether it is the first word
---@return tideate.ui.CompletionItem[]
function M.candidates(lead, at_start)
  if vim.startswith(lead, '@') then
    return require('tideate.mentions').candidates(lead)
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

---@type string? text before the cursor for which the menu was opened
local opened_for

--- Open a menu while the user types a mention, unless a completion plugin does.
local function complete_mention()
  local chosen = vim.fn.complete_info({ 'selected' }).selected ~= -1
  if chosen or package.loaded['blink.cmp'] or package.loaded.cmp then
    return
  end
  local before = api.nvim_get_current_line():sub(1, api.nvim_win_get_cursor(0)[2])
  local word = before:match('[^%s()]*$')
  -- opening the menu calls this again
  if not vim.startswith(word, '@') or (before == opened_for and vim.fn.pumvisible() == 1) then
    return
  end
  opened_for = before
  local found = M.candidates(word, false)
  for _, item in ipairs(found) do
    item.equal = 1
  end
  if #found > 0 and not (#found == 1 and found[1].word == word) then
    vim.fn.complete(#before - #word + 1, found)
  end
end

--- Complete in a buffer: with 'completefunc' and 'omnifunc', and mentions while they are typed.
---@param buf integer
function M.attach(buf)
  local name = "v:lua.require'tideate.ui.prompt.completion'.complete"
  vim.bo[buf].completefunc, vim.bo[buf].omnifunc = name, name
  local group = api.nvim_create_augroup('tideate.completion.' .. buf, {})
  api.nvim_create_autocmd({ 'TextChangedI', 'TextChangedP' }, { group = group, buffer = buf, callback = complete_mention })
  if vim.fn.has('nvim-0.11') == 1 then
    vim.bo[buf].completeopt = CHOOSE
    return
  end
  local before -- Neovim 0.10 has the option for all buffers only
  api.nvim_create_autocmd('BufEnter', {
    group = group,
    buffer = buf,
    callback = function()
      before = before or vim.o.completeopt
      vim.o.completeopt = CHOOSE
    end,
  })
  api.nvim_create_autocmd('BufLeave', {
    group = group,
    buffer = buf,
    callback = function()
      vim.o.completeopt, before = before or vim.o.completeopt, nil
    end,
  })
end

--- Return the keys that complete the word before the cursor and insert the first candidate.
---@return string? keys nil: nothing completes it
function M.keys()
  local row, col = unpack(api.nvim_win_get_cursor(0))
  local before = api.nvim_get_current_line():sub(1, col)
  local word = before:match('[^%s()]*$')
  local first = row == 1 and not before:sub(1, #before - #word):find('%S')
  return #M.candidates(word, first) > 0 and '<C-x><C-u><C-n>' or nil
end

return M
