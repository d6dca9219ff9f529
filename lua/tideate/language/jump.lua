--- Jump to a state's definition by `gd` and `CTRL-]` in a `.workflow` buffer.
--- Neovim's tag jump needs a file, which a new buffer may not have.
local M = {}

local api = vim.api
local ui = require('tideate.ui')

local KEYS = { gd = 'Go to where a state gets its guidance', ['<C-]>'] = 'Go to where a state gets its guidance' }

---@param win integer
---@param buf integer
---@param line integer
---@param byte integer
---@param name string
local function go(win, buf, line, byte, name)
  local row, column = unpack(api.nvim_win_get_cursor(win))
  local tag = { tagname = name, from = { buf, row, column + 1, 0 } }
  vim.fn.settagstack(win, { items = { tag } }, 't') -- for `CTRL-T`
  api.nvim_win_call(win, function()
    vim.cmd("normal! m'")
    api.nvim_win_set_cursor(win, { line, byte })
    vim.cmd('normal! zv')
  end)
end

--- Go to the definition of the state under the cursor.
function M.definition()
  local win, buf = api.nvim_get_current_win(), api.nvim_get_current_buf()
  local tick = api.nvim_buf_get_changedtick(buf)
  local at = api.nvim_win_get_cursor(win)
  local outlines = require('tideate.language.outline')
  outlines.get(buf, function(outline)
    local here = api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf
    if not here or not outline or api.nvim_buf_get_changedtick(buf) ~= tick then
      return -- the user moved, or the missing host was reported
    end
    local state = outlines.at(buf, outline, at[1] - 1, at[2])
    if not state then
      return ui.notify('there is no state under the cursor')
    end
    local row, byte = require('tideate.language.columns').place(buf, state)
    go(win, buf, row + 1, byte, state.name)
  end)
end

--- Map the keys in a buffer, except those that the user has mapped.
---@param buf integer
function M.map(buf)
  for key, words in pairs(KEYS) do
    if vim.fn.maparg(key, 'n') == '' then
      vim.keymap.set('n', key, M.definition, { buffer = buf, desc = words })
    end
  end
end

--- Remove the keys, except those mapped to something else meanwhile.
---@param buf integer 0: the current one
function M.unmap(buf)
  for _, mapping in ipairs(api.nvim_buf_get_keymap(buf, 'n')) do
    if mapping.callback == M.definition then
      vim.keymap.del('n', mapping.lhs, { buffer = buf })
    end
  end
end

return M
