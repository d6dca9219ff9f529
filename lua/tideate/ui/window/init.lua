--- Window helpers: floats, splits, scratch buffers, window options.
local M = {}

local api = vim.api

M.EDGE = 2 -- columns; a narrower strip of text beside a float is unreadable

---@return integer rows of the tabline
function M.tabline()
  return (vim.o.showtabline == 2 or vim.o.showtabline == 1 and #api.nvim_list_tabpages() > 1) and 1 or 0
end

---@return integer columns, integer lines the area for floats, without tabline, statusline and command line
function M.room()
  local lines = vim.o.lines - vim.o.cmdheight - M.tabline() - (vim.o.laststatus > 0 and 1 or 0)
  return vim.o.columns, math.max(lines, 3)
end

--- Create an unlisted scratch buffer.
---@param name? string
---@param options? table<string, any> buffer options
---@return integer buf
function M.scratch(name, options)
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].modifiable = true -- `nvim -M` makes new buffers otherwise
  vim.bo[buf].swapfile = false
  vim.bo[buf].modeline = false
  if name then
    api.nvim_buf_set_name(buf, name)
  end
  for option, value in pairs(options or {}) do
    vim.bo[buf][option] = value
  end
  for _, lhs in ipairs({ 'gf', 'gF', '<CR>' }) do -- a window may give <CR> another meaning
    vim.keymap.set('n', lhs, function()
      require('tideate.ui.references').press(lhs)
    end, { buffer = buf, silent = true, desc = 'open the file named under the cursor' })
  end
  return buf
end

--- Return 'winborder' (Neovim 0.11 and later) as a value for `nvim_open_win`.
---@return string|string[]?
local function winborder()
  local value = vim.fn.exists('&winborder') == 1 and vim.o.winborder or ''
  if value:find(',', 1, true) then
    return vim.split(value, ',', { plain = true })
  end
  return value ~= '' and value or nil
end

---@return string|string[]
local function border()
  local chosen = require('tideate.config').get('ui.border') or winborder() or 'rounded'
  -- a title and a footer need a border
  return (chosen == '' or chosen == 'none') and 'solid' or chosen
end

--- Return the position of a float centred on the screen.
---@param width integer of the text
---@param height integer
---@param extra? table<string, any>
---@return table<string, any>
function M.centered(width, height, extra)
  local columns, lines = M.room()
  width = math.max(1, math.min(width, columns - 2))
  width = columns - 2 - width <= M.EDGE and columns - 2 or width
  height = math.max(1, math.min(height, lines - 2))
  return vim.tbl_extend('force', {
    width = width,
    height = height,
    row = math.max(0, math.floor((lines - height - 2) / 2)),
    col = math.max(0, math.floor((columns - width - 2) / 2)),
  }, extra or {})
end

local ruler ---@type boolean? the user's 'ruler', saved while a tideate float is current
local RULER = 'tideate.ruler'

---@param win integer
---@return boolean whether the window is a tideate float
local function is_ours(win)
  return vim.w[win].tideate_float == true
end

--- Turn 'ruler' off while a float is current: Neovim would draw it over the command line.
local function set_ruler()
  local inside = is_ours(api.nvim_get_current_win())
  if inside and ruler == nil then
    ruler, vim.o.ruler = vim.o.ruler, false
  elseif not inside and ruler ~= nil then
    vim.o.ruler, ruler = ruler, nil
  end
end

--- Update 'ruler' when windows change; stop once no float is left.
local function follow_ruler()
  set_ruler()
  if ruler == nil and #vim.tbl_filter(is_ours, api.nvim_list_wins()) == 0 then
    api.nvim_create_augroup(RULER, { clear = true })
  end
end

---@param win integer
local function keep_ruler_out(win)
  vim.w[win].tideate_float = true
  local group = api.nvim_create_augroup(RULER, { clear = true })
  local desc = 'No ruler of a tideate float in the command line'
  -- `:noautocmd` closes a float without WinClosed; CursorMoved notices it
  local events = { 'WinEnter', 'CursorMoved' }
  api.nvim_create_autocmd(events, { group = group, desc = desc, callback = follow_ruler })
  -- scheduled: the window still exists during WinClosed
  api.nvim_create_autocmd('WinClosed', { group = group, desc = desc, callback = vim.schedule_wrap(follow_ruler) })
  set_ruler()
end

--- Set a statusline that names the window, unless the user has one.
---@param win integer
function M.set_statusline(win)
  local option = 'statusline'
  if vim.go[option] == '' or vim.go[option] == api.nvim_get_option_info2(option, {}).default then
    local name = api.nvim_buf_get_name(api.nvim_win_get_buf(win))
    M.options(win, { [option] = name == '' and ' tideate%=' or ' %<%f%=%P ' })
  end
end

