--- Files loaded in the background for a query and removed later: no window, autocommand or swap file.
local M = {}

local api = vim.api

--- Milliseconds, but for the bytes of a file.
---@class tideate.HiddenBufferLimits
M.limits = {
  --- loading a larger file, and sending it to a server, blocks the editor for more than a frame
  bytes = 512 * 1024,
  --- time that a file stays loaded after its last query: the next one often needs it
  linger = 3000,
  --- time after which a file is unloaded despite a pending request
  longest_linger = 30000,
}

---@class tideate.HiddenBuffer
---@field uses integer number of queries
---@field was_known boolean an unloaded buffer of that name existed before
---@field round integer number of uses

---@type table<integer, tideate.HiddenBuffer>
local hidden = {}

--- Return whether a buffer is loaded only for queries.
---@param buf integer
---@return boolean
function M.is_hidden(buf)
  return hidden[buf] ~= nil
end

--- Run a function without autocommands.
---@param fn fun()
---@return boolean ok, any err
function M.quietly(fn)
  local before = vim.o.eventignore
  vim.o.eventignore = 'all'
  local ok, err = pcall(fn)
  vim.o.eventignore = before
  return ok, err
end

--- Make a hidden buffer a normal one after the user opened it.
---@param buf integer
local function hand_over(buf)
  if not hidden[buf] then
    return
  end
  hidden[buf] = nil
  vim.bo[buf].swapfile = vim.go.swapfile
  vim.bo[buf].bufhidden = ''
  vim.bo[buf].autoread = nil
  vim.bo[buf].modeline = vim.go.modeline
  api.nvim_buf_call(buf, function()
    vim.cmd('silent! doautocmd BufReadPost')
  end)
end

--- Remove an unused buffer, unless the user changed or opened it.
---@param buf integer
local function unload(buf)
  local it = hidden[buf]
  if not api.nvim_buf_is_valid(buf) then
    hidden[buf] = nil
    return
  end
  local is_listed = vim.bo[buf].buflisted and not it.was_known
  if vim.bo[buf].modified or is_listed or #vim.fn.win_findbuf(buf) > 0 then
    return hand_over(buf)
  end
  hidden[buf] = nil
  vim.bo[buf].bufhidden = ''
  api.nvim_buf_delete(buf, { unload = it.was_known })
end

--- Return whether a request about a buffer is pending: many handlers fail without the buffer.
---@param buf integer
---@return boolean
local function is_awaited(buf)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf })) do
    for _, request in pairs(client.requests) do
      if request.bufnr == buf and request.type == 'pending' then
        return true
      end
    end
  end
  return false
end

---@param buf integer
---@param it tideate.HiddenBuffer
local function release(buf, it)
  it.uses = it.uses - 1
  local round, waited = it.round, 0
  local function check()
    if hidden[buf] ~= it or it.round ~= round then
      return
    elseif waited < M.limits.longest_linger and is_awaited(buf) then
      waited = waited + 500
      return vim.defer_fn(check, 500)
    end
    unload(buf)
  end
  if it.uses == 0 then
    vim.defer_fn(check, M.limits.linger)
  end
end

--- Load a file in the background; call `use` afterwards.
---@param path string absolute
---@return integer? buf, string? err
function M.load(path)
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= 'file' then
    return nil, 'there is no such file'
  elseif stat.size > M.limits.bytes then
    local words = 'it has %d KiB; files over %d KiB are not loaded for language servers'
    return nil, words:format(stat.size / 1024, M.limits.bytes / 1024)
  end
  local buf ---@type integer
  local was_known = vim.fn.bufexists(path) == 1
  local ok, err = M.quietly(function()
    buf = vim.fn.bufadd(path)
    vim.bo[buf].swapfile = false -- another editor's swap file would raise a prompt
    vim.bo[buf].modeline = false
    vim.bo[buf].bufhidden = 'hide'
    vim.bo[buf].autoread = true
    vim.fn.bufload(buf)
  end)
  if not ok or not api.nvim_buf_is_loaded(buf) then
    return nil, ('the editor cannot load it: %s'):format(err)
  end
  if hidden[buf] then
    return buf -- loaded under the name of a link
  end
  hidden[buf] = { uses = 0, was_known = was_known, round = 0 }
  api.nvim_create_autocmd('BufWinEnter', {
    buffer = buf,
    once = true,
    desc = 'tideate: a file that was loaded for a query is opened',
    callback = function()
      vim.schedule(function()
        hand_over(buf)
      end)
    end,
  })
  return buf
end

--- Return the buffer loaded for a file.
---@param path string absolute
---@return integer?
function M.find(path)
  for buf in pairs(hidden) do
    if api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_name(buf) == path then
      return buf
    end
  end
end

--- Keep a buffer until a task ends.
---@param task tideate.Task
---@param buf integer a hidden buffer
function M.use(task, buf)
  local it = hidden[buf]
  it.uses, it.round = it.uses + 1, it.round + 1
  task:on_end(function()
    release(buf, it)
  end)
  if it.round > 1 then
    -- the file may have changed meanwhile
    pcall(vim.cmd, ('silent! checktime %d'):format(buf))
  end
end

return M
