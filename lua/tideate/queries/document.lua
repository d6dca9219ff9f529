--- Get a file's buffer with its language servers ready, open or loaded in the background.
local M = {}

local hidden = require('tideate.queries.hidden_buffers')

local GRACE = 500 -- milliseconds in which a server may appear

--- Return whether a running client would attach to a file.
---@param client vim.lsp.Client
---@param path string
---@param filetype string
---@return boolean
function M.serves(client, path, filetype)
  local folders = client.workspace_folders or {}
  local inside = #folders == 0
  for _, folder in ipairs(folders) do
    local root = require('tideate.edit').canonical(vim.uri_to_fname(folder.uri))
    inside = inside or vim.startswith(path, root .. '/')
  end
  local filetypes = client.config.filetypes
  if not inside or filetypes then
    return inside and vim.tbl_contains(filetypes --[=[@as string[]]=], filetype)
  end
  for buf in pairs(client.attached_buffers) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].filetype == filetype then
      return true
    end
  end
  return false
end

--- Attach running servers to a loaded file, else let the user's configuration start some.
---@param buf integer
---@param path string
local function attach(buf, path)
  local ok, filetype = pcall(vim.filetype.match, { buf = buf, filename = path })
  if not ok or not filetype then
    return
  end
  local serving = vim.tbl_filter(function(client)
    return M.serves(client, path, filetype)
  end, vim.lsp.get_clients())
  if #serving == 0 then
    vim.bo[buf].filetype = filetype
    return
  end
  hidden.quietly(function()
    vim.bo[buf].filetype = filetype
  end)
  for _, client in ipairs(serving) do
    vim.lsp.buf_attach_client(buf, client.id)
  end
end

---@param buf integer
---@return boolean
local function all_ready(buf)
  local ready = #vim.lsp.get_clients({ bufnr = buf })
  return ready > 0 and ready == #vim.lsp.get_clients({ bufnr = buf, _uninitialized = true })
end

---@param task tideate.Task
---@param buf integer
---@param path string
---@param callback fun(waited: boolean)
local function when_ready(task, buf, path, callback)
  if all_ready(buf) then
    return callback(false)
  end
  local called = false
  local function check()
    if not called and all_ready(buf) then
      called = true
      callback(true)
    end
  end
  task.waits_for = 'the language server of ' .. vim.fs.basename(path)
  task:autocmd('LspAttach', {
    buffer = buf,
    desc = 'tideate: a query waits for a language server',
    -- later: after the event's own autocommands
    callback = function()
      task:later(0, check)
    end,
  })
  task:later(GRACE, function()
    check()
    if not called and #vim.lsp.get_clients({ bufnr = buf, _uninitialized = true }) == 0 then
      task:fail(('no language server runs for %s in this Neovim; use other tools'):format(vim.fs.basename(path)))
    end
  end)
end

--- Get a file's buffer with ready language servers; load it in the background if it is not open.
---@param task tideate.Task fails without a server
---@param path string absolute, without links
---@param callback fun(buf: integer, fresh: boolean) `fresh`: newly loaded
function M.open(task, path, callback)
  local buf, err, fresh = require('tideate.edit').find(path), nil, false
  if not buf then
    buf = hidden.find(path)
    if not buf then
      buf, err = hidden.load(path)
      fresh = buf ~= nil
    end
    if not buf then
      return task:fail(('%s: %s'):format(path, err))
    end
    hidden.use(task, buf)
    if fresh then
      attach(buf, path)
    end
  end
  when_ready(task, buf, path, function(waited)
    callback(buf, fresh or waited)
  end)
end

return M