--- Give border text the background of the border instead of the buffer's.
---@param words? string|tideate.Chunk[]
---@param group string for a plain string
---@return tideate.Chunk[]?
local function on_border(words, group)
  local chunks = type(words) == 'string' and { { words, group } } or words --[[@as tideate.Chunk[]?]]
  return chunks and vim.tbl_map(function(chunk)
    return { chunk[1], { 'TideateBorder', chunk[2] or group } }
  end, chunks)
end

---@param config table<string, any> `nvim_open_win` keys
---@return table<string, any>
local function with_words(config)
  return vim.tbl_extend('force', config, {
    title = on_border(config.title, 'TideateTitle'),
    footer = on_border(config.footer, 'TideateHint'),
  })
end

--- Change the position, title or footer of a float.
---@param win integer
---@param config table<string, any> `nvim_win_set_config` keys
function M.configure(win, config)
  api.nvim_win_set_config(win, with_words(config))
end

--- Open a floating window.
---@param buf integer
---@param enter boolean
---@param config table<string, any> `nvim_open_win` options without `relative` and `border`
---@return integer win
function M.float(buf, enter, config)
  require('tideate.ui.highlights').define()
  local full = vim.tbl_extend('keep', with_words(config), {
    relative = 'editor',
    style = 'minimal',
    border = border(),
    title_pos = config.title and 'left' or nil,
    footer_pos = config.footer and 'left' or nil,
    zindex = 60,
  })
  local ok, win = pcall(api.nvim_open_win, buf, enter, full)
  if not ok then
    -- this Neovim does not know the border
    full.border = 'rounded'
    win = api.nvim_open_win(buf, enter, full)
  end
  M.options(win, {
    winhighlight = 'NormalFloat:TideateNormal,FloatBorder:TideateBorder,FloatTitle:TideateTitle,FloatFooter:TideateHint,'
      .. 'FoldColumn:TideateNormal',
    wrap = true,
    linebreak = true,
    conceallevel = 0,
    foldenable = false,
    fillchars = 'eob: ',
    winfixbuf = true,
  })
  -- since 0.12 a float with a statusline draws it over its last line
  if vim.fn.has('nvim-0.12') == 0 or vim.o.laststatus == 3 then
    M.set_statusline(win)
  end
  keep_ruler_out(win)
  return win
end

--- Open a float over a dialog and enter it; the dialog keeps its keys in the footer.
---@param buf integer
---@param config table<string, any>
---@return integer win
function M.over(buf, config)
  local win = M.float(buf, false, config)
  vim.w[win].tideate_over = true
  api.nvim_set_current_win(win)
  return win
end

--- Open a float over the current window that its keys, or leaving it, close.
---@param buf integer
---@param config table<string, any>
---@param closing string[] keys
---@return integer win
function M.popup(buf, config, closing)
  local back = api.nvim_get_current_win()
  local win = M.over(buf, config)
  require('tideate.ui.keys').set(buf, { { lhs = closing, desc = 'close', run = function()
    M.leave(win, back)
  end } })
  api.nvim_create_autocmd('WinLeave', { buffer = buf, once = true, callback = vim.schedule_wrap(function()
    M.close(win)
  end) })
  return win
end

