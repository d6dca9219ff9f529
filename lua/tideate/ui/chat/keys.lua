--- Keys of a chat: of its history, and of the message.
local M = {}

local api = vim.api
local keys = require('tideate.ui.keys')

---@return tideate.Chat
local function chat()
  return assert(require('tideate.ui.chat').of())
end

---@param method string
---@return fun()
local function call(method)
  return function()
    local one = chat()
    one[method](one)
  end
end

---@return tideate.ui.BlockOpts
local function block_opts()
  return { folder = chat().folder, on_start = require('tideate.ui.chat').keep_quiet }
end

---@param method 'copy'|'apply'|'save'
---@return fun()
local function block(method)
  return function()
    require('tideate.ui.chat.blocks')[method](chat().turns, block_opts())
  end
end

local function cancel()
  local running = chat().running
  if running then
    require('tideate').cancel(running)
  end
end

local function choose_model()
  require('tideate.model_choice').run('--workflow=chat')
end

local function type_message()
  chat():show(true)
end

--- Show the tool call of the cursor's line, follow a place in a file, or toggle a fold.
local function open_line()
  local row = api.nvim_win_get_cursor(0)[1]
  local calls = require('tideate.ui.transcript.tool_calls')
  local found = calls.at({ calls = chat().calls }, api.nvim_buf_get_lines(0, 0, row, true))
  if vim.fn.foldclosed(row) > 0 then
    vim.cmd.normal({ 'zo', bang = true })
  elseif found then
    require('tideate.ui.questions.preview').open('tool call', calls.details(found), 'markdown')
  elseif not require('tideate.ui.references').follow() and vim.fn.foldlevel(row) > 0 then
    vim.cmd.normal({ 'za', bang = true })
  end
end

---@param step integer 1: down, -1: up
---@return fun()
local function jump(step)
  return function()
    local row, turns = api.nvim_win_get_cursor(0)[1], chat().turns
    local first, last = step > 0 and 1 or #turns, step > 0 and #turns or 1
    for index = first, last, step do
      if (turns[index].row - row) * step > 0 then
        return api.nvim_win_set_cursor(0, { turns[index].row, 0 })
      end
    end
  end
end

---@return tideate.Key[]
function M.history()
  local key = keys.key
  return {
    key({ 'i', 'a', 'o', 'r' }, 'write', 'write the next message', type_message),
    key('<CR>', nil, 'open the tool call, the file or the fold of this line', open_line),
    key('<C-c>', nil, 'cancel the turn', cancel),
    key('s', nil, 'send the model a message before its next turn', function()
      local running = chat().running
      require('tideate.ui.run_actions').ask_what_to_say({ id = running, ended = running == nil })
    end),
    key('f', nil, 'begin another chat from this turn; on a message, edit it first', function()
      chat():fork(api.nvim_win_get_cursor(0)[1])
    end),
    key('gY', nil, 'copy the code block under the cursor', block('copy')),
    key('gA', nil, 'apply the block to the file that it names, after a review', block('apply')),
    key('gN', nil, 'save the block as a new file', block('save')),
    key('gm', nil, 'choose the model of the next turns', choose_model),
    key(']]', nil, 'go to the next turn', jump(1)),
    key('[[', nil, 'go to the previous turn', jump(-1)),
    key('q', nil, 'close the chat; a running turn continues', call('hide')),
    keys.help_key('chat', M.history),
  }
end

---@param lhs string
local function type_key(lhs)
  api.nvim_feedkeys(api.nvim_replace_termcodes(lhs, true, true, true), 'in', false)
end

--- Return a function that walks the completion menu if it is open, else the earlier prompts.
---@param lhs string
---@param step integer
---@return fun()
local function walk(lhs, step)
  return function()
    local one = chat()
    if vim.fn.pumvisible() == 1 then
      return type_key(lhs)
    end
    one.prompts = one.prompts or require('tideate.ui.prompt.history').open(one.folder)
    local text = one.prompts:move(step, one:text())
    if text then
      one:set_text(text)
    end
  end
end

--- Return the keys of a message.
---@param of? tideate.Chat
---@return tideate.Key[]
function M.message(of)
  local key = keys.key
  local running = of and of.running
  return {
    key({ '<C-s>', '<C-CR>' }, not running and 'send' or nil, 'send the message, also while typing', call('send')),
    key('<CR>', nil, 'send the message', call('send')),
    key('<C-c>', running and 'cancel' or nil, 'cancel the turn', cancel),
    key('gm', 'model', 'choose the model of the next turns', choose_model),
    key('<C-p>', nil, 'an earlier prompt, also while typing', walk('<C-p>', 1)),
    key('<C-n>', nil, 'a later prompt, also while typing', walk('<C-n>', -1)),
    key('q', 'close', 'close the chat; the message is kept', call('hide')),
    {
      lhs = { '?', 'g?' },
      desc = 'this help; while typing <Tab> completes',
      word = 'help',
      run = function()
        keys.help('chat', M.message())
      end,
    },
  }
end

--- Map the keys of a message in its buffer.
---@param buf integer
function M.map(buf)
  keys.set(buf, M.message())
  local function map(lhs, rhs, desc)
    vim.keymap.set('i', lhs, rhs, { buffer = buf, nowait = true, silent = true, desc = desc })
  end
  for _, lhs in ipairs({ '<C-s>', '<C-CR>' }) do
    map(lhs, call('send'), 'send the message')
  end
  map('<C-c>', function()
    if chat().running then
      cancel()
    else
      type_key('<Esc>')
    end
  end, 'cancel the turn, else end typing')
  map('<C-p>', walk('<C-p>', 1), 'an earlier prompt')
  map('<C-n>', walk('<C-n>', -1), 'a later prompt')
  map('<Tab>', require('tideate.ui.prompt.keys').complete, 'complete')
end

return M
