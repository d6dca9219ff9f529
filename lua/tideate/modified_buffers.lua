--- Buffers with unsaved changes: list and save.
local M = {}

local api = vim.api
local edit = require('tideate.edit')
local file_bytes = require('tideate.file_bytes')

--- Return whether a buffer's file changed on disk. Neovim 0.10 would ask when it writes, and wait for an unexpected
--- key.
---@param buf integer
---@return boolean
local function stale(buf)
  if vim.fn.has('nvim-0.11') == 1 then
    return false -- Neovim 0.11 answers the question itself, see `write`
  end
  if vim.b[buf].tideate_stale then
    return true
  end
  local found = false
  local watching = api.nvim_create_autocmd('FileChangedShell', {
    buffer = buf,
    callback = function()
      found = true
      api.nvim_set_vvar('fcs_choice', '') -- neither reread nor asked about
    end,
  })
  vim.cmd(('silent! checktime %d'):format(buf))
  api.nvim_del_autocmd(watching)
  if found then
    -- Neovim reports it only once
    vim.b[buf].tideate_stale = true
    api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost' }, {
      buffer = buf,
      once = true,
      callback = function()
        vim.b[buf].tideate_stale = nil
      end,
    })
  end
  return found
end

local CHANGED = 'its file changed on disk since it was read'
local GONE = 'its file does not exist any more'

--- Return an identity of a file's content on disk.
---@param buf integer
---@return string
local function stamp(buf)
  local stat = vim.uv.fs_stat(api.nvim_buf_get_name(buf))
  return stat and ('%d %d.%d %d'):format(stat.ino, stat.mtime.sec, stat.mtime.nsec, stat.size) or ''
end

---@class tideate.FileNote
---@field tick integer changedtick of the buffer
---@field stamp string? stamp of the file with the buffer's text; '' before it existed
---@field reason string? reason not to save the buffer

--- Return the note about a buffer's file, if it is current.
---@param buf integer
---@return tideate.FileNote?
local function note_of(buf)
  local note = vim.b[buf].tideate_file ---@type tideate.FileNote?
  return note and note.tick == api.nvim_buf_get_changedtick(buf) and note or nil
end

--- Compare an unmodified buffer with its file.
---@param buf integer
---@return tideate.FileNote
local function compare(buf)
  local note = { tick = 0 } ---@type tideate.FileNote
  local there = stamp(buf)
  if file_bytes.holds_text(buf) then
    note.stamp = there
  elseif there == '' then
    local empty = api.nvim_buf_get_offset(buf, api.nvim_buf_line_count(buf)) <= 1
    note.stamp, note.reason = '', not empty and GONE or nil
  else
    note.reason = 'its text differs from its file'
  end
  return note
end

--- Note the state of files before the engine edits their buffers: afterwards nothing tells whether a file has the text
--- of its buffer.
---@param bufs integer[]
---@return fun() done call after the edits
function M.before_edits(bufs)
  local notes = {} ---@type table<integer, tideate.FileNote>
  for _, buf in ipairs(bufs) do
    if vim.bo[buf].modified then
      notes[buf] = note_of(buf)
    elseif api.nvim_buf_get_name(buf) ~= '' then
      notes[buf] = compare(buf)
    end
  end
  return function()
    for buf, note in pairs(notes) do
      note.tick = api.nvim_buf_get_changedtick(buf)
      vim.b[buf].tideate_file = note
    end
  end
end

--- Note that the file of a modified buffer was moved, so that it can still be saved.
---@param buf integer
function M.note_moved(buf)
  vim.b[buf].tideate_moved = stamp(buf)
  local note = note_of(buf)
  if note then
    note.stamp = stamp(buf)
    vim.b[buf].tideate_file = note
  end
end

--- Return whether a file may be written; a missing one may.
---@param buf integer
---@return boolean
local function is_writable(buf)
  local path = api.nvim_buf_get_name(buf)
  local stat = vim.uv.fs_stat(path)
  return not stat or (bit.band(stat.mode, 146) ~= 0 and vim.uv.fs_access(path, 'W') == true) -- 0222
end