--- Show lines in a float over the current window that its keys, or leaving it, close.
---@param lines tideate.Chunk[][]
---@param title string
---@param closing string[] keys
---@param config table<string, any> more of `nvim_open_win`
function M.show_lines(lines, title, closing, config)
  local text, buf, width = require('tideate.ui.text'), M.scratch(nil, { bufhidden = 'wipe' }), 0
  text.render(buf, api.nvim_create_namespace('tideate.lines'), lines)
  for _, line in ipairs(lines) do
    width = math.max(width, text.width(line))
  end
  config.title = (' %s '):format(title)
  M.popup(buf, M.centered(config.width or width, #lines, config), closing)
end

--- Set window-local options; the global defaults stay.
---@param win integer
---@param options table<string, any>
function M.options(win, options)
  for name, value in pairs(options) do
    api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
  end
end

--- Show added lines as removed: in the left window of a diff, they are the removed ones.
---@param win integer
function M.show_as_removed(win)
  local set = vim.wo[win].winhighlight
  M.options(win, { winhighlight = (set == '' and '' or set .. ',') .. 'DiffAdd:TideateDelete' })
end

--- Set the window options of a list or a drawing: no wrapping, no columns on the left.
---@param win integer
---@param more table<string, any> further options
function M.list_options(win, more)
  M.options(win, vim.tbl_extend('error', {
    wrap = false,
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    foldcolumn = '0',
    foldenable = false,
    statuscolumn = '',
    colorcolumn = '',
    spell = false,
    list = false,
    winfixbuf = true,
  }, more))
end

---@param win integer
---@return boolean
function M.is_float(win)
  return api.nvim_win_get_config(win).relative ~= ''
end

---@param win integer?
---@return boolean whether the window is open in the current tab page
function M.visible(win)
  return win ~= nil
    and api.nvim_win_is_valid(win)
    and api.nvim_win_get_tabpage(win) == api.nvim_get_current_tabpage()
end

--- Return the windows of this tab page that are not floats.
---@return integer[]
function M.normal_windows()
  return vim.tbl_filter(function(win)
    return not M.is_float(win)
  end, api.nvim_tabpage_list_wins(0))
end

--- Scroll the current window through a long buffer, then show its own buffer again.
---@param buf integer the buffer of the window
local function scroll_far(buf)
  local view, long, count = vim.fn.winsaveview(), M.scratch(), 3 * vim.o.lines
  vim.bo[long].bufhidden = 'wipe'
  api.nvim_buf_set_lines(long, 0, -1, true, vim.split(('\n'):rep(count - 1), '\n'))
  local mods = { keepalt = true, keepjumps = true }
  vim.cmd({ cmd = 'buffer', args = { tostring(long) }, mods = mods })
  vim.fn.winrestview({ lnum = count, topline = count })
  api.nvim_win_set_cursor(0, { 1, 0 })
  vim.cmd('normal! zz')
  vim.cmd({ cmd = 'buffer', args = { tostring(buf) }, mods = mods })
  vim.fn.winrestview(view)
end

--- Redraw the filler lines below the last line. Neovim drops them for good in a window that was scrolled beyond its last
--- line in diff mode, until it scrolls by more than its height.
---@param win integer
function M.draw_end(win)
  if vim.wo[win].diff or vim.wo[win].winfixbuf or vim.fn.getcmdwintype() ~= '' then
    return
  end
  local buf, ignored = api.nvim_win_get_buf(win), vim.o.eventignore
  local hidden, kind = vim.bo[buf].bufhidden, vim.bo[buf].buftype
  vim.o.eventignore = 'all'
  vim.bo[buf].bufhidden = 'hide'
  -- `nofile`: entering the buffer must not reread a file that changed on disk
  vim.bo[buf].buftype = kind == '' and 'nofile' or kind
  local ok, err = pcall(api.nvim_win_call, win, function()
    scroll_far(buf)
  end)
  vim.bo[buf].bufhidden, vim.bo[buf].buftype = hidden, kind
  vim.o.eventignore = ignored
  if not ok then
    error(err, 0)
  end
end

--- Close a window; the last window shows an empty buffer instead.
---@param win integer?
function M.close(win)
  if not win or not api.nvim_win_is_valid(win) then
    return
  end
  if pcall(api.nvim_win_close, win, true) then
    return
  end
  M.options(win, { winfixbuf = false })
  api.nvim_win_call(win, function()
    if not pcall(vim.cmd, 'buffer #') then
      vim.cmd('enew')
    end
  end)
end

--- Delete a buffer with its text.
---@param buf integer?
function M.delete(buf)
  if buf and api.nvim_buf_is_valid(buf) then
    api.nvim_buf_delete(buf, { force = true })
  end
end

--- Close a window and return its focus.
---@param win integer?
---@param back integer? window that gets the focus
function M.leave(win, back)
  local focused = win == api.nvim_get_current_win()
  M.close(win)
  if focused and back and api.nvim_win_is_valid(back) then
    api.nvim_set_current_win(back)
  end
end

--- Return the user's window that is not a float.
---@return integer win
function M.origin()
  local current = api.nvim_get_current_win()
  return M.is_float(current) and (M.for_files() or M.normal_windows()[1]) or current
end

--- Return a window that can show a file: the current one, unless it is fixed or shows no file.
---@return integer? win
function M.for_files()
  local function fits(win)
    local kind = vim.bo[api.nvim_win_get_buf(win)].buftype
    return not M.is_float(win) and not vim.wo[win].winfixbuf and not vim.wo[win].previewwindow and kind == ''
  end
  local candidates = { api.nvim_get_current_win(), vim.fn.win_getid(vim.fn.winnr('#')) }
  vim.list_extend(candidates, M.normal_windows())
  for _, win in ipairs(candidates) do
    if win ~= 0 and fits(win) then
      return win
    end
  end
end

--- Open a split without entering it.
---@param buf integer
---@param split 'above'|'below'|'left'|'right'
---@param size? integer lines or columns
---@return integer win
function M.split(buf, split, size)
  local config = { split = split, win = M.origin() }
  config[(split == 'left' or split == 'right') and 'width' or 'height'] = size
  local win = api.nvim_open_win(buf, false, config)
  M.options(win, { winfixbuf = false })
  if vim.bo[buf].buftype ~= '' then
    M.set_statusline(win)
  end
  return win
end

--- Show a file's buffer in a split without entering it.
---@param buf integer
---@return integer win
function M.beside(buf)
  return M.split(buf, vim.o.columns >= 160 and 'right' or 'below')
end

return M
