--- Show notices in a window that needs no key press, or by the user's `vim.notify`.
local M = {}

local api = vim.api
local text = require('tideate.ui.text')
local window = require('tideate.ui.window')

--- Milliseconds that a notice, or a warning in a dialog, is shown.
M.limits = { shown = 8000 }

---@type { win: integer, timer: uv.uv_timer_t, of_run: boolean, waiting: string? }?
local toast

---@type { line: string, waiting: string }? last echoed message of a waiting run
local echoed

---@type table<integer, string>
local GROUPS = {
  [vim.log.levels.ERROR] = 'TideateFailed',
  [vim.log.levels.WARN] = 'TideateWarning',
}

--- Close the notice window.
function M.close()
  if not toast then
    return
  end
  local last = toast
  toast = nil
  last.timer:stop()
  if not last.timer:is_closing() then
    last.timer:close()
  end
  window.close(last.win)
end

--- Call back when a warning expires: its key is no longer an answer.
---@param callback fun()
function M.when_expired(callback)
  vim.defer_fn(callback, M.limits.shown)
end

--- Close a notice about an ended run when another run begins.
function M.close_of_run()
  if toast and toast.of_run then
    M.close()
  end
end

---@param line string
---@return boolean whether it is the last message
local function is_last(line)
  return vim.trim(vim.fn.execute('1messages')) == vim.trim(line)
end

--- Withdraw the notice of a waiting run. `:messages` keeps it.
---@param execution_id string? nil: a question without a run
function M.withdraw(execution_id)
  if not execution_id then
    return
  end
  if toast and toast.waiting == execution_id then
    M.close()
  end
  if echoed and echoed.waiting == execution_id then
    if is_last(echoed.line) and require('tideate.ui.progress').can_echo() then
      api.nvim_echo({ { '' } }, false, {})
    end
    echoed = nil
  end
end

--- Echo the notice of a waiting run again, after another message about the run.
---@param execution_id string
function M.echo_again(execution_id)
  if echoed and echoed.waiting == execution_id and is_last(echoed.line) then
    vim.cmd.redraw()
    api.nvim_echo({ { echoed.line } }, false, {})
  end
end

--- Move the notice off a dialog that just opened.
function M.make_room()
  if toast and window.visible(toast.win) then
    local config = api.nvim_win_get_config(toast.win)
    local row = require('tideate.ui.window.float_layout').notice_row(config.height + 2)
    api.nvim_win_set_config(toast.win, { relative = 'editor', row = row, col = config.col })
  end
end

---@param message string
---@param level integer
---@param options tideate.ui.NotifyOptions
local function show_toast(message, level, options)
  M.close()
  local columns, rows = window.room()
  local widest = math.min(72, columns - 4)
  local width = 10 -- the title
  local lines = vim.tbl_map(function(line)
    width = math.max(width, text.width({ { line } }) + 2)
    return { { ' ' .. line, GROUPS[level] } }
  end, text.wrap(message, widest - 2))
  local buf = window.scratch(nil, { bufhidden = 'wipe' })
  text.render(buf, api.nvim_create_namespace('tideate.notify'), lines)
  local height = math.min(#lines, rows - 2)
  local win = window.float(buf, false, {
    width = width,
    height = height,
    row = require('tideate.ui.window.float_layout').notice_row(height + 2),
    col = columns - width - 2,
    title = { { ' tideate ', 'TideateTitle' } },
    focusable = false,
    zindex = 130,
  })
  local timer = vim.defer_fn(M.close, M.limits.shown)
  toast = { win = win, timer = timer, of_run = options.of_run == true, waiting = options.waiting }
end

--- Return whether a plugin replaced `vim.notify`.
---@return boolean
local function replaced()
  local source = debug.getinfo(vim.notify, 'S').source
  -- Neovim 0.12 keeps no source for its own modules
  return not (source:find('^@vim/') or source:find('/lua/vim/', 1, true) or source:find('^=?%?$'))
end

---@param line string
---@return boolean
local function fits(line)
  local width = text.width({ { line } })
  return vim.o.cmdheight > 0 and not line:find('\n') and width < vim.o.columns - 12
end

--- Add a message to `:messages` without a prompt for a key.
---@param message string
local function remember(message)
  local short = vim.o.shortmess
  -- cut on the screen, whole in the history
  vim.opt.shortmess:append('T')
  for _, line in ipairs(vim.split(message, '\n', { plain = true })) do
    -- a redraw forgets the message on the screen, so that no prompt appears
    vim.cmd.redraw()
    vim.cmd.echomsg(vim.fn.string(text.plain(line)))
  end
  vim.o.shortmess = short
  vim.cmd.redraw()
  api.nvim_echo({ { '' } }, false, {})
end

--- Echo the beginning of a message on one line.
---@param line string
---@param level integer
local function echo_beginning(line, level)
  if vim.o.cmdheight > 0 then
    local first = text.fit((line:gsub('%s*\n.*', ' …')), vim.o.columns - 12)
    api.nvim_echo({ { first, GROUPS[level] } }, false, {})
  end
end

---@class tideate.ui.NotifyOptions
---@field of_run? boolean announces the end of a run
---@field waiting? string id of a waiting run: withdrawn when it continues or ends
---@field shown? boolean a window shows it already: no notice window over it

--- Notify the user. A message that would need a key press because it does not fit appears in a small window for a while,
--- and in `:messages`.
---@param message string
---@param level? integer of `vim.log.levels`
---@param options? tideate.ui.NotifyOptions
function M.notify(message, level, options)
  level, options = level or vim.log.levels.INFO, options or {}
  message = table.concat(vim.tbl_map(text.plain, vim.split(message, '\n', { plain = true })), '\n')
  local line = vim.startswith(message, 'tideate') and message or 'tideate: ' .. message
  if replaced() then
    vim.notify(line, level, { title = 'tideate' })
    return
  end
  local can_echo = require('tideate.ui.progress').can_echo()
  if can_echo and fits(line) then
    vim.cmd.redraw()
    vim.notify(line, level)
    echoed = options.waiting and { line = line, waiting = options.waiting } or nil
    return
  end
  if can_echo then
    remember(line)
  end
  if options.shown and can_echo then
    echo_beginning(line, level)
  else
    show_toast(message, level, options)
  end
end

return M
