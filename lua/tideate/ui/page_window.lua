--- The float of a page: a run, snapshots, tools, workflows, comparisons.
local M = {}

local api = vim.api

local ns = api.nvim_create_namespace('tideate.page')
local WIDEST = 120 -- columns
local LOWEST = 18 -- rows, if the screen has as many

---@class tideate.ui.Page
---@field title string
---@field lines tideate.Chunk[][]
---@field points? table<integer, tideate.StoredCheckpoint> by line
---@field folds? [integer, integer][] first and last line
---@field opens? integer initial line of the cursor

---@class tideate.ui.PageWindow
---@field buf integer
---@field win integer
---@field back integer window that had the focus before
---@field page tideate.ui.Page current page
---@field drawn? tideate.Chunk[][] lines in the buffer
---@field keys fun(): tideate.Key[]

---@param it tideate.ui.PageWindow
---@param columns integer
---@return tideate.Chunk[]
local function footer(it, columns)
  return require('tideate.ui.text').keys(require('tideate.ui.keys').words(it.keys()), columns - 6)
end

---@return integer width of a page
function M.columns()
  return math.min(WIDEST, (require('tideate.ui.window').room()) - 4)
end

---@param it tideate.ui.PageWindow
---@return table<string, any> config of the float
local function place(it)
  local window = require('tideate.ui.window')
  local _, rows = window.room()
  local columns = M.columns() + 4
  return window.centered(columns - 4, math.max(LOWEST, math.floor(rows * 0.7)), {
    title = { { (' %s '):format(require('tideate.ui.text').fit(it.page.title, columns - 8)), 'TideateTitle' } },
    footer = footer(it, columns),
    zindex = 55,
  })
end

---@param it tideate.ui.PageWindow
local function fold(it)
  api.nvim_win_call(it.win, function()
    vim.cmd('normal! zE')
    for _, range in ipairs(it.page.folds or {}) do
      vim.cmd(('%d,%dfold'):format(range[1], range[2]))
    end
  end)
end

--- Return the text of a closed fold.
---@return string
function M.foldtext()
  local count = vim.v.foldend - vim.v.foldstart + 1
  return ('       … %d line%s'):format(count, count == 1 and '' or 's')
end

--- Fit the float to the screen, and its title and footer to the page.
---@param it tideate.ui.PageWindow
function M.fit(it)
  local config = place(it)
  config.relative = 'editor'
  require('tideate.ui.window').configure(it.win, config)
end

--- Write a page; leave the lines that are the very same tables as before.
---@param it tideate.ui.PageWindow
---@param lines tideate.Chunk[][]
local function write(it, lines)
  local before, first, behind = it.drawn or {}, 0, 0
  local most = math.min(#before, #lines)
  while first < most and before[first + 1] == lines[first + 1] do
    first = first + 1
  end
  while behind < most - first and before[#before - behind] == lines[#lines - behind] do
    behind = behind + 1
  end
  local last = it.drawn and #before - behind or -1
  require('tideate.ui.text').splice(it.buf, ns, first, last, vim.list_slice(lines, first + 1, #lines - behind))
  it.drawn = lines
end

--- Draw a page.
---@param it tideate.ui.PageWindow
---@param page tideate.ui.Page
---@param row? integer of the cursor
function M.draw(it, page, row)
  it.page = page
  write(it, page.lines)
  fold(it)
  api.nvim_win_set_cursor(it.win, { math.max(1, math.min(row or page.opens or 1, #page.lines)), 0 })
  M.fit(it)
end

---@param it tideate.ui.PageWindow
---@param on {moved?: fun(), closed: fun()}
local function follow(it, on)
  local function on_autocmd(events, callback, options)
    options = vim.tbl_extend('force', { buffer = it.buf, callback = callback }, options or {})
    api.nvim_create_autocmd(events, options)
  end
  on_autocmd('WinClosed', on.closed, { once = true })
  if on.moved then
    on_autocmd('CursorMoved', on.moved)
  end
  on_autocmd('VimResized', vim.schedule_wrap(function()
    if require('tideate.ui.window').visible(it.win) then
      M.fit(it)
    end
  end))
end

---@param it? {window: tideate.ui.PageWindow} owner of a page window
---@return boolean
function M.shows(it)
  return it ~= nil and require('tideate.ui.window').visible(it.window.win)
end

---@return string? id of the focused question
local function question()
  local first = require('tideate.ui').pending()[1]
  return first and first.focused and first.id or nil
end

--- Note the focused question before a page is requested.
---@return fun(): boolean may_focus whether the page may take the focus: no other question got it since
function M.expect()
  local before = question()
  return function()
    local now = question()
    return (now == nil or now == before) and require('tideate.ui.typing').plain_normal()
  end
end

--- Open the float and set its keys; the page is drawn later.
---@param page tideate.ui.Page
---@param keys fun(): tideate.Key[]
---@param on {moved?: fun(), closed: fun()}
---@param enter? boolean by default only in plain normal mode
---@return tideate.ui.PageWindow
function M.open(page, keys, on, enter)
  if enter == nil then
    enter = require('tideate.ui.typing').plain_normal()
  end
  local window = require('tideate.ui.window')
  local buf = window.scratch()
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].filetype = 'tideate-runs'
  local back = api.nvim_get_current_win()
  if window.is_float(back) then
    back = window.for_files() or window.normal_windows()[1]
  end
  local it = { buf = buf, back = back, page = page, keys = keys }
  it.win = window.float(buf, enter, place(it))
  window.options(it.win, {
    wrap = false,
    cursorline = true,
    foldenable = true,
    foldmethod = 'manual',
    fillchars = 'fold: ,eob: ',
    foldtext = "v:lua.require'tideate.ui.page_window'.foldtext()",
  })
  follow(it, on)
  require('tideate.ui.keys').set(buf, keys())
  return it
end

--- Close the float and return the focus.
---@param it tideate.ui.PageWindow
function M.close(it)
  local focused = it.win == api.nvim_get_current_win()
  require('tideate.ui.window').close(it.win)
  if focused and api.nvim_win_is_valid(it.back) then
    api.nvim_set_current_win(it.back)
  end
end

return M
