--- Append streamed text to a Markdown buffer, once per frame.
local M = {}

local api = vim.api

local FRAME = 16 -- milliseconds between two appends
local MANY = 1000 -- lines
local AT_ONCE = 16 * 1024 -- bytes per append, so that none blocks the editor

---@class tideate.Stream
---@field buf integer
---@field name string
---@field said string[] all appended text, to refill a wiped or reloaded buffer
---@field finished boolean
---@field pending string[]
---@field timer uv.uv_timer_t?
---@field at_end? 'apart'|'call' kind of the last text if the next text must not continue it
---@field tail integer temporary lines at the end, not part of the text
---@field on_buffer fun(buf: integer) called with each new buffer
local Stream = {}
Stream.__index = Stream

---@param buf integer
---@return boolean
local function is_parsed(buf)
  local highlighter = package.loaded['vim.treesitter.highlighter']
  return highlighter ~= nil and highlighter.active[buf] ~= nil
end

--- Return whether markdown highlights Java blocks: its syntax file then skips what follows.
---@return boolean
local function has_java_blocks()
  return vim.iter(vim.g.markdown_fenced_languages or {}):any(function(language)
    return language:match('[^=]*$') == 'java'
  end)
end

--- Highlight growing markdown by its syntax file.
---@param buf integer
local function set_markdown_syntax(buf)
  local before = vim.g.main_syntax
  if not has_java_blocks() then
    -- skip scripts and styles of HTML, as the Java syntax does: they take two thirds of the time
    vim.g.main_syntax = 'java'
  end
  local ok, err = pcall(function()
    -- the parser would reread the growing text with every piece; it takes over at the end
    if is_parsed(buf) then
      vim.treesitter.stop(buf)
    end
    vim.bo[buf].syntax = 'markdown'
  end)
  vim.g.main_syntax = before
  if not ok then
    error(err, 0)
  end
  api.nvim_buf_call(buf, function()
    -- underscores in names are no mistakes
    vim.cmd('silent! syntax clear markdownError')
  end)
end

--- Change a read-only buffer.
---@param buf integer
---@param change fun()
local function edit(buf, change)
  vim.bo[buf].modifiable = true
  change()
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

--- Make a buffer a markdown one. Its slow syntax file is loaded after the window opened.
---@param buf integer
local function set_markdown(buf)
  vim.b[buf].ts_highlight = true -- no syntax file yet
  api.nvim_buf_call(buf, function()
    -- silent: without the markdown parser Neovim 0.12 reports an error
    vim.cmd('silent! setfiletype markdown')
  end)
  if is_parsed(buf) then
    return set_markdown_syntax(buf)
  end
  vim.b[buf].ts_highlight = nil
  vim.defer_fn(function()
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].syntax == '' and not is_parsed(buf) then
      pcall(set_markdown_syntax, buf) -- Ctrl-C may interrupt it
    end
    require('tideate.ui.text.markdown').load()
  end, 1)
end

---@param name string
---@return integer buf
local function make(name)
  local buf = require('tideate.ui.window').scratch(name, { bufhidden = 'hide', undolevels = -1 })
  set_markdown(buf)
  vim.bo[buf].modifiable = false
  return buf
end

--- Create a stream with a new markdown buffer.
---@param name string the buffer's name
---@param on_buffer? fun(buf: integer) called with each buffer
---@return tideate.Stream
function M.new(name, on_buffer)
  local fields = { name = name, said = {}, finished = false, pending = {}, tail = 0, on_buffer = on_buffer or function() end }
  local self = setmetatable(fields, Stream)
  self:open()
  return self
end

function Stream:open()
  self.tail = 0
  self.buf = make(self.name)
  api.nvim_create_autocmd('BufReadCmd', {
    buffer = self.buf,
    desc = 'Fill the buffer again from the transcript',
    callback = function()
      self:fill()
    end,
  })
  self.on_buffer(self.buf)
end

--- Refill an empty buffer.
function Stream:fill()
  local lines = vim.split(table.concat(self.said), '\n', { plain = true })
  self.tail = 0
  edit(self.buf, function()
    api.nvim_buf_set_lines(self.buf, 0, -1, true, lines)
  end)
  set_markdown_syntax(self.buf)
  if self.finished then
    self:parse()
  end
end

--- Replace the text by a complete one.
---@param lines string[]
function Stream:set(lines)
  self.said, self.pending, self.finished, self.tail = { table.concat(lines, '\n') }, {}, true, 0
  local buf = self:loaded_buffer()
  edit(buf, function()
    api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  end)
  self:parse() -- no syntax file before: it would take longer than the text
end

--- Reopen a finished text for more.
function Stream:grow()
  if self.finished then
    self.finished = false
    -- later: with the heading of the next text it would take longer than a frame
    vim.defer_fn(function()
      if not self.finished and api.nvim_buf_is_loaded(self.buf) then
        pcall(set_markdown_syntax, self.buf) -- Ctrl-C may interrupt it
      end
    end, 1)
  end
