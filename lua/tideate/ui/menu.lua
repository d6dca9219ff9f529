--- Floating menu that the bare `:Workflow` opens: choose one of the entries.
local M = {}

local api = vim.api
local text = require('tideate.ui.text')

---@class tideate.MenuEntry
---@field name string
---@field description? string

---@class tideate.Menu
---@field close fun()

local ns = api.nvim_create_namespace('tideate.menu')

---@param entries tideate.MenuEntry[]
---@param width integer
---@return tideate.Chunk[][]
local function lines_of(entries, width)
  local widest = 0
  for _, entry in ipairs(entries) do
    widest = math.max(widest, vim.fn.strdisplaywidth(entry.name))
  end
  return vim.tbl_map(function(entry)
    return text.fit_chunks({
      { ' ' .. text.pad(entry.name, widest) .. '  ', 'TideateKey' },
      { entry.description or '', 'TideateHint' },
    }, width)
  end, entries)
end

--- Open a menu.
---@param entries tideate.MenuEntry[]
---@param on_choice fun(entry: tideate.MenuEntry?) called once; nil: none
---@return tideate.Menu
function M.open(entries, on_choice)
  local window, keys = require('tideate.ui.window'), require('tideate.ui.keys')
  local columns = window.room()
  local width = math.min(72, columns - 4)
  local buf = window.scratch(nil, { bufhidden = 'wipe' })
  text.render(buf, ns, lines_of(entries, width))
  local back = api.nvim_get_current_win()
  local words = { { '<CR>', 'choose' }, { 'q', 'close' } }
  local win = window.float(buf, true, window.centered(width, #entries, {
    title = { { ' workflow ', 'TideateTitle' } },
    footer = text.keys(words),
    zindex = 90,
  }))
  window.options(win, { cursorline = true, wrap = false })

  local done = false
  local function finish(entry)
    if done then
      return
    end
    done = true
    window.leave(win, back)
    on_choice(entry)
  end
  keys.set(buf, {
    keys.key('<CR>', nil, 'choose', function()
      finish(entries[api.nvim_win_get_cursor(win)[1]])
    end),
    keys.key({ 'q', '<Esc>' }, nil, 'close', function()
      finish(nil)
    end),
  })
  api.nvim_create_autocmd({ 'WinLeave', 'BufWipeout' }, {
    buffer = buf,
    callback = vim.schedule_wrap(function()
      finish(nil)
    end),
  })
  return {
    close = function()
      finish(nil)
    end,
  }
end

return M
