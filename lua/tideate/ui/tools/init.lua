--- The window of a project's MCP servers and their tools. It starts a server only on request.
local M = {}

---@class tideate.ui.Tools
---@field window tideate.ui.PageWindow
---@field folder string of the project
---@field page tideate.ui.ToolsPage
---@field servers tideate.Server[]
---@field starting table<string, boolean>

---@type tideate.ui.Tools?
local shown

---@return boolean
function M.is_visible()
  return require('tideate.ui.page_window').shows(shown)
end

function M.close()
  local it = shown
  if it then
    shown = nil
    require('tideate.ui.page_window').close(it.window)
  end
end

local function draw()
  local it = shown
  if it and M.is_visible() then
    local row = vim.api.nvim_win_get_cursor(it.window.win)[1]
    it.page = require('tideate.ui.tools.text').page(it.servers, it.starting)
    require('tideate.ui.page_window').draw(it.window, it.page, row)
  end
end

---@param folder string
---@param connect string[]
---@param take fun(servers: tideate.Server[])
---@param failed? fun()
local function ask(folder, connect, take, failed)
  require('tideate.client').request('tools', { folder = folder, connect = connect }, function(result)
    if result.ok then
      return take(result.servers)
    elseif not result.cancelled then
      require('tideate.ui').fail(result.error)
    end
    if failed then
      failed()
    end
  end)
end

--- Start servers and list their tools.
---@param names string[]
local function start(names)
  local it = shown
  if not it or #names == 0 then
    return
  end
  for _, name in ipairs(names) do
    it.starting[name] = true
  end
  draw()
  local function over()
    for _, name in ipairs(names) do
      it.starting[name] = nil
    end
  end
  ask(it.folder, names, function(servers)
    over()
    it.servers = servers
    if shown == it then
      draw()
    end
  end, function()
    over()
    draw()
  end)
end

local function start_one()
  if M.is_visible() then
    local name = shown.page.servers[vim.api.nvim_win_get_cursor(shown.window.win)[1]]
    start(name and { name } or {})
  end
end

local function start_all()
  if M.is_visible() then
    start(vim.tbl_map(function(server)
      return server.name
    end, shown.servers))
  end
end

---@return tideate.Key[]
function M.keys()
  local function key(lhs, word, desc, run)
    return { lhs = lhs, word = word, desc = desc, run = run }
  end
  return {
    key({ '<CR>' }, 'start', 'start the server, or list its tools anew', start_one),
    key({ 'a' }, 'all', 'start all servers', start_all),
    key({ 'q', '<Esc>' }, 'close', 'close this window', M.close),
    key({ '?', 'g?' }, 'help', 'this help', function()
      require('tideate.ui.keys').help('tools', M.keys())
    end),
  }
end

---@param folder string
---@param servers tideate.Server[]
local function open(folder, servers)
  local page = require('tideate.ui.tools.text').page(servers, {})
  local it = { folder = folder, servers = servers, starting = {}, page = page }
  shown = it
  it.window = require('tideate.ui.page_window').open(page, M.keys, {
    closed = function()
      shown = shown ~= it and shown or nil
    end,
  })
  draw()
end

--- Show the servers of the current project.
function M.show()
  local folder = require('tideate.context').folder()
  ask(folder, {}, function(servers)
    if M.is_visible() then
      shown.folder, shown.servers = folder, servers
      draw()
    else
      open(folder, servers)
    end
  end)
end

return M
