--- Buffer-local keys and their help, from one table; earlier mappings are restored.
local M = {}

local api = vim.api

---@class tideate.Key
---@field lhs string[] the first one is shown in a footer
---@field run fun()
---@field desc string
---@field word? string for a footer; without it only the help names the key
---@field modes? string[] default: normal mode
---@field shown? string[] keys on its line of the help; empty: no line of its own
---@field begins? boolean wait for a longer key that begins with it

---@param buf integer
---@param mode string
---@param lhs string
---@return table<string, any>? mapping the buffer's own mapping of a key
local function own(buf, mode, lhs)
  return api.nvim_buf_call(buf, function()
    local mapping = vim.fn.maparg(lhs, mode, false, true)
    return mapping.buffer == 1 and mapping or nil
  end)
end

--- Map keys in a buffer.
---@param buf integer
---@param keys tideate.Key[]
---@return fun() restore
function M.set(buf, keys)
  local before = {} ---@type { mode: string, lhs: string, mapping: table<string, any>? }[]
  for _, key in ipairs(keys) do
    local options = { buffer = buf, nowait = not key.begins, silent = true, desc = key.desc }
    for _, mode in ipairs(key.modes or { 'n' }) do
      for _, lhs in ipairs(key.lhs) do
        table.insert(before, { mode = mode, lhs = lhs, mapping = own(buf, mode, lhs) })
        vim.keymap.set(mode, lhs, key.run, options)
      end
    end
  end
  return function()
    if not api.nvim_buf_is_valid(buf) then
      return
    end
    for _, entry in ipairs(before) do
      pcall(vim.keymap.del, entry.mode, entry.lhs, { buffer = buf })
      if entry.mapping then
        api.nvim_buf_call(buf, function()
          vim.fn.mapset(entry.mode, false, entry.mapping)
        end)
      end
    end
  end
end

--- Return the keys and words for a footer.
---@param keys tideate.Key[]
---@return { [1]: string, [2]: string }[]
function M.words(keys)
  local words = {}
  for _, key in ipairs(keys) do
    if key.word then
      table.insert(words, { key.lhs[1], key.word })
    end
  end
  return words
end

--- Return the keys and descriptions for the help.
---@param keys tideate.Key[]
---@return { [1]: string, [2]: string }[]
function M.described(keys)
  local lines = {}
  for _, key in ipairs(keys) do
    local named = key.shown or key.lhs
    if #named > 0 then
      table.insert(lines, { table.concat(named, '  '), key.desc })
    end
  end
  return lines
end

--- Create a key.
---@param lhs string|string[]
---@param word string? for a footer
---@param desc string
---@param run fun()
---@return tideate.Key
function M.key(lhs, word, desc, run)
  return { lhs = type(lhs) == 'table' and lhs or { lhs }, word = word, desc = desc, run = run }
end

--- Create the key of a help.
---@param title string
---@param keys fun(): tideate.Key[]
---@return tideate.Key
function M.help_key(title, keys)
  return M.key({ '?', 'g?' }, 'help', 'this help', function()
    M.help(title, keys())
  end)
end

--- Show the descriptions of keys.
---@param title string
---@param keys tideate.Key[]
function M.help(title, keys)
  local text, window = require('tideate.ui.text'), require('tideate.ui.window')
  local lines, widest = {}, 0 ---@type tideate.Chunk[][], integer
  local described = M.described(keys)
  for _, line in ipairs(described) do
    widest = math.max(widest, vim.fn.strdisplaywidth(line[1]))
  end
  local room = math.max(20, (window.room()) - 4 - widest - 4)
  for _, line in ipairs(described) do
    for index, part in ipairs(text.wrap(line[2], room)) do
      local head = text.pad(index == 1 and line[1] or '', widest)
      table.insert(lines, { { ' ' .. head .. '  ', 'TideateKey' }, { part .. ' ' } })
    end
  end
  window.show_lines(lines, title, { 'q', '<Esc>', '<CR>', '?', 'g?' }, { zindex = 120 })
end

return M
