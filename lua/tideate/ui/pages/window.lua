--- Base class of the floats that show runs, snapshots, tools, workflows and comparisons.
local M = {}

local api = vim.api
local ui_keys = require('tideate.ui.keys')
local text = require('tideate.ui.text')
local window = require('tideate.ui.window')

local ns = api.nvim_create_namespace('tideate.page')
local WIDEST = 120 -- columns
local LOWEST = 18 -- rows, if the screen has as many

---@class tideate.ui.Page
---@field title string
---@field lines tideate.Chunk[][]
---@field points? table<integer, tideate.StoredCheckpoint> by line
---@field folds? [integer, integer][] first and last line
---@field opens? integer initial line of the cursor

---@class tideate.ui.PageWindow the one window of a kind of page
---@field title string of its help
---@field own_keys fun(it: any): tideate.Key[] keys without closing and help
---@field on_moved? fun()
---@field shown? any data of the open page
---@field buf integer
---@field win integer
---@field back integer window that had the focus before
---@field page tideate.ui.Page current page
---@field drawn? tideate.Chunk[][] lines in the buffer
local Window = {}
Window.__index = Window

--- Describe a window that is opened with its first page.
---@param title string
---@param keys fun(it: any): tideate.Key[]
---@param on_moved? fun()
---@return tideate.ui.PageWindow
function M.new(title, keys, on_moved)
  return setmetatable({ title = title, own_keys = keys, on_moved = on_moved }, Window)
end

---@return tideate.Key[]
function Window:keys()
  local keys, list = ui_keys, self.own_keys(self.shown)
  local function close()
    self:close()
  end
  if not vim.iter(list):any(function(one)
    return one.lhs[1] == 'q'
  end) then
    table.insert(list, keys.key({ 'q', '<Esc>' }, 'close', 'close this window', close))
  end
  table.insert(list, keys.help_key(self.title, function()
    return self:keys()
  end))
  return list
end

---@return integer width of a page
function M.columns()
  return math.min(WIDEST, (window.room()) - 4)
end

---@return boolean
function Window:is_visible()
  return self.shown ~= nil and window.visible(self.win)
end

---@return integer line of the cursor
function Window:row()
  return api.nvim_win_get_cursor(self.win)[1]
end

---@return table<string, any> config of the float
function Window:place()
  local _, rows = window.room()
  local columns = M.columns()
  return window.centered(columns, math.max(LOWEST, math.floor(rows * 0.7)), {
    title = { { (' %s '):format(text.fit(self.page.title, columns - 4)), 'TideateTitle' } },
    footer = text.keys(ui_keys.words(self:keys()), columns - 2),
    zindex = 55,
  })
end

function Window:fold()
  api.nvim_win_call(self.win, function()
    vim.cmd('normal! zE')
    for _, range in ipairs(self.page.folds or {}) do
      vim.cmd(('%d,%dfold'):format(range[1], range[2]))
    end
  end)
end

--- Return the text of a closed fold.
---@return string
function M.foldtext()
  return '       … ' .. text.counted(vim.v.foldend - vim.v.foldstart + 1, 'line')
end

--- Open or close the fold under the cursor.
function M.toggle_fold()
  pcall(vim.cmd, 'normal! za') -- a line without a fold has none to open
end

--- Fit the float to the screen, and its title and footer to the page.
function Window:fit()
  local config = self:place()
  config.relative = 'editor'
  window.configure(self.win, config)
end

--- Write lines; leave those that are the very same tables as before.
---@param lines tideate.Chunk[][]
function Window:write(lines)
  local before = self.drawn or {}
  local first, behind = text.unchanged(before, lines)
  local last = self.drawn and #before - behind or -1
  text.splice(self.buf, ns, first, last, vim.list_slice(lines, first + 1, #lines - behind))
  self.drawn = lines
end

--- Draw a page.
---@param page tideate.ui.Page
---@param row? integer of the cursor
function Window:draw(page, row)
  self.page = page
  self:write(page.lines)
  self:fold()
  api.nvim_win_set_cursor(self.win, { math.max(1, math.min(row or page.opens or 1, #page.lines)), 0 })
  self:fit()
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

--- Open the float and set its keys.
---@param enter boolean
function Window:open(enter)
  local buf = window.scratch(nil, { bufhidden = 'wipe', filetype = 'tideate-runs' })
  self.buf, self.back, self.drawn = buf, window.origin(), nil
  self.win = window.float(buf, enter, self:place())
  window.options(self.win, {
    wrap = false,
    cursorline = true,
    foldenable = true,
    foldmethod = 'manual',
    fillchars = 'fold: ,eob: ',
    foldtext = "v:lua.require'tideate.ui.pages.window'.foldtext()",
  })
  local function on(events, callback, once)
    api.nvim_create_autocmd(events, { buffer = buf, callback = callback, once = once })
  end
  on('WinClosed', function()
    self.shown = self.buf ~= buf and self.shown or nil
  end, true)
  if self.on_moved then
    on('CursorMoved', self.on_moved)
  end
  on('VimResized', vim.schedule_wrap(function()
    if self.buf == buf and window.visible(self.win) then
      self:fit()
    end
  end))
  ui_keys.set(buf, self:keys())
end

--- Show a page, in the open window or a new one.
---@param shown any data of the page
---@param page tideate.ui.Page
---@param row? integer of the cursor
---@param enter? boolean enter a new window; default: in plain normal mode
function Window:show(shown, page, row, enter)
  local visible = self:is_visible()
  if not visible then
    self:close() -- in another tab page
  end
  self.shown, self.page = shown, page
  if not visible then
    if enter == nil then
      enter = require('tideate.ui.typing').plain_normal()
    end
    self:open(enter)
  end
  self:draw(page, row)
end

--- Close the float and return the focus.
function Window:close()
  if self.shown then
    self.shown = nil
    window.leave(self.win, self.back)
  end
end

return M
