--- Chats: conversations of several runs, each in a window with its history and one for the next message.
local M = {}

local api = vim.api
local draft = require('tideate.ui.chat.draft')
local history = require('tideate.ui.chat.history')
local ui = require('tideate.ui')
local window = require('tideate.ui.window')

local LOWEST, HIGHEST = 2, 12 -- rows of a message
local WIDE = 140 -- columns for a chat beside the code
local SHARE = 0.45 -- of the screen
local TITLE = 60 -- characters
local ROWS, CODE = 16, 8 -- of a chat below the code, and left for the code if possible

local BEGINS = { SD_EVENT_WORKFLOW_STARTED = true, SD_EVENT_WORKFLOW_RESTORED = true }
local ENDS = { SD_EVENT_WORKFLOW_COMPLETED = true, SD_EVENT_WORKFLOW_FAILED = true, SD_EVENT_WORKFLOW_CANCELLED = true }

---@class tideate.Chat
---@field key string of its draft: the run that the next message continues, or what it begins with
---@field folder string of the project
---@field title string
---@field stream tideate.Stream the history
---@field input? integer buffer of the next message
---@field unsent string message of a closed buffer
---@field sent? string message that the store may not have yet
---@field turns tideate.ChatTurn[]
---@field calls tideate.ui.Call[]
---@field count integer turns of models so far
---@field ids string[] runs of the chat
---@field tip? string run that the next message continues
---@field turn? integer turn of it; nil: the last
---@field running? string
---@field entry? tideate.ui.Run transcript of the running turn
---@field resumed? boolean the running turn was resumed
---@field loading? boolean
---@field rows? integer height of the message when it was last fitted
---@field queued? boolean the message is sent once the chat was read
---@field context? tideate.Context selected lines for the next message
---@field cr? string end of the last piece of text, if the line end is cut
---@field stop? fun() stops the spinner
---@field prompts? tideate.ui.PromptHistory
local Chat = {}
Chat.__index = Chat

---@type tideate.Chat[] the last one used at the end
local chats = {}
---@type table<string, tideate.Chat|false> by run; false: a run of a code block, without a text here
local owners = {}
local number = 0

---@param folder string
---@param key string
---@param title string
---@param text? tideate.ChatText
---@return tideate.Chat
local function new(folder, key, title, text)
  number = number + 1
  local fields = { folder = folder, key = key, title = title, unsent = '', turns = {}, calls = {}, count = 0, ids = {} }
  local self = setmetatable(fields, Chat)
  self.stream = require('tideate.ui.transcript.stream').new(('tideate://chat/%d'):format(number), function(buf)
    vim.b[buf].tideate_folder = folder
    require('tideate.ui.keys').set(buf, require('tideate.ui.chat.keys').history())
  end)
  table.insert(chats, self)
  if text then
    self:fill(text)
  end
  self.unsent = draft.read(folder, key)
  return self
end

---@return boolean
function Chat:is_running()
  return self.running ~= nil
end

--- Fold the history of a window after drawing its text.
---@param win integer
local function fold(win)
  vim.defer_fn(function()
    if api.nvim_win_is_valid(win) then
      window.options(win, history.options())
    end
  end, 1)
end

--- Show a text as the history.
---@param text tideate.ChatText
function Chat:fill(text)
  self.turns, self.calls = text.turns, text.calls
  local wins = vim.fn.win_findbuf(self.stream.buf)
  for _, win in ipairs(wins) do
    window.options(win, { foldmethod = 'manual' }) -- the folds of all lines would be looked for at once
  end
  self.stream:set(text.lines)
  for _, win in ipairs(wins) do
    fold(win)
    require('tideate.ui.output.window').to_end(win, self.stream.buf)
  end
end

