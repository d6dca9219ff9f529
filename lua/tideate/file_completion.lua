--- Completion of file names from the typed text taken literally.
--- Unlike Neovim's own, it expands no pattern, no variable, and no command between backticks.
local M = {}

local MOST = 2000 -- checked entries
local LONGEST = 30 * 1000 * 1000 -- nanoseconds
local CHUNK = 100 -- entries per read

---@param typed string up to its last `/`
---@param base? string
---@return string path
local function folder_of(typed, base)
  if base then
    return vim.fs.joinpath(base, typed)
  elseif typed == '' then
    return '.'
  end
  return (typed:gsub('^~/', function()
    return vim.uv.os_homedir() .. '/'
  end))
end

---@param path string
---@param kind string from `vim.uv.fs_readdir`
---@return boolean
local function is_directory(path, kind)
  if kind == 'link' or kind == 'unknown' then
    local stat = vim.uv.fs_stat(path)
    return stat ~= nil and stat.type == 'directory'
  end
  return kind == 'directory'
end

---@param handle uv.luv_dir_t
---@param visit fun(name: string, kind: string)
local function each(handle, visit)
  local looked, stop = 0, vim.uv.hrtime() + LONGEST
  local entries = vim.uv.fs_readdir(handle)
  while entries do
    for _, entry in ipairs(entries) do
      looked = looked + 1
      if looked > MOST or vim.uv.hrtime() > stop then
        return
      end
      visit(entry.name, entry.type)
    end
    entries = vim.uv.fs_readdir(handle)
  end
end

--- Return the files and directories that complete a name; incomplete for a very large or slow directory.
---@param lead string
---@param wanted? fun(path: string): boolean gets a path as typed; a directory ends with `/`
---@param base? string default: the working directory
---@return string[] paths sorted
function M.complete(lead, wanted, base)
  local typed, start = lead:match('^(.*/)(.*)$')
  typed, start = typed or '', start or lead
  local folder = folder_of(typed, base)
  local handle = vim.uv.fs_opendir(folder, nil, CHUNK)
  if not handle then
    return {}
  end
  local found = {}
  each(handle, function(name, kind)
    local hidden = vim.startswith(name, '.') and not vim.startswith(start, '.')
    if not hidden and vim.startswith(name, start) then
      local path = typed .. name .. (is_directory(vim.fs.joinpath(folder, name), kind) and '/' or '')
      if not wanted or wanted(path) then
        table.insert(found, path)
      end
    end
  end)
  vim.uv.fs_closedir(handle)
  table.sort(found)
  return found
end

return M
