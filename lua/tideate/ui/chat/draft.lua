--- Unsent messages of chats in private files, which outlive windows, hosts and Neovim.
local M = {}

local PAUSE = 300 -- milliseconds without a change

---@type table<string, uv.uv_timer_t> by file
local timers = {}

---@param folder string of the project
---@param chat string its first run, or `new`
---@return string
local function file_of(folder, chat)
  local state = vim.fs.dirname(require('tideate.paths').log_path())
  return vim.fs.joinpath(state, 'drafts', vim.fn.sha256(folder .. '\n' .. chat):sub(1, 32) .. '.md')
end

--- Return the unsent message of a chat; empty without one.
---@param folder string
---@param chat string
---@return string
function M.read(folder, chat)
  local file = require('tideate.private_file').open(file_of(folder, chat))
  local text = file and file:read('*a') or ''
  if file then
    file:close()
  end
  return text
end

--- Keep an unsent message now; delete the file of an empty one.
---@param folder string
---@param chat string
---@param text string
function M.write(folder, chat, text)
  local path = file_of(folder, chat)
  if timers[path] then
    timers[path]:stop()
    timers[path]:close()
    timers[path] = nil
  end
  if not text:find('%S') then
    vim.uv.fs_unlink(path)
    return
  end
  local err = require('tideate.private_file').write(path, text)
  if err then
    require('tideate.paths').log('cannot keep the unsent message of a chat: ' .. err)
  end
end

--- Keep an unsent message after the next pause in typing.
---@param folder string
---@param chat string
---@param text fun(): string
function M.later(folder, chat, text)
  local path = file_of(folder, chat)
  timers[path] = timers[path] or assert(vim.uv.new_timer())
  timers[path]:start(PAUSE, 0, vim.schedule_wrap(function()
    if timers[path] then
      M.write(folder, chat, text())
    end
  end))
end

return M
