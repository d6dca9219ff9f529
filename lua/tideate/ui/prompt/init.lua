--- The prompt window: a text of several lines with history, completion and a preview of the request.
local M = {}

local api = vim.api
local history = require('tideate.ui.prompt.history')
local ui_text = require('tideate.ui.text')
local window = require('tideate.ui.window')

local LOWEST = 5 -- rows of text

---@class tideate.ui.PromptSpec
---@field name string of the workflow
---@field context tideate.Context editor context of the prompt
---@field adapter? string
---@field inputs? table<string, any>
---@field memory? boolean false: without the project's memory
---@field analyzes? boolean it is sent as `edit` to skip the analysis

---@class tideate.ui.PromptWindow
---@field spec tideate.ui.PromptSpec
---@field buf integer
---@field win integer
---@field back integer
---@field folder string of the project
---@field place? integer[] cursor of the window before, in insert mode
---@field history tideate.ui.PromptHistory
---@field preview tideate.ui.Preview
---@field group integer
---@field closed boolean
---@field on_done fun(prompt: string?, name: string?)
local Prompt = {}
Prompt.__index = Prompt

---@type table<string, string> unsent texts by project and workflow
local drafts = {}
---@type tideate.ui.PromptWindow?
local current

---@return string
function Prompt:text()
  return table.concat(api.nvim_buf_get_lines(self.buf, 0, -1, false), '\n')
end

---@return string
function Prompt:key()
  return self.folder .. '\0' .. self.spec.name
end

--- Return the workflow and the prompt: a leading `/name` of a known workflow, else the window's.
---@return string name, string prompt
function Prompt:wanted()
  local text = self:text()
  local name, rest = text:match('^/([%a_][%w_.-]*)%s*(.*)$')
  if name and require('tideate.registry').get(name) then
    return name, vim.trim(rest)
  end
  return self.spec.name, vim.trim(text)
end