--- Return the reason not to write a buffer: `:write` would not write its text, or might not.
---@param buf integer
---@param note tideate.FileNote?
---@return string?
local function reason_not_to_write(buf, note)
  local event = file_bytes.replaced_by(buf)
  if event then
    return ('autocommands for %s read or write it'):format(event)
  elseif note and note.reason then
    return note.reason
  end
  local there = stamp(buf)
  local missing, encoding = file_bytes.missing(buf, table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), '\n'))
  if there == '' and not (note and note.stamp == '') then
    return GONE
  elseif note and note.stamp ~= there then
    return CHANGED
  elseif #missing > 0 then
    return ("its encoding %s lacks '%s'"):format(encoding, missing[1])
  elseif not note and not file_bytes.seems_plain(buf) then
    return 'its file may hold something else than its text'
  elseif vim.bo[buf].readonly or not is_writable(buf) then
    return 'it is read-only' -- `:write!` would write it nevertheless
  end
end

--- Write a buffer to its file, in any window and mode.
---@param buf integer
---@return string? reason reason that it was not written
local function write(buf)
  local note = note_of(buf)
  local known = vim.b[buf].tideate_moved ~= nil and vim.b[buf].tideate_moved == stamp(buf)
  known = known or (note ~= nil and note.stamp == stamp(buf))
  local reason = reason_not_to_write(buf, note) or (not known and stale(buf) and CHANGED) or nil
  if reason then
    return reason
  end
  local fix = vim.bo[buf].fixendofline
  vim.bo[buf].fixendofline = false -- keep a missing last line end
  local ok, err = pcall(api.nvim_buf_call, buf, function()
    -- no autocommands: write the reviewed text, not a formatter's. Typed, because the end of the keys answers no to the
    -- question whether to overwrite a changed file
    local command = [[execute "silent normal! :silent noautocmd lockmarks write%s ++p\<CR>"]]
    vim.cmd(command:format(known and '!' or ''))
  end)
  vim.bo[buf].fixendofline = fix
  if not ok then
    return tostring(err):match('E%d+:[^\n]*') or tostring(err)
  elseif vim.bo[buf].modified then
    return CHANGED
  elseif not file_bytes.holds_text(buf) then
    return 'its file does not hold its text after it was written'
  end
  vim.b[buf].tideate_moved = nil
  vim.b[buf].tideate_file = { tick = api.nvim_buf_get_changedtick(buf), stamp = stamp(buf) }
end

---@class tideate.UnsavedBuffer
---@field number integer
---@field reason string

--- Save modified buffers, except those whose file would not have their text afterwards.
---@param params { numbers: integer[] }
---@return { unsaved: tideate.UnsavedBuffer[] }
function M.save(params)
  local unsaved = {} ---@type tideate.UnsavedBuffer[]
  for _, buf in ipairs(params.numbers) do
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
      local reason = write(buf)
      if reason then
        table.insert(unsaved, { number = buf, reason = reason })
      end
    end
  end
  return { unsaved = unsaved }
end

--- Return the files below a folder with unsaved changes.
---@param params { root: string }
---@return { paths: string[] }
function M.modified(params)
  local canonical = edit.canonical
  local root, paths = canonical(params.root), {} ---@type string, string[]
  local inside = root:sub(-1) == '/' and root or root .. '/'
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_get_name(buf)
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and vim.bo[buf].modified and name ~= '' then
      local path = canonical(name)
      if vim.startswith(path, inside) then
        table.insert(paths, path)
      end
    end
  end
  return { paths = paths }
end

--- Return the files that a run changed in buffers and that are still unsaved.
---@param run tideate.Run
---@return string[] relative to its root
function M.of_run(run)
  return vim.tbl_filter(function(name)
    local buf = run.root and edit.find(vim.fs.joinpath(run.root, name))
    return buf ~= nil and vim.bo[buf].modified
  end, run.unsaved or {})
end

--- Describe unsaved files at the end of a run.
---@param names string[]
---@return string
function M.words(names)
  local changed = #names == 1 and '1 file is changed in its buffer' or '%d files are changed in their buffers'
  return ('%s and not saved: %s'):format(changed:format(#names), require('tideate.ui.text').names(names))
end

return M
