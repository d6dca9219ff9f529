--- An editable text in a float over its question.
--- Edits are kept until the question is answered; those of an ended question stay in their buffers and return with the
--- same question.
local M = {}

local api = vim.api
local window = require('tideate.ui.window')

local LOWEST = 5 -- rows; the question stays visible behind it
local KEPT = 10 -- texts of ended questions

M.group = api.nvim_create_augroup('tideate.text_edit', { clear = false })

---@class tideate.TextEdit
---@field buf integer
---@field win integer?
---@field back integer?
---@field key string? of the ended question
---@field again boolean? it has the edits of an earlier question
local TextEdit = {}
TextEdit.__index = TextEdit

---@type tideate.TextEdit[] of ended questions, oldest first
local kept = {}

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
local function attach(buf, accept)
  vim.bo[buf].buftype = 'acwrite'
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].buflisted = false
  -- nested: the next file opens with its autocmds
  api.nvim_create_autocmd('BufWriteCmd', { group = M.group, buffer = buf, nested = true, callback = function()
    local win = api.nvim_get_current_win()
    accept()
    if not api.nvim_win_is_valid(win) then
      keep_from_quitting()
    end
  end })
  vim.keymap.set('n', '<CR>', accept, { buffer = buf, nowait = true, desc = 'take this text' })
end

--- Create an editor whose text `:w` and `<CR>` accept.
---@param kind string the first part of the buffer's name
---@param id string of the run
---@param accept fun()
---@return tideate.TextEdit
function M.new(kind, id, accept)
  local buf = window.scratch(('tideate://%s/%s/%d'):format(kind, id:sub(1, 8), vim.uv.hrtime()))
  attach(buf, accept)
  return setmetatable({ buf = buf }, TextEdit)
end

--- Return the kept editor of a question, else a new one.
---@param key string of the question
---@param kind string
---@param id string of the run
---@param accept fun()
---@return tideate.TextEdit
function M.resume(key, kind, id, accept)
  for index, edit in ipairs(kept) do
    if edit.key == key then
      table.remove(kept, index)
      if api.nvim_buf_is_loaded(edit.buf) then
        attach(edit.buf, accept)
        vim.bo[edit.buf].modified = true
        edit.win, edit.again = vim.fn.win_findbuf(edit.buf)[1], true
        return edit
      end
    end
  end
  return M.new(kind, id, accept)
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

--- Open the window over the question, or enter it.
---@param title string
---@param height integer
---@return boolean opened
function TextEdit:open(title, height)
  if self:visible() then
    api.nvim_set_current_win(self.win)
    return false
  end
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
  return true
end

---@return boolean
function TextEdit:visible()
  return window.visible(self.win)
end

--- Mark the text as accepted and hide the window.
function TextEdit:taken()
  vim.bo[self.buf].modified = false
  vim.cmd.stopinsert()
  window.close(self.win)
  self.win = nil
  if window.visible(self.back) then
    api.nvim_set_current_win(self.back)
  end
end

--- Keep the buffer after the question ended: listed, and no obstacle to leaving Neovim. The oldest hidden ones beyond the
--- limit are deleted.
---@param key string of the question
---@param what string noun of the message
function TextEdit:keep(key, what)
  if self:visible() then
    window.configure(self.win, {
      title = { { ' nobody waits for this text any more ', 'TideateWarning' } },
      footer = { { ' it is kept in this buffer ', 'TideateHint' } },
    })
  end
  api.nvim_clear_autocmds({ group = M.group, buffer = self.buf })
  vim.keymap.del('n', '<CR>', { buffer = self.buf })
  vim.bo[self.buf].buftype = 'nofile'
  vim.bo[self.buf].buflisted = true
  vim.bo[self.buf].modified = false
  self.key = key
  table.insert(kept, self)
  kept = vim.tbl_filter(function(edit)
    return api.nvim_buf_is_loaded(edit.buf)
  end, kept)
  for index = #kept - KEPT, 1, -1 do
    local buf = table.remove(kept, index).buf
    if #vim.fn.win_findbuf(buf) == 0 then
      api.nvim_buf_delete(buf, { force = true })
    end
  end
  require('tideate.ui').warn(('%s is kept in the buffer %s'):format(what, api.nvim_buf_get_name(self.buf)))
end

function TextEdit:close()
  window.close(self.win)
  window.delete(self.buf)
end

return M
