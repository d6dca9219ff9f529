--- Reads and edits of buffers for the engine; no other module changes them.
---
--- Every function takes the parameters of the engine's message and returns its result, or nil and an
--- error message.
local M = {}

local api = vim.api

---@class tideate.BufferText
---@field number integer
---@field tick integer changedtick
---@field text string the lines joined by \n
---@field modified boolean
---@field path string
---@field gone boolean its file was deleted since the last read

---@class tideate.BufferEdit
---@field number integer
---@field tick integer changedtick of the hunks' base text
---@field hunks tideate.Hunk[]

--- Resolve the links of a path.
---@param path string
---@return string
function M.canonical(path)
  local real = vim.uv.fs_realpath(path)
  if real then
    return real
  end
  -- missing, but a folder above may be a link
  for folder in vim.fs.parents(vim.fs.normalize(path)) do
    real = vim.uv.fs_realpath(folder)
    if real then
      return vim.fs.joinpath(real, (vim.fs.normalize(path):sub(#folder + 1):gsub('^/', '')))
    end
  end
  return vim.fs.normalize(path)
end

--- Return whether a buffer is loaded with a file, and not only for a query.
---@param buf integer
---@return boolean
function M.is_file(buf)
  return api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ''
    and not require('tideate.queries.hidden_buffers').is_hidden(buf)
end

--- Return the loaded buffer of a file, also through links.
---@param path string absolute
---@return integer?
function M.find(path)
  local wanted = M.canonical(path)
  return vim.iter(api.nvim_list_bufs()):find(function(buf)
    local name = M.is_file(buf) and api.nvim_buf_get_name(buf) or ''
    return name ~= '' and M.canonical(name) == wanted
  end)
end

--- Return whether the file of a buffer was deleted or moved since it was seen.
---@param buf integer
---@return boolean
local function is_gone(buf)
  local name = api.nvim_buf_get_name(buf)
  local there = name ~= '' and vim.uv.fs_stat(name) ~= nil
  if there then
    vim.b[buf].tideate_seen = name
  end
  return not there and vim.b[buf].tideate_seen == name
end

--- Reread an unmodified buffer whose file changed, without a prompt.
---@param buf integer
local function read_again(buf)
  if vim.bo[buf].modified or vim.bo[buf].buftype ~= '' then
    return
  end
  local before = vim.bo[buf].autoread -- nil: only the global value is set
  vim.bo[buf].autoread = true
  -- the user's autocommands may fail
  pcall(vim.cmd, ('silent! checktime %d'):format(buf))
  if api.nvim_buf_is_valid(buf) then
    vim.bo[buf].autoread = before
  end
end

--- Return the text to edit; an unmodified buffer is reread first.
---@param buf integer
---@return tideate.BufferText
local function read(buf)
  local gone = is_gone(buf)
  if not gone then
    read_again(buf)
  end
  return {
    number = buf,
    tick = api.nvim_buf_get_changedtick(buf),
    text = table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), '\n'),
    modified = vim.bo[buf].modified,
    path = api.nvim_buf_get_name(buf),
    gone = gone,
  }
end

---@param params { path: string }
---@return tideate.BufferText|userdata
function M.buffer_find(params)
  local buf = M.find(params.path)
  return buf and read(buf) or vim.NIL
end

--- Load the file of a closed buffer again.
---@param buf integer
---@return string? reason reason that it cannot be loaded
function M.load_again(buf)
  if not api.nvim_buf_is_valid(buf) then
    return 'its buffer was wiped out'
  elseif api.nvim_buf_is_loaded(buf) then
    return
  end
  local name = api.nvim_buf_get_name(buf)
  if name == '' then
    return 'it has no file to load again'
  elseif not vim.uv.fs_stat(name) then
    return 'its file is gone'
  end
  local _, err = pcall(vim.fn.bufload, buf) -- the user's autocommands may fail
  if not api.nvim_buf_is_loaded(buf) then
    return ('its file cannot be loaded again: %s'):format(err)
  end
  vim.bo[buf].buflisted = true -- a buffer with changes must stay visible
end

---@param params { number: integer }
---@return tideate.BufferText|userdata
function M.buffer_read(params)
  return M.load_again(params.number) == nil and read(params.number) or vim.NIL
end

--- Return the name of a buffer for messages.
---@param buf integer
---@return string
function M.label(buf)
  local name = api.nvim_buf_get_name(buf)
  return name == '' and ('buffer %d'):format(buf) or vim.fn.fnamemodify(name, ':~:.')
end

--- Return the reason that a buffer cannot be changed.
---@param buf integer
---@return string?
local function refusal(buf)
  if not api.nvim_buf_is_valid(buf) then
    return ('buffer %d was deleted meanwhile; nothing was changed'):format(buf)
  elseif not api.nvim_buf_is_loaded(buf) then
    return ('%s was unloaded meanwhile; nothing was changed'):format(M.label(buf))
  elseif not vim.bo[buf].modifiable then
    return ("%s is not modifiable; nothing was changed (see :help 'modifiable')"):format(M.label(buf))
  elseif vim.bo[buf].readonly then
    return ("%s is read-only; nothing was changed (:set noreadonly allows it)"):format(M.label(buf))
  end
end

---@param hunks tideate.Hunk[]
---@return tideate.Hunk[] from the last to the first
local function bottom_up(hunks)
  local sorted = vim.list_extend({}, hunks)
  table.sort(sorted, function(a, b)
    if a.start == b.start then
      return #a.old > #b.old
    end
    return a.start > b.start
  end)
  return sorted
end

--- Return an error unless every hunk's old lines are at their place and no two overlap.
---@param buf integer
---@param hunks tideate.Hunk[] bottom-up
---@return string?
local function mismatch(buf, hunks)
  local limit = api.nvim_buf_line_count(buf)
  for _, hunk in ipairs(hunks) do
    local stop = hunk.start + #hunk.old
    local stands = stop <= limit and api.nvim_buf_get_lines(buf, hunk.start, stop, true)
    if not stands or not vim.deep_equal(stands, hunk.old) then
      return ('%s: line %d is not what the edit was made for; nothing was changed'):format(
        M.label(buf),
        hunk.start + 1
      )
    end
    limit = hunk.start
  end
end

---@class tideate.edit.Plan
---@field buf integer
---@field hunks tideate.Hunk[] bottom-up

---@param edits tideate.BufferEdit[]
---@return tideate.edit.Plan[]? plans, tideate.BufferText[] changed, string? err
local function prepare(edits)
  local plans, changed = {}, {} ---@type tideate.edit.Plan[], tideate.BufferText[]
  for _, edit in ipairs(edits) do
    local err = refusal(edit.number)
    if err then
      return nil, {}, err
    end
    read_again(edit.number)
    if api.nvim_buf_get_changedtick(edit.number) ~= edit.tick then
      table.insert(changed, read(edit.number))
    else
      local hunks = bottom_up(edit.hunks)
      err = mismatch(edit.number, hunks)
      if err then
        return nil, {}, err
      end
      table.insert(plans, { buf = edit.number, hunks = hunks })
    end
  end
  return plans, changed
end

--- Apply checked plans; revert all of them after an error.
---@param plans tideate.edit.Plan[]
---@return string? err
local function carry_out(plans)
  local replace_lines = require('tideate.replace_lines')
  local done = {} ---@type { buf: integer, hunk: tideate.Hunk }[]
  local ok, err = pcall(function()
    for _, plan in ipairs(plans) do
      replace_lines.fence(plan.buf)
      for _, hunk in ipairs(plan.hunks) do
        replace_lines.replace(plan.buf, hunk.start, hunk.old, hunk.new)
        table.insert(done, { buf = plan.buf, hunk = hunk })
      end
      replace_lines.fence(plan.buf)
    end
  end)
  if ok then
    return
  end
  for index = #done, 1, -1 do
    local buf, hunk = done[index].buf, done[index].hunk
    replace_lines.replace(buf, hunk.start, hunk.new, hunk.old)
  end
  return ('the editor refused the edit, nothing was changed: %s'):format(err)
end

--- Change several buffers, all or none, each as one undo block.
---@param params { edits: tideate.BufferEdit[] }
---@return { applied: boolean, changed: tideate.BufferText[]? }? result, string? err
function M.buffer_replace(params)
  local plans, changed, err = prepare(params.edits)
  if not plans then
    return nil, err
  elseif #changed > 0 then
    return { applied = false, changed = changed }
  end
  local bufs = vim.tbl_map(function(plan)
    return plan.buf
  end, plans)
  local views = require('tideate.buffer_views').save(bufs)
  local note_edits = require('tideate.modified_buffers').before_edits(bufs)
  err = carry_out(plans)
  note_edits()
  views.restore()
  if err then
    return nil, err
  end
  return { applied = true }
end

--- Return the characters that the encoding of a buffer's file lacks.
---@param params { number: integer, text: string }
---@return { characters: string[], encoding: string }
function M.buffer_missing(params)
  if not api.nvim_buf_is_loaded(params.number) then
    return { characters = {}, encoding = '' }
  end
  local characters, encoding = require('tideate.file_bytes').missing(params.number, params.text)
  return { characters = characters, encoding = encoding }
end

--- Return the bytes of a buffer's file for several texts.
---@param params { number: integer, texts: string[] }
---@return { files: string[] } in base64; empty if one of the texts cannot be encoded
function M.buffer_bytes(params)
  local files = {} ---@type string[]
  for _, text in ipairs(api.nvim_buf_is_loaded(params.number) and params.texts or {}) do
    local bytes = require('tideate.file_bytes').of(params.number, text)
    if not bytes then
      return { files = {} }
    end
    table.insert(files, vim.base64.encode(bytes))
  end
  return { files = files }
end

--- Rename the buffer of a moved file.
---@param params { from: string, to: string }
---@return { number: integer? }? result, string? err
function M.buffer_moved(params)
  local buf = M.find(params.from)
  if not buf then
    return vim.empty_dict()
  end
  local ok, err = pcall(api.nvim_buf_set_name, buf, params.to)
  if not ok then
    return nil, ('%s could not be renamed to %s: %s'):format(M.label(buf), params.to, err)
  end
  M.delete_old_name(params.from, buf)
  if vim.bo[buf].modified then
    require('tideate.modified_buffers').note_moved(buf)
  else
    api.nvim_buf_call(buf, function()
      -- otherwise the next :write reports that the file exists
      vim.cmd('silent! keepalt edit!')
    end)
  end
  return { number = buf }
end

--- Delete the empty buffer that a rename leaves with the old name.
---@param path string
---@param renamed integer
function M.delete_old_name(path, renamed)
  local wanted = vim.fs.normalize(path)
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local same = vim.fs.normalize(api.nvim_buf_get_name(buf)) == wanted
    if buf ~= renamed and same and not api.nvim_buf_is_loaded(buf) then
      api.nvim_buf_delete(buf, {})
    end
  end
end

--- Reread the unmodified buffers of changed files.
---@param params { paths: string[] }
---@return table
function M.checktime(params)
  for _, path in ipairs(params.paths) do
    local buf = M.find(path)
    if buf then
      read_again(buf)
    end
  end
  return vim.empty_dict()
end

--- Show a text in a new, unsaved buffer; the user's window keeps the focus.
---@param params { text: string, filetype: string?, name: string? }
---@return { number: integer }
function M.buffer_create(params)
  local buf = api.nvim_create_buf(true, false)
  vim.bo[buf].modifiable = true -- `nvim -M` turns it off
  if params.name and params.name ~= '' then
    pcall(api.nvim_buf_set_name, buf, params.name)
  end
  api.nvim_buf_set_lines(buf, 0, -1, true, vim.split(params.text, '\n', { plain = true }))
  require('tideate.ui.window').beside(buf)
  if params.filetype and params.filetype ~= '' then
    vim.bo[buf].filetype = params.filetype
  end
  return { number = buf }
end

return M
