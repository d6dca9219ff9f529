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
M.built_in = { '@buffer', '@diagnostics', '@diff', '@file', '@last', '@run', '@selection', '@symbols', '@tree' }

--- Built-in mentions with a path after a colon.
local WITH_PATH = { diff = true, file = true, symbols = true, tree = true }

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

--- Complete a word that begins with `@`, without waiting for the host.
---@param lead string
---@return string[]
function M.complete(lead)
  local kind, path = lead:match('^@(%l+):"?(.*)$')
  if kind == 'run' then
    return runs(path)
  elseif kind then
    return WITH_PATH[kind] and paths(kind, path) or {}
  end
  local names = vim.list_extend(is_here() and vim.list_slice(known.names) or {}, M.built_in)
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
end

return M
