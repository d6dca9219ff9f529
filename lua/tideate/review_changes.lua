--- `:Workflow review`: review changes by other tools, and patches.
local M = {}

local context = require('tideate.context')

local NAME = 'review_changes' -- workflow

---@type { folder?: string, names: string[] } branches, tags and snapshots last sent by the host
local known = { names = {} }

--- Request the names for completion from a running host; an error only leaves them out.
---@param on_done? fun()
function M.refresh(on_done)
  local folder = context.folder()
  if require('tideate.host').state() ~= 'ready' then
    return
  end
  require('tideate.client').request('review_names', { folder = folder }, function(result)
    if result.ok then
      known = { folder = folder, names = result.names }
    end
    if on_done then
      on_done()
    end
  end)
end

--- Complete files, folders and known names without waiting for the host; new names are requested for the next time.
---@param lead string
---@return string[]
function M.complete(lead)
  local names = known.folder == context.folder() and known.names or {}
  M.refresh()
  local found = vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
  return vim.list_extend(found, require('tideate.file_completion').complete(lead))
end

--- Make a word absolute if it is an existing path.
---@param word string
---@return string
local function absolute(word)
  local path = vim.startswith(word, '/') and word or vim.fs.joinpath(vim.fn.getcwd(), word)
  return word ~= '' and vim.uv.fs_lstat(path) and (path:gsub('(.)/+$', '%1')) or word
end

--- Split arguments: one path with blanks, or words with blanks written `\ `.
---@param rest string
---@return string[]
local function words_of(rest)
  if vim.uv.fs_lstat(vim.fs.joinpath(vim.fn.getcwd(), rest)) then
    return { rest }
  end
  return vim.tbl_map(function(word)
    return (word:gsub('%z', ' '))
  end, vim.split((rest:gsub('\\ ', '\0')), '%s+', { trimempty = true }))
end

--- Review the difference that the arguments name.
---@param rest string
function M.start(rest)
  local words = words_of(vim.trim(rest))
  if #words > 2 then
    local message = 'at most two things are given, a commit and a folder, not %d'
    return require('tideate.ui').warn(message:format(#words))
  end
  require('tideate.run').start(NAME, {
    inputs = { what = absolute(words[1] or ''), path = absolute(words[2] or '') },
    context = { cwd = context.folder() },
  })
end

return M
