--- Windows: placed where they fit, all closed at the end.
local M = {}

M.EDGE = 2 -- columns: what would be left of the text beside a wide float says nothing

---@return integer columns, integer lines what floats may use, without tabline, statusline, command line
function M.room()
  local lines = vim.o.lines - vim.o.cmdheight
  if vim.o.laststatus > 0 then
    lines = lines - 1
  end
  if vim.o.showtabline == 2 or (vim.o.showtabline == 1 and #vim.api.nvim_list_tabpages() > 1) then
    lines = lines - 1
  end
  return vim.o.columns, math.max(lines, 3)
end

--- A buffer of the plugin's own: unlisted, no file, nothing to save.
---@param name? string
---@return integer buf
function M.scratch(name)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].modifiable = true -- `nvim -M` makes new buffers otherwise
  vim.bo[buf].swapfile = false
  vim.bo[buf].modeline = false
  if name then
    vim.api.nvim_buf_set_name(buf, name)
  end
  return buf
end

--- The person's own border for all floats, which Neovim 0.10 has not.
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
  -- a title and a footer need a border to stand in
  return (chosen == '' or chosen == 'none') and 'solid' or chosen
end

--- A float's place in the middle of the screen.
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

local ruler ---@type boolean? the person's own setting, kept while one of our floats is current
local RULER = 'tideate.ruler'

---@param win integer
---@return boolean one of our floats
local function is_ours(win)
  return vim.w[win].tideate_float == true
end

--- A float has no statusline: Neovim draws its ruler over the command line, where it stays.
local function set_ruler()
  local inside = is_ours(vim.api.nvim_get_current_win())
  if inside and ruler == nil then
    ruler, vim.o.ruler = vim.o.ruler, false
  elseif not inside and ruler ~= nil then
    vim.o.ruler, ruler = ruler, nil
  end
end

--- Follow the person into floats and out of them, until none is left.
local function follow_ruler()
  set_ruler()
  if ruler == nil and #vim.tbl_filter(is_ours, vim.api.nvim_list_wins()) == 0 then
    vim.api.nvim_create_augroup(RULER, { clear = true })
  end
end

---@param win integer
local function keep_ruler_out(win)
  vim.w[win].tideate_float = true
  local group = vim.api.nvim_create_augroup(RULER, { clear = true })
  local desc = 'No ruler of a tideate float in the command line'
  -- a float that is closed by `:noautocmd` is noticed when the cursor moves
  local events = { 'WinEnter', 'CursorMoved' }
  vim.api.nvim_create_autocmd(events, { group = group, desc = desc, callback = follow_ruler })
  -- it is still there then
  vim.api.nvim_create_autocmd('WinClosed', { group = group, desc = desc, callback = vim.schedule_wrap(follow_ruler) })
  set_ruler()
end

--- A statusline that names the window, unless the person has one of their own.
---@param win integer
function M.set_statusline(win)
  local option = 'statusline'
  if vim.go[option] == '' or vim.go[option] == vim.api.nvim_get_option_info2(option, {}).default then
    local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
    M.options(win, { [option] = name == '' and ' tideate%=' or ' %<%f%=%P ' })
  end
end

--- Words in the border, on its background: Neovim draws them on that of the text behind the float.
---@param words? string|tideate.Chunk[]
---@param group string of a plain string
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

--- Change the place of a float, or the words in its border.
---@param win integer
---@param config table<string, any> `nvim_win_set_config` keys
function M.configure(win, config)
  vim.api.nvim_win_set_config(win, with_words(config))
end

--- Open a floating window.
---@param buf integer
---@param enter boolean
---@param config table<string, any> `nvim_open_win` keys; relative and border are given here
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
  local ok, win = pcall(vim.api.nvim_open_win, buf, enter, full)
  if not ok then
    -- a border that this Neovim does not know
    full.border = 'rounded'
    win = vim.api.nvim_open_win(buf, enter, full)
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
  -- from 0.12 on a float with a statusline of its own draws it over its last line
  if vim.fn.has('nvim-0.12') == 0 or vim.o.laststatus == 3 then
    M.set_statusline(win)
  end
  keep_ruler_out(win)
  return win
end

--- Open a float over a dialog, to read or edit something of it; the dialog knows that it is not left.
---@param buf integer
---@param config table<string, any>
---@return integer win
function M.over(buf, config)
  local win = M.float(buf, false, config)
  vim.w[win].tideate_over = true
  vim.api.nvim_set_current_win(win)
  return win
