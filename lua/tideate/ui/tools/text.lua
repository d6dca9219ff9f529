--- Text of the MCP servers window.
local M = {}

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
function M.page(servers, starting)
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

return M
