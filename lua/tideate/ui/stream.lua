--- Text that grows at its end: pieces are gathered and appended together, a frame at a time.
local M = {}

local FRAME = 16 -- milliseconds between two appends
local MANY = 1000 -- lines
local AT_ONCE = 16 * 1024 -- bytes of one append, so that none is felt

---@class tideate.Stream
---@field buf integer
---@field pending string[]
---@field timer uv.uv_timer_t?
local Stream = {}
Stream.__index = Stream

--- A stream into a new markdown buffer.
---@param name string the buffer's name
---@return tideate.Stream
function M.new(name)
  local buf = require('tideate.ui.window').scratch(name)
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].undolevels = -1
  vim.api.nvim_buf_call(buf, function()
    -- silent: a Neovim without the markdown parser complains, from 0.12 on
    vim.cmd('silent! setfiletype markdown')
  end)
  -- a parser would read the growing text again with every piece: it takes over at the end
  vim.treesitter.stop(buf)
  vim.bo[buf].syntax = 'markdown'
  vim.bo[buf].modifiable = false
  return setmetatable({ buf = buf, pending = {} }, Stream)
end

--- Windows that show the end, and so follow it.
---@param buf integer
---@return integer[]
local function followers(buf)
  local last = vim.api.nvim_buf_line_count(buf)
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_cursor(win)[1] >= last
  end, vim.fn.win_findbuf(buf))
end

---@param buf integer
---@param text string
local function append(buf, text)
  local following = followers(buf)
  local row = vim.api.nvim_buf_line_count(buf) - 1
  local column = #vim.api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_text(buf, row, column, row, column, vim.split(text, '\n', { plain = true }))
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
  local last = vim.api.nvim_buf_line_count(buf)
  for _, win in ipairs(following) do
    vim.api.nvim_win_set_cursor(win, { last, 0 })
  end
end

--- Add text; it is shown within a frame.
---@param text string
function Stream:write(text)
  if text == '' then
    return
  end
  table.insert(self.pending, text)
  if not self.timer then
    self.timer = vim.defer_fn(function()
      self.timer = nil
      self:show(AT_ONCE)
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

---@param limit integer bytes
function Stream:show(limit)
  if not vim.api.nvim_buf_is_loaded(self.buf) then
    self.pending = {}
    return
  end
  local text = self:take(limit)
  if text ~= '' then
    append(self.buf, text)
  end
  if #self.pending > 0 then
    self:write(table.remove(self.pending))
  end
end

--- Append all that is pending now.
function Stream:flush()
  self:show(math.huge)
end

--- Begin a paragraph: after an empty line, unless the buffer is empty.
function Stream:paragraph()
  self:flush()
  if not vim.api.nvim_buf_is_loaded(self.buf) then
    return
  end
  local tail = vim.api.nvim_buf_get_lines(self.buf, -3, -1, false)
  local last, before = tail[#tail], tail[#tail - 1]
  if last ~= '' then
    self:write('\n\n')
  elseif before and before ~= '' then
    self:write('\n')
  end
end

--- Nothing more is expected.
function Stream:finish()
  self:flush()
  if not vim.api.nvim_buf_is_loaded(self.buf) then
    return
  end
  -- before 0.11 the editor waits for the parser
  if vim.fn.has('nvim-0.11') == 1 or vim.api.nvim_buf_line_count(self.buf) < MANY then
    pcall(vim.treesitter.start, self.buf, 'markdown')
  end
end

--- Forget the buffer.
function Stream:close()
  if self.timer then
    self.timer:stop()
    if not self.timer:is_closing() then
      self.timer:close()
    end
    self.timer = nil
  end
  self.pending = {}
  if vim.api.nvim_buf_is_valid(self.buf) then
    vim.api.nvim_buf_delete(self.buf, { force = true })
  end
end

return M