end

--- Return a loaded buffer with the text; a new one if the last was unloaded or wiped.
---@return integer buf
function Stream:loaded_buffer()
  if not api.nvim_buf_is_loaded(self.buf) then
    self:drop()
    self:open()
    self:fill()
  end
  return self.buf
end

--- Delete the buffer; the text is kept.
function Stream:drop()
  require('tideate.ui.window').delete(self.buf)
end

--- Return the windows that show the end and therefore follow it.
---@param buf integer
---@return integer[]
local function followers(buf)
  local last = api.nvim_buf_line_count(buf)
  return vim.tbl_filter(function(win)
    return api.nvim_win_get_cursor(win)[1] >= last
  end, vim.fn.win_findbuf(buf))
end

--- Scroll windows to the end.
---@param buf integer
---@param following integer[]
local function follow(buf, following)
  local last = api.nvim_buf_line_count(buf)
  for _, win in ipairs(following) do
    -- the end of the line: a paragraph may be longer than the window
    api.nvim_win_set_cursor(win, { last, #api.nvim_buf_get_lines(buf, -2, -1, true)[1] })
  end
end

---@param buf integer
---@param text string
local function append(buf, text)
  local following = followers(buf)
  local row = api.nvim_buf_line_count(buf) - 1
  local column = #api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
  edit(buf, function()
    api.nvim_buf_set_text(buf, row, column, row, column, vim.split(text, '\n', { plain = true }))
  end)
  follow(buf, following)
end

--- Add text; it appears within a frame.
---@param text string
function Stream:write(text)
  if text == '' then
    return
  end
  self.at_end = nil
  table.insert(self.pending, text)
  if not self.timer then
    self.timer = vim.defer_fn(function()
      self.timer = nil
      -- a flush may have shown it already
      if #self.pending > 0 then
        self:show(AT_ONCE)
      end
    end, FRAME)
  end
end

---@param limit integer bytes
---@return string
function Stream:take(limit)
  local text = table.concat(self.pending)
  if #text <= limit then
    self.pending = {}
    return text
  end
  while limit > 1 and text:byte(limit + 1) >= 0x80 and text:byte(limit + 1) < 0xC0 do
    limit = limit - 1
  end
  self.pending = { text:sub(limit + 1) }
  return text:sub(1, limit)
end

--- Show temporary lines at the end until the next text.
---@param lines string[]
function Stream:set_tail(lines)
  self:flush()
  local following = followers(self:loaded_buffer())
  edit(self.buf, function()
    api.nvim_buf_set_lines(self.buf, -1, -1, true, lines)
  end)
  self.tail = #lines
  follow(self.buf, following)
end

--- Remove the temporary lines.
function Stream:drop_tail()
  if self.tail > 0 and api.nvim_buf_is_loaded(self.buf) then
    local following = followers(self.buf)
    edit(self.buf, function()
      api.nvim_buf_set_lines(self.buf, -1 - self.tail, -1, true, {})
    end)
    follow(self.buf, following)
  end
  self.tail = 0
end

---@param limit integer bytes
function Stream:show(limit)
  self:drop_tail()
  local text = self:take(limit)
  if text ~= '' then
    self:loaded_buffer()
    table.insert(self.said, text)
    append(self.buf, text)
  end
  if #self.pending > 0 then
    self:write(table.remove(self.pending))
  end
end

--- Append all pending text now.
function Stream:flush()
  self:show(math.huge)
end

--- Begin a paragraph after an empty line, unless the buffer is empty.
function Stream:paragraph()
  self:flush()
  self:loaded_buffer()
  local tail = api.nvim_buf_get_lines(self.buf, -3, -1, false)
  local last, before = tail[#tail], tail[#tail - 1]
  if last ~= '' then
    self:write('\n\n')
  elseif before and before ~= '' then
    self:write('\n')
  end
end

--- End the stream.
function Stream:finish()
  self:flush()
  self:loaded_buffer()
  self.finished = true
  self:parse()
end

--- Let the parser highlight a complete text.
function Stream:parse()
  -- before 0.11 the editor waits for the parser
  if vim.fn.has('nvim-0.11') == 0 and api.nvim_buf_line_count(self.buf) >= MANY then
    return
  end
  require('tideate.ui.text.markdown').load(function()
    if self.finished and api.nvim_buf_is_loaded(self.buf) then
      pcall(vim.treesitter.start, self.buf, 'markdown')
    end
  end)
end

--- Stop the timer, and drop text and buffer.
function Stream:close()
  if self.timer then
    self.timer:stop()
    if not self.timer:is_closing() then
      self.timer:close()
    end
    self.timer = nil
  end
  self.pending, self.said = {}, {}
  self:drop()
end

return M
