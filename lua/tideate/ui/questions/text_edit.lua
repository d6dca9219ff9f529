--- An editable text in a float over its question. Edits are kept until the question is answered.
local M = {}

local api = vim.api

local LOWEST = 5 -- rows; the question stays visible behind it
local window = require('tideate.ui.window')

---@class tideate.TextEdit
---@field buf integer
---@field win integer?
---@field back integer?
local TextEdit = {}
TextEdit.__index = TextEdit
M.TextEdit = TextEdit

--- Keep the `q` of `:wq` from closing the next window: it closes a temporary one.
local function keep_from_quitting()
  local id = api.nvim_create_autocmd('QuitPre', {
    callback = function()
      local buf = window.scratch(nil, { bufhidden = 'wipe' })
      api.nvim_open_win(buf, true, { relative = 'editor', row = 0, col = 0, width = 1, height = 1, noautocmd = true })
    end,
  })
  vim.schedule(function()
    api.nvim_del_autocmd(id)
  end)
end

--- Let `:w` and `<CR>` accept a buffer's text.
---@param buf integer
---@param accept fun()
function M.attach(buf, accept)
  vim.bo[buf].buftype = 'acwrite'
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].buflisted = false
  -- nested: the next file opens with its autocmds
  api.nvim_create_autocmd('BufWriteCmd', { buffer = buf, nested = true, callback = function()
    local win = api.nvim_get_current_win()
    accept()
    if not api.nvim_win_is_valid(win) then
      keep_from_quitting()
    end
  end })
  vim.keymap.set('n', '<CR>', accept, { buffer = buf, nowait = true, desc = 'take this text' })
end

--- Release a kept buffer: listed, and no obstacle to leaving Neovim.
---@param buf integer
function M.detach(buf)
  api.nvim_clear_autocmds({ buffer = buf, event = 'BufWriteCmd' })
  vim.keymap.del('n', '<CR>', { buffer = buf })
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].buflisted = true
  vim.bo[buf].modified = false
end

--- Create a buffer whose text `:w` and `<CR>` accept.
---@param kind string the first part of its name
---@param id string of the run
---@param accept fun()
---@return integer buf
function M.buffer(kind, id, accept)
  local buf = window.scratch(('tideate://%s/%s/%d'):format(kind, id:sub(1, 8), vim.uv.hrtime()))
  M.attach(buf, accept)
  return buf
end

---@param buf integer
---@return tideate.TextEdit
function M.new(buf)
  return setmetatable({ buf = buf }, TextEdit)
end

--- Return whether the buffer has text that was not accepted.
---@return boolean
function TextEdit:unfinished()
  return api.nvim_buf_is_valid(self.buf) and vim.bo[self.buf].modified
end

---@return string[]
function TextEdit:lines()
  return api.nvim_buf_get_lines(self.buf, 0, -1, true)
end

--- Return whether all lines were deleted; Neovim shows an empty one instead.
---@return boolean
function TextEdit:deleted()
  return api.nvim_buf_call(self.buf, function()
    return vim.fn.wordcount().bytes == 0
  end)
end

--- Fill in a text, unless the buffer has unfinished edits. `u` cannot remove it, but reverts later edits, even after the
--- window was reopened.
---@param lines string[]
---@param exact boolean? no line differs from one empty line
function TextEdit:fill(lines, exact)
  local same = vim.deep_equal(self:lines(), #lines == 0 and { '' } or lines)
  if self:unfinished() or (same and (not exact or self:deleted() == (#lines == 0))) then
    return
  end
  local levels = vim.bo[self.buf].undolevels
  vim.bo[self.buf].undolevels = -1
  api.nvim_buf_set_lines(self.buf, 0, -1, true, lines)
  vim.bo[self.buf].undolevels = levels
  vim.bo[self.buf].modified = false
end

--- Open the window over the question.
---@param title string
---@param height integer
function TextEdit:open(title, height)
  local columns, rows = window.room()
  self.back = api.nvim_get_current_win()
  local keys = { { '<CR>', 'accept' }, { ':w', 'accept' }, { ':q', 'back' } }
  self.win = window.over(
    self.buf,
    window.centered(math.min(100, columns - 4), math.min(math.max(height, LOWEST), rows - 2), {
      title = { { (' %s '):format(title), 'TideateTitle' } },
      footer = require('tideate.ui.text').keys(keys, columns - 4),
      zindex = 110,
    })
  )
end

---@return boolean
function TextEdit:visible()
  return window.visible(self.win)
end

--- Mark the text as accepted and hide the window.
function TextEdit:taken()
  vim.bo[self.buf].modified = false
  vim.cmd.stopinsert()
  self:hide()
end

function TextEdit:hide()
  window.close(self.win)
  self.win = nil
  if window.visible(self.back) then
    api.nvim_set_current_win(self.back)
  end
end

--- Show in the window that the question ended and the text is kept.
function TextEdit:say_kept()
  if self:visible() then
    window.configure(self.win, {
      title = { { ' nobody waits for this text any more ', 'TideateWarning' } },
      footer = { { ' it is kept in this buffer ', 'TideateHint' } },
    })
  end
end

function TextEdit:close()
  window.close(self.win)
  if api.nvim_buf_is_valid(self.buf) then
    api.nvim_buf_delete(self.buf, { force = true })
  end
end

return M
