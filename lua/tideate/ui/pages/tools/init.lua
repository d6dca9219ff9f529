--- The window of a project's MCP servers and their tools. It starts a server only on request.
local M = {}

local key = require('tideate.ui.keys').key

---@class tideate.Tool
---@field name string
---@field title string
---@field description string
---@field read_only boolean
---@field destructive boolean
---@field allowed boolean without a confirmation

---@class tideate.Server
---@field name string
---@field state 'idle'|'connecting'|'connected'|'failed'|'untrusted'
---@field shown string command or address
---@field own boolean
---@field error string
---@field tools tideate.Tool[]

---@class tideate.ui.ToolsPage: tideate.ui.Page
---@field servers table<integer, string> server name by line

---@type table<string, { [1]: string, [2]: string }> state → word and group
local STATES = {
  idle = { 'not started', 'TideateWaiting' },
  connecting = { 'starting …', 'TideateRunning' },
  connected = { 'connected', 'TideateDone' },
  failed = { 'failed', 'TideateFailed' },
  untrusted = { 'not trusted: `:Workflow trust`', 'TideateWarning' },
}

---@param text string
---@return string on one line
local function line(text)
  return (text:gsub('%s+', ' '))
end

---@param tool tideate.Tool
---@param width integer of the names
---@return tideate.Chunk[]
local function tool_line(tool, width)
  local kind = tool.read_only and 'reads' or tool.destructive and 'writes, may destroy' or 'writes'
  return {
    { '   ' .. require('tideate.ui.text').pad(tool.name, width) .. '  ', 'TideateKey' },
    { kind .. (tool.allowed and '' or ', asks') .. '  ', tool.allowed and 'TideateHint' or 'TideateWarning' },
    { line(tool.description ~= '' and tool.description or tool.title), 'TideateHint' },
  }
end

--- Build the page of servers; a connected server lists its tools.
---@param servers tideate.Server[]
---@param starting table<string, boolean> servers being started
---@return tideate.ui.ToolsPage
local function page_of(servers, starting)
  local page = { title = 'tools', lines = {}, servers = {} }
  local function add(chunks, name)
    table.insert(page.lines, chunks)
    page.servers[#page.lines] = name
  end
  for _, server in ipairs(servers) do
    local state = STATES[starting[server.name] and 'connecting' or server.state] or { server.state, 'TideateHint' }
    add({
      { ' ' .. server.name .. '  ', 'TideateTitle' },
      { state[1] .. '  ', state[2] },
      { line(server.shown), 'TideateHint' },
    }, server.name)
    if server.error ~= '' then
      add({ { '   ' .. line(server.error), 'TideateFailed' } }, server.name)
    end
    local width = 0
    for _, tool in ipairs(server.tools) do
      width = math.max(width, vim.fn.strdisplaywidth(tool.name))
    end
    for _, tool in ipairs(server.tools) do
      add(tool_line(tool, width), server.name)
    end
  end
  if #page.lines == 0 then
    page.lines = { { { ' none: this folder is in no project, and config.toml names no MCP server', 'TideateHint' } } }
  end
  return page
end

---@class tideate.ui.Tools
---@field folder string of the project
---@field servers tideate.Server[]
---@field starting table<string, boolean>

local window ---@type tideate.ui.PageWindow

---@param it tideate.ui.Tools
---@param row? integer
local function draw(it, row)
  window:show(it, page_of(it.servers, it.starting), row)
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

window = require('tideate.ui.pages.window').new('tools', function(it)
  return {
    key('<CR>', 'start', 'start the server, or reload its tools', function()
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
