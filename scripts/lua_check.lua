-- Run by lua_check.py in a headless Neovim: loads every Lua file and looks at the globals.
local root = vim.fn.getcwd()
vim.opt.runtimepath:prepend(root)

local failures = 0

---@param path string
---@param what string
local function fail(path, what)
  failures = failures + 1
  io.stderr:write(('%s: %s\n'):format(path, what))
end

local globals = setmetatable({}, { __mode = 'k' })
for name in pairs(_G) do
  globals[name] = true
end

--- How a file is loaded where it is used.
---@param path string relative to the root
local function load_as_used(path)
  local module = path:match('^lua/(.+)%.lua$')
  if module then
    return require((module:gsub('/init$', ''):gsub('/', '.')))
  end
  return dofile(vim.fs.joinpath(root, path))
end

local files = {}
for _, folder in ipairs({ 'plugin', 'lua', 'ftdetect', 'ftplugin', 'syntax', 'after' }) do
  vim.list_extend(files, vim.fn.globpath(folder, '**/*.lua', false, true))
end
table.sort(files)

for _, path in ipairs(files) do
  local needs_other_plugin = path:match('^lua/lualine/')
  local ok, err
  if needs_other_plugin then
    ok, err = loadfile(path)
  else
    ok, err = pcall(load_as_used, path)
  end
  if not ok then
    fail(path, tostring(err))
  end
  for name in pairs(_G) do
    if not globals[name] then
      globals[name] = true
      fail(path, ('sets the global %s'):format(name))
    end
  end
end

io.stdout:write(('%d Lua files, %d problems\n'):format(#files, failures))
os.exit(failures == 0 and #files > 0 and 0 or 1)