end

--- Set window-local options without touching the values that other windows start from.
---@param win integer
---@param options table<string, any>
function M.options(win, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
  end
end

--- In the left window of Neovim's diff, what it alone has is removed: it looks like that, not like what is added.
---@param win integer
function M.show_as_removed(win)
  local set = vim.wo[win].winhighlight
  M.options(win, { winhighlight = (set == '' and '' or set .. ',') .. 'DiffAdd:TideateDelete' })
end

--- Set the window options of a list or a drawing, of which a line is a line.
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
  return vim.api.nvim_win_get_config(win).relative ~= ''
end

---@param win integer?
---@return boolean open in the tab page that the person sees
function M.visible(win)
  return win ~= nil
    and vim.api.nvim_win_is_valid(win)
    and vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage()
end

--- Windows of this tab page that are no floats.
---@return integer[]
function M.normal_windows()
  return vim.tbl_filter(function(win)
    return not M.is_float(win)
  end, vim.api.nvim_tabpage_list_wins(0))
end

--- Scroll the current window through a long buffer, and back to its own.
---@param buf integer its own
local function scroll_far(buf)
  local view, long, count = vim.fn.winsaveview(), M.scratch(), 3 * vim.o.lines
  vim.bo[long].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(long, 0, -1, true, vim.split(('\n'):rep(count - 1), '\n'))
  local mods = { keepalt = true, keepjumps = true }
  vim.cmd({ cmd = 'buffer', args = { tostring(long) }, mods = mods })
  vim.fn.winrestview({ lnum = count, topline = count })
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  vim.cmd('normal! zz')
  vim.cmd({ cmd = 'buffer', args = { tostring(buf) }, mods = mods })
  vim.fn.winrestview(view)
end

--- Draw what stands below the last line again. Neovim leaves that out in a window that was scrolled beyond its
--- last line in diff mode, for good: only a way of more than its height to another middle ends that.
---@param win integer
function M.draw_end(win)
  if vim.wo[win].diff or vim.wo[win].winfixbuf or vim.fn.getcmdwintype() ~= '' then
    return
  end
  local buf, ignored = vim.api.nvim_win_get_buf(win), vim.o.eventignore
  local hidden, kind = vim.bo[buf].bufhidden, vim.bo[buf].buftype
  vim.o.eventignore = 'all'
  vim.bo[buf].bufhidden = 'hide'
  -- a file that was changed on disk would be read again when its buffer is entered
  vim.bo[buf].buftype = kind == '' and 'nofile' or kind
  local ok, err = pcall(vim.api.nvim_win_call, win, function()
    scroll_far(buf)
  end)
  vim.bo[buf].bufhidden, vim.bo[buf].buftype = hidden, kind
  vim.o.eventignore = ignored
  if not ok then
    error(err, 0)
  end
end

--- Close a window; the last one shows an empty buffer instead.
---@param win integer?
function M.close(win)
  if not win or not vim.api.nvim_win_is_valid(win) then
    return
  end
  if pcall(vim.api.nvim_win_close, win, true) then
    return
  end
  M.options(win, { winfixbuf = false })
  vim.api.nvim_win_call(win, function()
    if not pcall(vim.cmd, 'buffer #') then
      vim.cmd('enew')
    end
  end)
end

--- A window in which a file can be shown: the person's, unless it is fixed or shows no file.
---@return integer? win
function M.for_files()
  local function fits(win)
    local kind = vim.bo[vim.api.nvim_win_get_buf(win)].buftype
    return not M.is_float(win) and not vim.wo[win].winfixbuf and not vim.wo[win].previewwindow and kind == ''
  end
  local candidates = { vim.api.nvim_get_current_win(), vim.fn.win_getid(vim.fn.winnr('#')) }
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
  local beside = vim.api.nvim_get_current_win()
  if M.is_float(beside) then
    beside = M.for_files() or M.normal_windows()[1]
  end
  local config = { split = split, win = beside }
  config[(split == 'left' or split == 'right') and 'width' or 'height'] = size
  local win = vim.api.nvim_open_win(buf, false, config)
  M.options(win, { winfixbuf = false })
  if vim.bo[buf].buftype ~= '' then
    M.set_statusline(win)
  end
  return win
end

--- Show a file's buffer beside the person's window, without taking the focus.
---@param buf integer
---@return integer win
function M.beside(buf)
  return M.split(buf, vim.o.columns >= 160 and 'right' or 'below')
end

return M
