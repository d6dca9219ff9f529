--- Reviews of what something else wrote, and of patches: `:Workflow review`.
local M = {}

local NAME = 'review_changes' -- the workflow

---@type { folder?: string, names: string[] } branches, tags and snapshots, as the host told them last
local known = { names = {} }

--- Ask a host that is there for the names that a review can be given; a failure only leaves them out.
---@param on_done? fun()
function M.refresh(on_done)
  local folder = require('tideate.context').folder()
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

--- Files and folders, and the names that the host told of this folder. Never waits for the host, but asks it for the
--- next time.
---@param lead string
---@return string[]
function M.complete(lead)
  local names = known.folder == require('tideate.context').folder() and known.names or {}
  M.refresh()
  local found = vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
  return vim.list_extend(found, require('tideate.file_completion').complete(lead, function()
    return true
  end))
end

--- A word as the working directory means it, where it is a path.
---@param word string
---@return string
local function absolute(word)
  local path = vim.startswith(word, '/') and word or vim.fs.joinpath(vim.fn.getcwd(), word)
  return word ~= '' and vim.uv.fs_lstat(path) and (path:gsub('(.)/+$', '%1')) or word
end

--- The words behind `review`: one path with blanks, or words, where a blank in a path is written `\ `.
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

--- Review what differs from what the words name.
---@param rest string
function M.start(rest)
  local words = words_of(vim.trim(rest))
  if #words > 2 then
    local message = 'at most two things are given, a commit and a folder, not %d'
    return require('tideate.ui').notify(message:format(#words), vim.log.levels.WARN)
  end
  require('tideate.run').start(NAME, {
    inputs = { what = absolute(words[1] or ''), path = absolute(words[2] or '') },
    context = { cwd = require('tideate.context').folder() },
  })
end

return M
