--- Language support of a workflow buffer: diagnostics, and a server for Neovim's LSP client.
local M = {}

local api = vim.api

---@type table<integer, true>
local attached = {}

---@param buf integer
---@return boolean
local function is_supported(buf)
  return vim.bo[buf].buftype == '' and not require('tideate.language.requests').too_large(buf)
end

---@param buf integer
local function watch(buf)
  local group = api.nvim_create_augroup('tideate.language.' .. buf, { clear = true })
  api.nvim_create_autocmd('BufWritePost', {
    group = group,
    buffer = buf,
    desc = 'Check a .workflow file again, with a new host if the last one is gone',
    callback = function()
      require('tideate.language.requests').retry()
      require('tideate.language.check').run(buf)
    end,
  })
  api.nvim_create_autocmd('BufUnload', {
    group = group,
    buffer = buf,
    desc = 'Detach from a .workflow buffer',
    callback = function()
      M.detach(buf, true)
    end,
  })
end

--- Attach to a buffer, after the editor has shown it. Returns at once.
---@param buf integer
---@param definition? boolean a YAML or JSON definition: it is only checked, other servers complete it
function M.attach(buf, definition)
  if attached[buf] or not is_supported(buf) then
    return
  end
  attached[buf] = true
  watch(buf)
  local function later(start)
    vim.schedule(function()
      if attached[buf] and api.nvim_buf_is_loaded(buf) then
        start(buf)
      end
    end)
  end
  later(function()
    require('tideate.language.requests').retry()
    require('tideate.language.check').start(buf, definition)
    if definition then
      return
    end
    -- in steps, so that keys are handled in between
    later(require('tideate.language.server').start)
  end)
end

--- Detach from a buffer.
---@param buf integer 0: the current one
---@param gone? boolean it is being unloaded, which Neovim's client notices itself
function M.detach(buf, gone)
  buf = buf == 0 and api.nvim_get_current_buf() or buf
  if not attached[buf] then
    return
  end
  attached[buf] = nil
  api.nvim_create_augroup('tideate.language.' .. buf, { clear = true })
  require('tideate.language.check').stop(buf)
  require('tideate.language.outline').discard(buf)
  if not gone then
    require('tideate.language.server').stop(buf)
  end
end

return M
