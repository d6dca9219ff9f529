--- Keys of the prompt window in normal and insert mode.
local M = {}

local api = vim.api
local prompt = require('tideate.ui.prompt')

---@param key string
local function type_key(key)
  api.nvim_feedkeys(api.nvim_replace_termcodes(key, true, true, true), 'in', false)
end

--- Return a key that walks the completion menu if it is open, else the history.
---@param key string
---@param step integer
---@param leaves? fun(): boolean whether the key leaves the text here; default: always
---@return fun()
local function walk(key, step, leaves)
  return function()
    if vim.fn.pumvisible() == 1 or leaves and not leaves() then
      return type_key(key)
    end
    prompt.go_through_history(step)
  end
end

--- Complete the word before the cursor.
function M.complete()
  if vim.fn.pumvisible() == 1 then
    return type_key('<C-n>')
  end
  local before = api.nvim_get_current_line():sub(1, api.nvim_win_get_cursor(0)[2])
  if not before:find('%S$') then
    return type_key('<Tab>')
  end
  local keys = require('tideate.ui.prompt.completion').keys()
  if keys then
    type_key(keys)
  end
end

---@return boolean
local function on_first_line()
  return vim.fn.line('.') == 1
end

---@return boolean
local function on_last_line()
  return vim.fn.line('.') == vim.fn.line('$')
end

---@param name string function of the window's module
---@return fun()
local function call(name)
  return function()
    prompt[name]()
  end
end

---@param analyzes boolean? the workflow begins with an analysis; default: true
---@return tideate.Key[] of normal mode; the help includes those of insert mode
function M.keys(analyzes)
  local keys = {
    { lhs = { '<C-s>', '<C-CR>' }, desc = 'send, also while typing', word = 'send', run = call('send') },
    { lhs = { '<CR>' }, desc = 'send', run = call('send') },
    {
      lhs = { '<C-e>' },
      desc = 'in a `refactor`: send as `edit`, without analysis; also while typing',
      word = 'no analysis',
      run = function()
        prompt.send(true)
      end,
    },
    { lhs = { 'q', '<Esc>' }, desc = 'close; the text is kept as a draft', word = 'close', run = call('close') },
    { lhs = { 'K' }, desc = 'show the whole prompt', word = 'preview', run = call('show_preview') },
    { lhs = { 'gm' }, desc = 'leave out the memory of the project, or send it again', run = call('toggle_memory') },
    {
      lhs = { '<C-p>' },
      desc = 'an earlier prompt; while typing also <Up> on the first line',
      word = 'earlier',
      run = walk('<C-p>', 1),
    },
    {
      lhs = { '<C-n>' },
      desc = 'a later prompt; while typing also <Down> on the last line',
      run = walk('<C-n>', -1),
    },
    { lhs = { 'gh' }, desc = 'search the earlier prompts', run = call('search') },
    {
      lhs = { '?', 'g?' },
      desc = 'help; while typing <Tab> completes',
      word = 'help',
      run = function()
        require('tideate.ui.keys').help('prompt', M.keys(analyzes))
      end,
    },
  }
  return vim.tbl_filter(function(key)
    return analyzes ~= false or key.lhs[1] ~= '<C-e>'
  end, keys)
end

--- Map the keys in the window's buffer.
---@param buf integer
---@param analyzes boolean the workflow begins with an analysis
function M.map(buf, analyzes)
  require('tideate.ui.keys').set(buf, M.keys(analyzes))
  local function map(lhs, rhs, desc)
    vim.keymap.set('i', lhs, rhs, { buffer = buf, nowait = true, silent = true, desc = desc })
  end
  for _, lhs in ipairs({ '<C-s>', '<C-CR>' }) do
    -- insert mode must end in this window, not in the next one
    map(lhs, "<Esc><Cmd>lua require('tideate.ui.prompt').send()<CR>", 'send')
  end
  if analyzes then
    local send = "<Esc><Cmd>lua require('tideate.ui.prompt').send(true)<CR>"
    vim.keymap.set('i', '<C-e>', function()
      return vim.fn.pumvisible() == 1 and '<C-e>' or send
    end, { buffer = buf, expr = true, replace_keycodes = true, desc = 'send as `edit`, without analysis' })
  end
  map('<C-p>', walk('<C-p>', 1), 'an earlier prompt')
  map('<C-n>', walk('<C-n>', -1), 'a later prompt')
  map('<Up>', walk('<Up>', 1, on_first_line), 'up, or an earlier prompt')
  map('<Down>', walk('<Down>', -1, on_last_line), 'down, or a later prompt')
  map('<Tab>', M.complete, 'complete')
end

return M
