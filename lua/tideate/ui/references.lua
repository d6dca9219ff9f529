--- Places in files, like `src/a.py:10`, in the text of our windows; open them in a window for files.
local M = {}

local api = vim.api

--- Patterns of a place, tried in this order: path, line and column.
local FORMS = { '^(.-)#L(%d+)', '^(.-):(%d+):(%d+)', '^(.-):L?(%d+)', '^(.-)%((%d+)%)$', '^(.-)::', '^(.+)$' }
local ENDS = '[%s"\'`<>%[%]{}|;,*]' -- characters around a path without blanks

---@class tideate.Place
---@field path string absolute
---@field line? integer
---@field column? integer 1-based, in bytes

---@return string[] folders that paths may be relative to
local function folders()
  local context = require('tideate.context')
  local folder = vim.b.tideate_folder or context.folder()
  local root = require('tideate.paths').project(folder)
  return vim.tbl_filter(function(one)
    return one ~= nil
  end, { root or folder, folder, vim.fn.getcwd(), context.folder() })
end

---@param name string
---@return string? path absolute
local function file_of(name)
  local bare = name:gsub('^@file:', ''):gsub('^@', '')
  for _, one in ipairs({ bare, (bare:gsub('^[ab]/', '')) }) do
    local absolute = vim.startswith(one, '/') or vim.startswith(one, '~')
    for _, folder in ipairs(absolute and { '' } or folders()) do
      local path = vim.fs.normalize(absolute and one or vim.fs.joinpath(folder, one))
      if (vim.uv.fs_stat(path) or {}).type == 'file' then
        return path
      end
    end
  end
end

---@param text string
---@return tideate.Place?
local function place_of(text)
  text = text:gsub('^%(', ''):gsub('[.:!?]+$', '')
  for _, form in ipairs(FORMS) do
    local name, line, column = text:match(form)
    local path = name and name ~= '' and file_of(name)
    if path then
      return { path = path, line = tonumber(line), column = tonumber(column) }
    end
  end
  local inner = text:match('%((.*)$') or text:match('^(.*)%)$')
  return inner and inner ~= '' and place_of(inner) or nil
end

--- Return the words around a column: first the texts between backticks or quotes, which may have blanks, then a word.
---@param line string
---@param column integer 1-based, in bytes
---@return {text: string, behind: string}[] behind: the rest of the line
local function words_at(line, column)
  local found = {}
  for _, quoted in ipairs({ '`[^`]+`', '"[^"]+"' }) do
    local from = 1 ---@type integer?
    while from do
      local first, last = line:find(quoted, from)
      if first and first <= column and column <= last then
        table.insert(found, { text = line:sub(first + 1, last - 1), behind = line:sub(last + 1) })
      end
      from = last and last + 1
    end
  end
  local first, last = column, column
  while first > 1 and not line:sub(first - 1, first - 1):find(ENDS) do
    first = first - 1
  end
  while last < #line and not line:sub(last + 1, last + 1):find(ENDS) do
    last = last + 1
  end
  table.insert(found, { text = line:sub(first, last), behind = line:sub(last + 1) })
  return found
end

--- Return the place under the cursor; nil unless its file exists.
---@return tideate.Place?
function M.at_cursor()
  local column = api.nvim_win_get_cursor(0)[2] + 1
  for _, words in ipairs(words_at(api.nvim_get_current_line(), column)) do
    local place = place_of(words.text)
    if place then
      place.line = place.line or tonumber(words.behind:match('^[%s`"\'*,:(]*[Ll]ines? (%d+)'))
      return place
    end
  end
end

---@return integer win
local function window_for_file()
  local window = require('tideate.ui.window')
  local win = window.for_files()
  if win then
    return win
  end
  local first = window.normal_windows()[1]
  win = api.nvim_open_win(window.scratch(nil, { bufhidden = 'wipe' }), false, { split = 'above', win = first })
  window.options(win, { winfixbuf = false, winbar = '' })
  return win
end

--- Show a place in a window for files.
---@param place tideate.Place
function M.show(place)
  local buf = vim.fn.bufadd(place.path)
  vim.bo[buf].buflisted = true
  local win = window_for_file()
  if not pcall(api.nvim_win_set_buf, win, buf) then
    win = require('tideate.ui.window').beside(buf) -- its text is modified, and 'hidden' is off
  end
  api.nvim_set_current_win(win)
  if place.line then
    vim.cmd("normal! m'")
    local line = math.min(place.line, api.nvim_buf_line_count(buf))
    api.nvim_win_set_cursor(win, { math.max(line, 1), math.max((place.column or 1) - 1, 0) })
    vim.cmd('normal! zv')
  end
end

--- Follow the place under the cursor.
---@return boolean followed
function M.follow()
  local place = M.at_cursor()
  if place then
    M.show(place)
  end
  return place ~= nil
end

--- Follow the place under the cursor; without one `<CR>` goes down as usual.
---@param lhs string
function M.press(lhs)
  if M.follow() then
    return
  elseif lhs == '<CR>' then
    return vim.cmd.normal({ api.nvim_replace_termcodes('<CR>', true, true, true), bang = true })
  end
  require('tideate.ui').warn('no file name under the cursor')
end

return M
