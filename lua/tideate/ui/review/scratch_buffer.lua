--- Scratch buffers for the review of files without a buffer.
local M = {}

local shown = require('tideate.ui.text')

--- Create a buffer with the text before the change, or the text of a new file.
---@param file tideate.ReviewFile
---@param new string[]? text of a new file
---@param id string
---@return integer buf
function M.open(file, new, id)
  local window = require('tideate.ui.window')
  local file_name = file.path ~= '' and shown.name(file.path) or 'new buffer'
  local name = ('tideate://review/%s/%s'):format(id:sub(1, 8), file_name)
  -- one file may have a change of text and one of mode
  local buf = window.scratch(vim.fn.bufexists(name) == 1 and ('%s (%s)'):format(name, shown.plain(file.note or '')) or name)
  local text = file.before or ''
  if file.note and text == '' and #(file.hunks or {}) == 0 then
    text = file.note
  end
  M.fill(buf, file.action == 'create' and new or vim.split(text, '\n', { plain = true }))
  vim.bo[buf].bufhidden = 'hide'
  M.colour(buf, M.filetype(file))
  return buf
end

--- Replace all lines.
---@param buf integer
---@param lines string[]
function M.fill(buf, lines)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, vim.tbl_map(shown.plain, lines))
  vim.bo[buf].modifiable = false
end

--- Return a file's type; without a buffer, by its name.
---@param file tideate.ReviewFile
---@return string
function M.filetype(file)
  if (file.filetype or '') == '' then
    file.filetype = vim.filetype.match({ filename = file.move_to or file.path }) or ''
  end
  return file.filetype
end

--- Highlight syntax without ftplugins: the text is read-only.
---@param buf integer
---@param filetype string?
function M.colour(buf, filetype)
  local language = vim.treesitter.language.get_lang(filetype or '')
  if not (language and pcall(vim.treesitter.start, buf, language)) then
    vim.bo[buf].syntax = (filetype or ''):match('^[%w_.-]+$') or ''
  end
end

--- Window options for a scratch buffer: no folds, no concealed text, no cut lines.
M.OPTIONS = { foldenable = false, conceallevel = 0, wrap = true }

return M