---@param text string
function Prompt:set_text(text)
  local lines = vim.split(text, '\n', { plain = true })
  api.nvim_buf_set_lines(self.buf, 0, -1, false, lines)
  if api.nvim_win_is_valid(self.win) then
    api.nvim_win_set_cursor(self.win, { #lines, #lines[#lines] })
  end
end

--- Move the float off the lines that the prompt is about.
---@param row integer preferred
---@param rows integer with the border
---@return integer
function Prompt:row_beside_lines(row, rows)
  if not window.visible(self.back) then
    return row
  end
  local cursor = api.nvim_win_get_cursor(self.back)[1]
  local lines = self.spec.context.selection or { start = cursor, ['end'] = cursor }
  local count = api.nvim_buf_line_count(api.nvim_win_get_buf(self.back))
  local function row_of(line)
    return vim.fn.screenpos(self.back, math.min(math.max(line, 1), count), 1).row - 1 -- -1: not visible
  end
  local first, last = row_of(lines.start), row_of(lines['end'])
  if last < 0 then
    last = first < 0 and first or vim.o.lines
  end
  if last < row or first >= row + rows then
    return row
  end
  local place = require('tideate.ui.window.float_layout').whole()
  local bottom = place.row + place.rows
  return bottom - last > first - place.row and bottom - rows or place.row
end

---@return table<string, any> options of `nvim_open_win`
function Prompt:shape()
  local text, keys = ui_text, require('tideate.ui.keys')
  local columns, rows = window.room()
  local width = math.min(100, columns - 4)
  local wanted = LOWEST
  if self.win and api.nvim_win_is_valid(self.win) then
    wanted = api.nvim_win_text_height(self.win, {}).all
  end
  local height = math.min(math.max(wanted, LOWEST), math.max(LOWEST, math.floor(rows / 2))) + 1
  local place = window.centered(width, height, {
    relative = 'editor',
    title = { { (' %s '):format(text.name(self.spec.name)), 'TideateTitle' } },
    title_pos = 'left',
    footer = text.keys(keys.words(require('tideate.ui.prompt.keys').keys(self.spec.analyzes)), width),
    footer_pos = 'left',
  })
  place.row = self:row_beside_lines(place.row, place.height + 2)
  return place
end

--- Draw the winbar, and fit the height to the text.
function Prompt:draw()
  if self.closed or not api.nvim_win_is_valid(self.win) then
    return
  end
  window.configure(self.win, self:shape())
  local chunks = ui_text.fit_chunks(self.preview:line(self:wanted()), api.nvim_win_get_width(self.win))
  window.options(self.win, { winbar = ui_text.bar(chunks) })
  self.preview:underline(self.buf)
end

function Prompt:changed()
  vim.bo[self.buf].modified = false -- an unsent text is a draft and must not prevent `:q`
  self:draw()
  self.preview:changed(function()
    return self:wanted()
  end)
end

--- Close the window; an unsent text becomes the draft.
---@param prompt? string sent prompt
---@param name? string its workflow
function Prompt:finish(prompt, name)
  if self.closed then
    return
  end
  self.closed = true
  local text = self:text()
  drafts[self:key()] = not prompt and text:find('%S') and text or nil
  if current == self then
    current = nil
  end
  api.nvim_del_augroup_by_id(self.group)
  self.preview:close()
  self:leave()
  self.on_done(prompt, name)
end

--- Return to the previous window and its mode.
function Prompt:leave()
  local focused = api.nvim_get_current_win() == self.win
  local typing = focused and api.nvim_get_mode().mode:find('^i') ~= nil
  window.close(self.win)
  window.delete(self.buf)
  if not focused or not window.visible(self.back) then
    return
  end
  api.nvim_set_current_win(self.back)
  if self.place then
    local line = api.nvim_get_current_line()
    pcall(api.nvim_win_set_cursor, self.back, self.place)
    vim.cmd.startinsert({ bang = self.place[2] >= #line })
  elseif typing then
    self:stop_typing()
  end
end

--- End insert mode and keep the cursor of the previous window.
function Prompt:stop_typing()
  local back, cursor = self.back, api.nvim_win_get_cursor(self.back)
  api.nvim_create_autocmd('InsertLeave', {
    once = true,
    callback = function()
      pcall(api.nvim_win_set_cursor, back, cursor)
    end,
  })
  vim.cmd.stopinsert()
end

--- Send the text; an empty text starts nothing.
---@param skips boolean? send a `refactor` as `edit`, without its analysis
function M.send(skips)
  local self = current
  if not self then
    return
  end
  local name, prompt = self:wanted()
  name = skips and name == 'refactor' and 'edit' or name
  if prompt == '' then
    return self:finish()
  end
  history.add(self.folder, self:text())
  self:finish(prompt, name)
end

--- Close the window; the text is kept as a draft.
function M.close()
  if current then
    current:finish()
  end
end

--- Show what a run would send. Nothing is sent, no model is asked.
function M.show_preview()
  local self = assert(current)
  local name, prompt = self:wanted()
  self.preview:ask(name, prompt, function(preview, err)
    if self.closed or api.nvim_get_current_win() ~= self.win or api.nvim_get_mode().mode ~= 'n' then
      return
    elseif preview then
      local text = require('tideate.ui.prompt.preview').text(preview)
      require('tideate.ui.questions.preview').open('what is sent', text, 'markdown')
    elseif err then
      require('tideate.ui').fail(err)
    end
  end)
end

--- Leave out the project's memory, or include it again.
function M.toggle_memory()
  local self = assert(current)
  self.spec.memory = self.spec.memory == false
  self.preview:ask(self:wanted())
  self:draw()
end

--- Show an earlier or later prompt.
---@param step integer
function M.go_through_history(step)
  local self = assert(current)
  local text = self.history:move(step, self:text())
  if text then
    self:set_text(text)
  end
end

--- Search the earlier prompts.
function M.search()
  local self = assert(current)
  self.history:search(function(index)
    local text = not self.closed and self.history:go_to(index, self:text())
    if text then
      self:set_text(text)
    end
  end)
end

---@param self tideate.ui.PromptWindow
local function watch(self)
  self.group = api.nvim_create_augroup('tideate.prompt.' .. self.buf, {})
  local function on(events, callback, options)
    api.nvim_create_autocmd(events, vim.tbl_extend('force', { group = self.group, callback = callback }, options or {}))
  end
  on({ 'TextChanged', 'TextChangedI', 'TextChangedP' }, function()
    self:changed()
  end, { buffer = self.buf })
  on('BufWriteCmd', function()
    vim.bo[self.buf].modified = false
    -- later: the writing command still needs the buffer
    vim.schedule(function()
      M.send()
    end)
  end, { buffer = self.buf })
  on('VimResized', function()
    self:draw()
  end)
  -- later: the window still exists, and must not be closed twice
  on('WinClosed', vim.schedule_wrap(function()
    self:finish()
  end), { pattern = tostring(self.win) })
end

---@return integer buf
local function make_buffer()
  local buf = window.scratch(('tideate://prompt/%d'):format(vim.uv.hrtime()), {
    buftype = 'acwrite',
    bufhidden = 'hide',
  })
  require('tideate.ui.prompt.completion').attach(buf)
  vim.bo[buf].filetype = 'tideate_prompt'
  pcall(vim.treesitter.start, buf, 'markdown') -- plain text without the grammar
  return buf
end

--- Open the window in insert mode; an open one is closed first.
---@param spec tideate.ui.PromptSpec
---@param on_done fun(prompt: string?, name: string?) called once; nil: run nothing
---@return {close: fun()}
function M.open(spec, on_done)
  M.close()
  local mode, back = api.nvim_get_mode().mode, api.nvim_get_current_win()
  local self = setmetatable({ spec = spec, on_done = on_done, closed = false, back = back }, Prompt)
  self.place = mode:find('^i') and api.nvim_win_get_cursor(back) or nil
  self.folder = history.project(require('tideate.context').folder())
  require('tideate.ui.prompt.completion').learn(require('tideate.context').current())
  self.history = history.open(self.folder)
  self.preview = require('tideate.ui.prompt.preview').new(spec, function()
    self:draw()
  end)
  self.buf = make_buffer()
  self.win = window.float(self.buf, true, vim.tbl_extend('force', self:shape(), { zindex = 95 }))
  current = self
  watch(self)
  require('tideate.ui.prompt.keys').map(self.buf, spec.analyzes)
  self:set_text(drafts[self:key()] or '')
  self:draw()
  self.preview:later(function()
    return self:wanted()
  end)
  vim.cmd.startinsert({ bang = true })
  return {
    close = function()
      self:finish()
    end,
  }
end

return M
