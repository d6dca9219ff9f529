--- Candidates for `@` mentions: built-in ones and the last ones that the host sent.
local M = {}

---@class tideate.Mention
---@field mention string with its `@`
---@field points_to string
---@field type? 'file'|'section'|'variable' nil: built-in
---@field exists boolean
---@field built_in boolean
---@field note string why it cannot be resolved, or that it needs a confirmation

--- Built-in mentions, listed here for completion before the host has started.
M.built_in = { '@buffer', '@diagnostics', '@diff', '@file', '@last', '@run', '@selection', '@symbol', '@symbols', '@tree' }

--- Built-in mentions with a path after a colon.
local WITH_PATH = { diff = true, file = true, symbols = true, tree = true }

local MANY, FEW = 30, 8 -- candidates of files, and of each other kind
local SHORT = 8 -- shown characters of a run's id

---@type {root?: string, names: string[]}
local known = { names = {} }

--- Store the host's list.
---@param result {root?: string, mentions?: tideate.Mention[]}
function M.set_host_mentions(result)
  known = { root = result.root ~= vim.NIL and result.root or nil, names = {} }
  for _, one in ipairs(result.mentions or {}) do
    if not one.built_in then
      table.insert(known.names, one.mention)
    end
  end
end

--- Request the list from a running host; an error is reported only to users who open the list.
function M.refresh()
  if require('tideate.host').state() ~= 'ready' then
    return
  end
  local params = { folder = require('tideate.context').folder() }
  require('tideate.project_files').refresh(params.folder)
  require('tideate.client').request('contexts', params, function(result)
    if result.ok then
      M.set_host_mentions(result)
    end
  end)
end

--- Keep the list current after changes of its file or the working directory.
function M.watch()
  local group = vim.api.nvim_create_augroup('tideate.mentions', {})
  vim.api.nvim_create_autocmd('BufWritePost', { group = group, pattern = '*/.tideate/context.json', callback = M.refresh })
  vim.api.nvim_create_autocmd('DirChanged', { group = group, callback = M.refresh })
  M.refresh()
end

---@return boolean whether the list is of the current project
local function is_here()
  local folder = vim.fs.normalize(require('tideate.context').folder())
  return known.root ~= nil and (folder == known.root or vim.startswith(folder, known.root .. '/'))
end

---@param kind string
---@param path string
---@return string
local function written(kind, path)
  return path:find('%s') and ('@%s:"%s"'):format(kind, path) or ('@%s:%s'):format(kind, path)
end

---@param lead string prefix of a run's id
---@return string[]
local function runs(lead)
  local run_choice = require('tideate.run_choice')
  return vim.tbl_map(function(id)
    return '@run:' .. id
  end, vim.tbl_filter(function(id)
    return vim.startswith(id, lead)
  end, run_choice.stored_ids(run_choice.any, run_choice.any)()))
end

---@param kind string
---@param lead string path relative to the project's root
---@return string[]
local function paths(kind, lead)
  local function wanted(path)
    return kind ~= 'tree' or vim.endswith(path, '/')
  end
  local found = require('tideate.file_completion').complete(lead, wanted, is_here() and known.root or nil)
  return vim.tbl_map(function(path)
    return written(kind, path)
  end, found)
end

---@class tideate.MentionItem
---@field word string
---@field menu string its kind, followed by a description

---@param words string[]
---@param menu string
---@return tideate.MentionItem[]
local function items(words, menu)
  return vim.tbl_map(function(word)
    return { word = word, menu = menu }
  end, words)
end

--- Return the runs with a query in the first line of their prompt.
---@param query string
---@return tideate.MentionItem[]
local function titled_runs(query)
  local found = {}
  for _, run in ipairs(require('tideate.run_choice').stored()) do
    local title = type(run.prompt) == 'string' and vim.trim(run.prompt):match('^[^\n]*') or ''
    if title:lower():find(query:lower(), 1, true) and #found < FEW then
      table.insert(found, { word = '@run:' .. run.execution_id:sub(1, SHORT), menu = 'run: ' .. title })
    end
  end
  return found
end

--- Return the files with a diff: those in diff windows, then changed files.
---@param query string
---@return string[]
local function diffs(query)
  local files, open = require('tideate.project_files'), {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local path = files.relative(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))
    table.insert(open, vim.wo[win].diff and path or nil)
  end
  local names = vim.list_extend(open, files.changed())
  local index = require('tideate.fuzzy').index(#names > 0 and table.concat(names, '\n') .. '\n' or '')
  local found = require('tideate.fuzzy').search(index, query, FEW)
  return vim.tbl_map(function(match)
    return written('diff', match.path)
  end, found)
end

---@param query string
---@return tideate.MentionItem[]
local function symbols(query)
  local found = vim.fn.matchfuzzy(require('tideate.ui.prompt.completion').symbol_names(), query)
  return items(
    vim.tbl_map(function(name)
      return '@symbol:' .. name
    end, vim.list_slice(found, 1, FEW)),
    'symbol'
  )
end

--- Complete the part after the colon of a mention.
---@param kind string
---@param lead string
---@return tideate.MentionItem[]
local function completed(kind, lead)
  if kind == 'run' then
    local found = items(runs(lead), 'run')
    return #found > 0 and found or titled_runs(lead)
  elseif kind == 'symbol' then
    return symbols(lead)
  elseif not WITH_PATH[kind] then
    return {}
  end
  local found = kind == 'diff' and diffs(lead) or {}
  vim.list_extend(found, paths(kind, lead))
  for _, path in ipairs(kind ~= 'tree' and require('tideate.project_files').search(lead, MANY) or {}) do
    local mention = written(kind, path)
    table.insert(found, not vim.list_contains(found, mention) and mention or nil)
  end
  return items(found, 'mention')
end

--- Return the mentions for a word that begins with `@`: names with this beginning, then fuzzy matches of files,
--- symbols, changed files and runs. Never waits for the host.
---@param lead string
---@return tideate.MentionItem[]
function M.candidates(lead)
  local kind, path = lead:match('^@(%l+):"?(.*)$')
  if kind then
    return completed(kind, path)
  end
  local names = vim.list_extend(is_here() and vim.list_slice(known.names) or {}, M.built_in)
  local found = items(
    vim.tbl_filter(function(name)
      return vim.startswith(name, lead)
    end, names),
    'mention'
  )
  local query = lead:sub(2)
  for _, file in ipairs(require('tideate.project_files').search(query, query == '' and FEW or MANY)) do
    table.insert(found, { word = written('file', file), menu = 'file' })
  end
  if query == '' then
    return found
  end
  vim.list_extend(found, symbols(query))
  vim.list_extend(found, items(diffs(query), 'changed file'))
  return vim.list_extend(found, titled_runs(query))
end

--- Complete a word that begins with `@`.
---@param lead string
---@return string[]
function M.complete(lead)
  return vim.tbl_map(function(item)
    return item.word
  end, M.candidates(lead))
end

return M
