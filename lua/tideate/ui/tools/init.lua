--- The window of a project's MCP servers and their tools. It starts a server only on request.
local M = {}

local key = require('tideate.ui.keys').key

---@class tideate.ui.Tools
---@field folder string of the project
---@field servers tideate.Server[]
---@field starting table<string, boolean>

local window ---@type tideate.ui.PageWindow

---@param it tideate.ui.Tools
---@param row? integer
local function draw(it, row)
  window:show(it, require('tideate.ui.tools.text').page(it.servers, it.starting), row)
end

---@param it tideate.ui.Tools
local function redraw(it)
  if window.shown == it and window:is_visible() then
    draw(it, window:row())
  end
end

---@param folder string
---@param connect string[]
---@param on_end fun(servers: tideate.Server[]?) nil after an error
local function ask(folder, connect, on_end)
  local client = require('tideate.client')
  client.request('tools', { folder = folder, connect = connect }, function(result)
    client.report(result)
    on_end(result.ok and result.servers or nil)
  end)
end

--- Start servers and list their tools.
---@param it tideate.ui.Tools
---@param names string[]
local function start(it, names)
  if #names == 0 then
    return
  end
  for _, name in ipairs(names) do
    it.starting[name] = true
  end
  redraw(it)
  ask(it.folder, names, function(servers)
    for _, name in ipairs(names) do
      it.starting[name] = nil
    end
    it.servers = servers or it.servers
    redraw(it)
  end)
end

window = require('tideate.ui.page_window').new('tools', function(it)
  return {
    key('<CR>', 'start', 'start the server, or list its tools anew', function()
      start(it, { window.page.servers[window:row()] })
    end),
    key('a', 'all', 'start all servers', function()
      start(it, vim.tbl_map(function(server)
        return server.name
      end, it.servers))
    end),
  }
end)

--- Show the servers of the current project.
function M.show()
  local folder = require('tideate.context').folder()
  ask(folder, {}, function(servers)
    if servers then
      local row = window:is_visible() and window:row() or nil
      draw({ folder = folder, servers = servers, starting = row and window.shown.starting or {} }, row)
    end
  end)
end

return M