--- Show the stored runs.
---@param result {title: string, runs: tideate.ChatRun[]}
function Chat:take(result)
  self:fill(history.text(result.runs))
  self.title = result.title
  for _, run in ipairs(result.runs) do
    table.insert(self.ids, run.execution_id)
    for _, message in ipairs(run.messages) do
      if message.role == 'model' then
        self.tip, self.count = run.execution_id, message.turn
      end
    end
    -- the host says how a turn that has not ended is continued
    self.tip = not run.ended and run.execution_id or self.tip
  end
  local last = result.runs[#result.runs]
  self:rename(self.tip or last and last.execution_id or 'new')
end

--- Give the draft another key; newly typed text follows an older draft.
---@param key string
function Chat:rename(key)
  if key == self.key then
    return
  end
  draft.write(self.folder, self.key, '')
  self.key = key
  local typed, older = self:text(), draft.read(self.folder, key)
  if older ~= '' and older ~= typed then
    self:set_text(typed:find('%S') and older .. '\n' .. typed or older)
  else
    self:keep()
  end
end

-- -- message ---------------------------------------------------------------------------------------

---@return string
function Chat:text()
  if self.input and api.nvim_buf_is_loaded(self.input) then
    return table.concat(api.nvim_buf_get_lines(self.input, 0, -1, false), '\n')
  end
  return self.unsent
end

---@param text string
function Chat:set_text(text)
  local lines = vim.split(text, '\n', { plain = true })
  self.unsent = text
  if self.input and api.nvim_buf_is_loaded(self.input) then
    api.nvim_buf_set_lines(self.input, 0, -1, false, lines)
    vim.bo[self.input].modified = false
    for _, win in ipairs(vim.fn.win_findbuf(self.input)) do
      api.nvim_win_set_cursor(win, { #lines, #lines[#lines] })
    end
  end
  self:keep()
end

--- Keep what is typed, and what the store has not got yet.
function Chat:keep()
  draft.write(self.folder, self.key, self:draft())
end

---@return string
function Chat:draft()
  return (self.sent and self.sent .. '\n' or '') .. self:text()
end

--- Return a function that underlines unresolved mentions of a message after a pause in typing.
---@param buf integer
---@return fun()
function Chat:preview(buf)
  local asked ---@type tideate.ui.Preview
  return function()
    if not asked and self:text():find('@', 1, true) then
      local spec = { name = 'chat', context = self:context_now() }
      asked = require('tideate.ui.prompt.preview').new(spec, function()
        if api.nvim_buf_is_loaded(buf) then
          asked:underline(buf)
        end
      end)
    end
    if asked then
      asked:changed(function()
        return 'chat', vim.trim(self:text())
      end)
    end
  end
end

---@return integer buf loaded
function Chat:input_buffer()
  if self.input and api.nvim_buf_is_loaded(self.input) then
    return self.input
  end
  window.delete(self.input)
  number = number + 1
  local buf = window.scratch(('tideate://chat-message/%d'):format(number), {
    buftype = 'acwrite',
    bufhidden = 'hide',
  })
  self.input = buf
  vim.bo[buf].filetype = 'tideate_chat'
  require('tideate.ui.text.markdown').load(function()
    pcall(vim.treesitter.start, buf, 'markdown') -- plain text without the grammar, or if the buffer is gone
  end)
  require('tideate.ui.chat.keys').map(buf)
  require('tideate.ui.prompt.completion').attach(buf)
  local preview = self:preview(buf)
  api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(self.unsent, '\n', { plain = true }))
  vim.bo[buf].modified = false
  local function on(events, callback)
    api.nvim_create_autocmd(events, { buffer = buf, callback = callback })
  end
  on({ 'TextChanged', 'TextChangedI', 'TextChangedP' }, function()
    vim.bo[buf].modified = false -- a draft must not prevent `:q`
    self:resize()
    preview()
    draft.later(self.folder, self.key, function()
      return self:draft()
    end)
  end)
  on({ 'InsertLeave', 'BufLeave', 'BufUnload', 'VimLeavePre' }, function()
    self.unsent = table.concat(api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
    self:keep()
  end)
  on('BufWriteCmd', function()
    vim.bo[buf].modified = false
    vim.schedule(function()
      self:send() -- later: the writing command still needs the buffer
    end)
  end)
  return buf
end

-- -- windows ---------------------------------------------------------------------------------------

--- Return this tab page's windows of the history and the message.
---@return integer? history, integer? message
function Chat:windows()
  local found = {} ---@type table<integer, integer>
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    found[api.nvim_win_get_buf(win)] = win
  end
  return found[self.stream.buf], self.input and found[self.input]
end

--- Fit the height of the message's window to its text.
function Chat:resize()
  local past, message = self:windows()
  if past and message then
    local room = api.nvim_win_get_height(past) + api.nvim_win_get_height(message)
    local wanted = math.min(math.max(LOWEST, api.nvim_win_text_height(message, {}).all), HIGHEST, math.floor(room / 2))
    -- a height that the user chose stays until the text needs another one
    if wanted ~= self.rows then
      self.rows = wanted
      api.nvim_win_set_height(message, wanted)
    end
  end
end

--- Draw the winbars.
function Chat:draw()
  local text, progress = require('tideate.ui.text'), require('tideate.ui.progress')
  local past, message = self:windows()
  local run = self.running and require('tideate.state').get_status(self.running)
  if past then
    local title = self.loading and 'reading …' or self.title ~= '' and self.title or 'new chat'
    local chunks = { { (' %s '):format(title), 'TideateTitle' } }
    if run then
      vim.list_extend(chunks, vim.list_slice(progress.title(run), 2))
    elseif self.count > 0 then
      table.insert(chunks, { '· ' .. text.counted(self.count, 'turn'), 'TideateHint' })
    end
    window.options(past, { winbar = text.bar(text.fit_chunks(chunks, api.nvim_win_get_width(past))) })
  end
  if message then
    local keys = require('tideate.ui.keys').words(require('tideate.ui.chat.keys').message(self))
    local width = api.nvim_win_get_width(message)
    local chunks = { { (' %s '):format(self:subject()), 'TideateHint' } }
    vim.list_extend(chunks, text.keys(keys, width - text.width(chunks)))
    window.options(message, { winbar = text.bar(text.fit_chunks(chunks, width)) })
  end
end

--- Name the model and the selected lines of the next message.
---@return string
function Chat:subject()
  local config = require('tideate.config')
  local adapter = require('tideate.model_choice').adapter_for('chat') or config.get('adapter')
  local parts = { type(adapter) == 'string' and require('tideate.ui.text').name(adapter) or nil }
  if self.context then
    table.insert(parts, require('tideate.ui.prompt.preview').about(self.context, 'chat'))
  end
  return #parts > 0 and table.concat(parts, ' · ') or 'message'
end

--- Turn the spinner while a turn runs in a visible window.
function Chat:animate()
  local run = self.running and require('tideate.state').get_status(self.running)
  local wanted = run and require('tideate.ui.progress').turning(run) and self:windows() ~= nil
  if wanted and not self.stop then
    self.stop = require('tideate.ui.progress').tick(function()
      self:draw()
      self:animate()
    end)
  elseif not wanted and self.stop then
    self.stop()
    self.stop = nil
  end
end

---@param buf integer
---@return integer win
local function split(buf)
  local kind = require('tideate.config').get('ui.output')
  if kind == 'tab' or vim.o.lines < ROWS then
    vim.cmd('tab sbuffer ' .. buf)
    return api.nvim_get_current_win()
  end
  local beside = kind == 'vsplit' or kind ~= 'split' and vim.o.columns >= WIDE
  if beside then
    return window.split(buf, 'right', math.floor(vim.o.columns * SHARE))
  end
  local rows = math.max(math.floor(vim.o.lines * SHARE), math.min(ROWS, vim.o.lines - CODE))
  return window.split(buf, 'below', rows)
end

---@param win integer
---@param buf integer
local function show_history(win, buf)
  local placement = require('tideate.ui.output.window')
  placement.set_reading_options(win)
  window.options(win, { foldmethod = 'manual' })
  fold(win)
  placement.to_end(win, buf)
end

--- Open the missing windows, and enter the message.
---@param typing? boolean begin to type
function Chat:show(typing)
  chats = vim.tbl_filter(function(other)
    if other ~= self then
      other:hide()
    end
    return other ~= self
  end, chats)
  table.insert(chats, self)
  local past, message = self:windows()
  local buf = self.stream:loaded_buffer()
  if not past or api.nvim_win_get_buf(past) ~= buf then
    past = split(buf)
    show_history(past, buf)
    api.nvim_create_autocmd('WinClosed', { pattern = tostring(past), once = true, callback = vim.schedule_wrap(function()
      local _, left = self:windows()
      window.close(left)
    end) })
  end
  if not message then
    local input = self:input_buffer()
    local ok, opened = pcall(api.nvim_open_win, input, false, { split = 'below', win = past, height = LOWEST })
    if not ok then
      self:hide()
      return ui.warn('the screen has too few lines for a chat')
    end
    message = opened
    window.options(message, {
      winfixheight = true,
      winfixbuf = true,
      wrap = true,
      linebreak = true,
      number = false,
      relativenumber = false,
      signcolumn = 'no',
      spell = false,
      fillchars = 'eob: ',
    })
    window.set_statusline(message)
    self:set_cursor(message)
  end
  api.nvim_set_current_win(message)
  self.rows = nil
  self:resize()
  self:draw()
  self:animate()
  if typing then
    vim.cmd.startinsert({ bang = true })
  end
end

---@param win integer of the message
function Chat:set_cursor(win)
  local last = api.nvim_buf_get_lines(self.input, -2, -1, true)[1]
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(self.input), #last })
end

--- Close the windows of this tab page; the chat stays.
function Chat:hide()
  local past, message = self:windows()
  window.close(message)
  window.close(past)
  self:animate()
end

-- -- turns -----------------------------------------------------------------------------------------

--- Write the heading of a turn.
---@param turn tideate.ChatTurn
---@param model? string
function Chat:begin_turn(turn, model)
  self.stream:grow()
  self.stream:paragraph()
  self.stream:flush()
  turn.row = api.nvim_buf_line_count(self.stream:loaded_buffer())
  table.insert(self.turns, turn)
  self.entry.step_began = turn.row - 1
  self.stream:write(history.heading(turn.role, model) .. '\n\n')
end

---@return tideate.Context
function Chat:context_now()
  local context = self.context or require('tideate.context').capture()
  local path = context.buffer and context.buffer.path or ''
  if self.context or vim.startswith(path, self.folder .. '/') then
    return context
  end
  return { cwd = self.folder }
end

--- Begin the transcript of a turn.
function Chat:begin_entry()
  self.entry = require('tideate.ui.output.runs').entry(self.stream)
  self.entry.begun, self.entry.calls = true, self.calls
end

--- Follow the last turn after it is resumed.
---@param id string
function Chat:resume(id)
  self.running, self.resumed, owners[id] = id, true, self
  self:begin_entry()
end

--- Send the message.
function Chat:send()
  local text = vim.trim(self:text())
  if text == '' then
    return
  elseif self.loading then
    self.queued = true
    return
  elseif self.running then
    return ui.notify('the model is still answering; <C-c> cancels the turn')
  end
  require('tideate.ui.prompt.history').add(self.folder, text)
  local opts = { prompt = text, context = self:context_now(), continues = self.tip, turn = self.turn }
  self:begin_entry()
  self:begin_turn({ row = 0, role = 'user', text = text })
  self.stream:write(text)
  require('tideate.ui.transcript.parallel_steps').close_fence(self.entry)
  local id = require('tideate').run('chat', opts, function(result)
    self:ended(result, text)
  end)
  self.running, owners[id] = id, self
  self.turns[#self.turns].run = id
  if self.title == '' then
    self.title = vim.fn.strcharpart(text:match('[^\n]*'), 0, TITLE)
  end
  self.sent = text
  local input = self:input_buffer()
  api.nvim_buf_set_lines(input, 0, -1, false, {})
  vim.bo[input].modified = false
  self:draw()
end

--- Handle the end of a turn; a message without an answer returns to its window.
---@param result tideate.RunResult
---@param text string of the message
function Chat:ended(result, text)
  local id = result.execution_id
  local run = require('tideate.state').get_status(id)
  self.running, self.sent = nil, nil
  if run and run.answered then
    self.tip, self.turn, self.context = id, nil, nil
  else
    self:rename(self.tip or self.key)
  end
  if run and run.answered then
    self:keep()
  elseif not self:text():find('%S') then
    self:set_text(text)
  end
  self:draw()
  self:animate()
end

--- Handle an event of the running turn.
---@param event tideate.Event
---@param run tideate.Run
function Chat:on_event(event, run)
  if BEGINS[event.name] then
    self.sent = nil
    self:rename(event.execution_id)
    if self.ids[#self.ids] ~= event.execution_id then
      table.insert(self.ids, event.execution_id)
    end
    self:keep()
    self:begin_turn({ row = 0, role = 'model', run = event.execution_id }, run.adapter)
  elseif event.name == 'SD_EVENT_MODEL_ANSWERED' then
    self.count = self.count + 1
    self.turns[#self.turns].turn = self.count
  elseif event.name == 'SD_EVENT_TOKEN' then
    local piece = (self.cr or '') .. (event.data.text or '')
    self.cr = piece:match('\r$')
    local data = vim.tbl_extend('force', event.data, { text = (piece:gsub('\r$', ''):gsub('\r\n', '\n')) })
    event = vim.tbl_extend('force', event, { data = data })
  end
  require('tideate.ui.transcript').on_event(self.entry, event, run)
  if self.resumed and ENDS[event.name] then
    self.resumed = nil
    self:ended({ execution_id = event.execution_id }, '')
  end
  if not require('tideate.run_events').FREQUENT[event.name] then
    self:draw()
    self:animate()
  end
end

--- Begin a chat from a turn of the history: after an answer, or at a message to edit.
---@param row integer line of the history
function Chat:fork(row)
  local turn, index = history.turn_at(self.turns, row)
  local before = turn and turn.role == 'user' and self.turns[index - 1] or turn
  if not turn or before.role == 'model' and not before.turn then
    return ui.warn('no answer here; put the cursor on an answer or a message')
  end
  local text = { turns = {}, calls = vim.list_slice(self.calls), lines = {} }
  local last = turn.role == 'user' and turn.row - 1 or (self.turns[index + 1] or { row = 0 }).row - 1
  text.lines = api.nvim_buf_get_lines(self.stream:loaded_buffer(), 0, last, false)
  text.turns = vim.list_slice(self.turns, 1, turn.role == 'user' and index - 1 or index)
  local from = before.role == 'model' and before or {}
  local key = ('fork-%s-%d'):format(from.run or self.key, from.turn or 0)
  local fork = new(self.folder, key, self.title, text)
  fork.tip, fork.turn, fork.count = from.run, from.turn, from.turn or 0
  if turn.role == 'user' and fork.unsent == '' then
    fork:set_text(turn.text or '')
  end
  fork:show()
end

-- -- opening ---------------------------------------------------------------------------------------

--- Return the chat of a buffer.
---@param buf? integer default: the current one
---@return tideate.Chat?
function M.of(buf)
  buf = buf or api.nvim_get_current_buf()
  return vim.iter(chats):find(function(chat)
    return chat.stream.buf == buf or chat.input == buf
  end)
end

--- Return the chat that ends with a run.
---@param prefix string of its id
---@return tideate.Chat?
local function with_run(prefix)
  return vim.iter(chats):rev():find(function(chat)
    return vim.iter({ chat.running or '', chat.ids[#chat.ids] or '', chat.tip or '' }):any(function(id)
      return vim.startswith(id, prefix)
    end)
  end)
end

---@return string
local function project()
  return require('tideate.ui.prompt.history').project(require('tideate.context').folder())
end

--- Forget a chat that another one replaces.
---@param chat tideate.Chat
local function forget(chat)
  chat:hide()
  chats = vim.tbl_filter(function(one)
    return one ~= chat
  end, chats)
  chat.stream:close()
end

--- Show the chat read by the host.
---@param chat tideate.Chat
---@param result tideate.Result
local function loaded(chat, result)
  local queued = chat.queued
  chat.loading, chat.queued = nil, nil
  require('tideate.model_choice').load('chat') -- now: it takes the host's time
  require('tideate.client').report(result)
  local typed = chat:text():find('%S') ~= nil
  if not result.ok then
    chat:rename('new')
    return typed and chat:draw() or chat:hide()
  end
  local last = result.runs[#result.runs]
  local known = last and with_run(last.execution_id)
  if known and not typed then
    forget(chat)
    return known:show()
  end
  chat:take(result)
  if queued then
    chat:send()
  end
  chat:draw()
end

--- Open a chat's windows, and show its text after the host reads it.
---@param wanted string id, the beginning of one, or `last`
---@param folder string
---@return tideate.Chat
local function load(wanted, folder)
  local chat = new(folder, 'loading', '')
  chat.loading = true
  require('tideate.client').request('chat', { execution_id = wanted, folder = folder }, function(result)
    -- later: reading the answer took a part of this frame
    vim.defer_fn(function()
      loaded(chat, result)
    end, 1)
  end)
  return chat
end

---@param word string
---@param folder string
---@return tideate.Chat? chat, string? err
local function chosen(word, folder)
  local here = vim.tbl_filter(function(chat)
    return chat.folder == folder
  end, chats)
  if word == 'new' then
    return vim.iter(here):find(function(chat)
      return chat.key == 'new' and not chat.loading
    end) or new(folder, 'new', '')
  elseif word == '' then
    return here[#here] or load('last', folder)
  elseif word == 'last' then
    return load('last', folder)
  elseif word:find('^%x%x%x%x+$') then
    return with_run(word) or load(word, folder)
  end
  return nil, ("`:Workflow chat [id|last|new]`: '%s' is none of these"):format(word)
end

--- Run `:Workflow chat`.
---@param rest string id with a title, `last`, `new`, or empty
---@param context? tideate.Context
function M.run(rest, _, context)
  local selected = context and context.selection and context or nil
  local learned = require('tideate.context').current()
  local chat, err = chosen(rest:match('^%S*'), project())
  if not chat then
    return ui.fail(err --[[@as string]])
  end
  chat.context = selected or chat.context
  require('tideate.ui.prompt.completion').learn(learned)
  chat:show(true)
  if not chat.loading then
    require('tideate.model_choice').load('chat')
  end
end

--- Show the chat that ends with a run.
---@param id string
function M.open(id)
  local chat = with_run(id) or load(id, project())
  chat:show()
end

--- Show the last chat in the empty windows that a session restores.
function M.restore()
  local found = false
  for _, win in ipairs(api.nvim_list_wins()) do
    local buf = api.nvim_win_get_buf(win)
    if vim.startswith(api.nvim_buf_get_name(buf), 'tideate://chat') and not M.of(buf) then
      found = true
      window.close(win)
      window.delete(buf)
    end
  end
  if found then
    local back = api.nvim_get_current_win()
    chosen('', project()):show()
    api.nvim_set_current_win(back)
  end
end

--- Handle an event; only this module shows those of a chat's runs.
---@param event tideate.Event
---@param run tideate.Run
---@return boolean taken
function M.on_event(event, run)
  local id = event.execution_id
  local resumed = owners[id] == nil and event.name == 'SD_EVENT_WORKFLOW_RESTORED' and with_run(id)
  if resumed then
    resumed:resume(id)
  end
  local chat = owners[id]
  if chat then
    chat:on_event(event, run)
  end
  return chat ~= nil
end

--- Show the chat of a run of this Neovim.
---@param id string
---@return boolean shown
function M.show_run(id)
  local chat = owners[id]
  if chat then
    chat:show()
  end
  return chat ~= nil and chat ~= false
end

--- Return whether the screen shows the text of a run.
---@param id string
---@return boolean
function M.shows(id)
  local chat = owners[id]
  return chat and chat:windows() ~= nil or false
end

--- Ignore the events of a run that places a code block; the review shows it.
---@param id string
function M.keep_quiet(id)
  owners[id] = false
end

---@type { folder?: string, words: string[] } last sent by the host
local known = { words = {} }

--- Complete `:Workflow chat`: ids with their titles. Never waits for the host.
---@return string[]
function M.complete()
  local folder = project()
  if require('tideate.host').state() == 'ready' then
    require('tideate.client').request('chats', { folder = folder }, function(result)
      known = { folder = folder, words = {} }
      for _, chat in ipairs(result.ok and result.chats or {}) do
        local short = require('tideate.stored_runs').short(chat.execution_id)
        table.insert(known.words, short .. ' ' .. require('tideate.ui.text').name(chat.title))
      end
    end)
  end
  return vim.list_extend({ 'new', 'last' }, known.folder == folder and known.words or {})
end

--- Close all windows and keep unsent messages.
function M.close()
  for _, chat in ipairs(chats) do
    chat:keep()
    chat:hide()
    chat.stream:close()
    window.delete(chat.input)
  end
  chats, owners = {}, {}
end

return M
