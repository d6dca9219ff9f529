--- The review of proposed changes, hunk by hunk, in the buffers themselves.
---
--- It never changes a buffer: the answer lists the wanted hunks, and the engine applies them.
local M = {}

local api = vim.api
local ui = require('tideate.ui')
local buffers = require('tideate.ui.review.buffers')
local keys = require('tideate.ui.review.keys')
local typing = require('tideate.ui.typing')
local walk = require('tideate.ui.review.walk')
local window = require('tideate.ui.window')

---@class tideate.ReviewComment
---@field text string
---@field because? boolean whether it is the reason of a rejection

---@class tideate.Review
---@field question tideate.Question
---@field respond fun(result: table<string, any>)
---@field model tideate.ReviewModel
---@field windows tideate.ReviewWindows
---@field buffers table<integer, tideate.ReviewBuffer> by file
---@field index_by_buffer table<integer, integer>
---@field pending boolean
---@field hidden boolean the changes are hidden
---@field current integer file
---@field active boolean the keys are set
---@field closed boolean
---@field group integer
---@field stop_waiting fun()?
---@field guard tideate.Guard
---@field files tideate.ReviewFileList
---@field checking tideate.ReviewCheck
---@field side tideate.ReviewSideView
---@field on_left fun(summary: string) called if the user leaves it: the run waits
---@field history tideate.ReviewHistory decisions with undo and draft
---@field texts tideate.CommentTexts
---@field waits? boolean it cannot be shown now
---@field in_place boolean it is the review of an edit: the last decision finishes it
local Review = {}
Review.__index = Review

---@return tideate.Key[]
function Review:keys()
  return keys.keys(self)
end

function Review:draw_bars()
  if self.closed then
    return
  end
  self.current = self.index_by_buffer[api.nvim_get_current_buf()] or self.current
  self.windows:draw_bars(function(buf, win)
    local index = self.index_by_buffer[buf] or self.side.buf == buf and self.side.index
    if index then
      return keys.bar(self, index, win)
    end
  end)
end

--- Draw the visible buffers.
function Review:draw()
  for _, win in ipairs(api.nvim_list_wins()) do
    local index = self.index_by_buffer[api.nvim_win_get_buf(win)]
    if index then
      self.buffers[index].overlay:draw()
    end
  end
  self.side:check()
  self.files:draw()
  self:draw_bars()
end

--- Schedule one drawing.
function Review:draw_soon()
  if not self.pending then
    self.pending = true
    vim.schedule(function()
      self.pending = false
      if not self.closed then
        self:draw()
      end
    end)
  end
end

--- Hide or show the changes.
function Review:toggle()
  self.hidden = not self.hidden
  for _, made in pairs(self.buffers) do
    made.overlay.hidden = self.hidden
  end
  self:draw()
end

--- Focus the first open hunk and set the keys.
---@param unasked boolean? without a request by the user
function Review:focus(unasked)
  if self.stop_waiting then
    self.stop_waiting()
    self.stop_waiting = nil
  end
  local first = not self.active
  local reason = buffers.obstacle(self)
  if reason then
    return self:put_off(reason)
  end
  self.waits, self.active = false, true
  if unasked then
    self.guard:arm()
  else
    self.guard:release()
  end
  for _, win in ipairs(api.nvim_list_wins()) do
    buffers.set_keys(self, api.nvim_win_get_buf(win))
  end
  require('tideate.ui.output').make_room()
  local index = self.model:next_open(self.current)
  walk.go_to_file(self, index or 1)
  if first then
    self.files:open_if_wide()
  end
  walk.go_to_first(self)
  local warnings = self.question.payload.warnings
  if first and warnings then
    ui.warn(table.concat(warnings, '\n'))
  elseif not index then
    walk.say_decided(self)
  end
end

---@return boolean
function Review:focused()
  local inside = self.index_by_buffer[api.nvim_get_current_buf()] or self.side:focused() or self.files:focused()
  return self.active and inside and true or false
end

---@return boolean
function Review:in_code()
  return vim.iter(window.normal_windows()):any(function(win)
    return self.index_by_buffer[api.nvim_win_get_buf(win)] ~= nil
  end)
end

---@return boolean
function Review:ready()
  return self:focused() and self.guard:ready()
end

--- Put the review off: the run waits.
---@param reason string
function Review:put_off(reason)
  local id = self.question.execution_id
  self.waits = true
  ui.warn(('%s; the review waits: :Workflow review opens it again'):format(reason), { waiting = id })
  require('tideate.run').leave(id)
end

--- Close the review without an answer.
function Review:close()
  if self.closed then
    return
  end
  self.closed = true
  self.texts:keep()
  self.side:hide()
  self.files:delete()
  if self.stop_waiting then
    self.stop_waiting()
  end
  api.nvim_del_augroup_by_id(self.group)
  local place_views = require('tideate.ui.review.stream').keep_views(self.question.execution_id)
  self.windows:restore(self.index_by_buffer)
  place_views()
  buffers.close(self)
end

---@param reason string?
function Review:decline(reason)
  self:close()
  self.respond({ accepted = false, reason = reason })
end

--- Leave the review: its run waits with all decisions.
function Review:leave()
  if vim.fn.reg_recording() ~= '' then
    return api.nvim_feedkeys('q', 'n', false) -- ends what the person records
  end
  self:close()
  self.on_left(self.model:summary())
end

--- Keep `:q` in the last window from leaving Neovim with an open review: split it first.
---@param self tideate.Review
local function hold_back(self)
  local win = api.nvim_get_current_win()
  local files, side = self.files, self.side
  local others = (files:visible() and 1 or 0) + (side:visible() and 1 or 0)
  local is_last = #window.normal_windows() - others <= 1 and win ~= files.win and win ~= side.win and #api.nvim_list_tabpages() == 1
  if window.is_float(win) or not is_last then
    return
  end
  local kept = window.split(api.nvim_win_get_buf(win), 'above')
  vim.schedule(function()
    if api.nvim_win_is_valid(win) then
      return window.close(kept) -- it was not closed
    end
    local words = 'the review is still open (%s): :Workflow review goes to it; :qa leaves, and it waits for the next Neovim'
    ui.warn(words:format(self.model:summary()))
  end)
end

--- Tell the user that the review is open after its last window on a scratch buffer was closed.
---@param self tideate.Review
---@param buf integer
local function window_closed(self, buf)
  local made = self.buffers[self.index_by_buffer[buf]]
  vim.schedule(function()
    local hidden = made and made.scratch and api.nvim_buf_is_loaded(buf) and #vim.fn.win_findbuf(buf) == 0
    if hidden and not self.closed and vim.v.exiting == vim.NIL then
      buffers.say_open('the window')
    end
  end)
end

--- Watch the editor until the group is deleted.
---@param self tideate.Review
local function watch(self)
  self.group = api.nvim_create_augroup('tideate.review', { clear = true })
  local function on(events, callback)
    api.nvim_create_autocmd(events, { group = self.group, callback = callback })
  end
  on('QuitPre', function()
    hold_back(self)
  end)
  on('BufWinEnter', function(event)
    buffers.set_keys(self, event.buf)
  end)
  on({ 'BufUnload', 'BufWipeout' }, function(event)
    local index = self.index_by_buffer[event.buf]
    if index then
      vim.schedule(function()
        buffers.unloaded(self, index)
      end)
    end
  end)
  on('CursorMoved', function(event)
    if self.index_by_buffer[event.buf] or event.buf == self.side.buf then
      self:draw_bars()
    end
  end)
  on('VimResized', function()
    self.files:resized()
  end)
  on({ 'BufWinEnter', 'WinEnter', 'WinNew', 'WinScrolled', 'WinResized', 'VimResized' }, function()
    self:draw_soon()
  end)
  on('WinClosed', function(event)
    window_closed(self, api.nvim_win_get_buf(assert(tonumber(event.match))))
  end)
end

--- Open the review of changes.
---@param question tideate.Question payload: { files: tideate.ReviewFile[], demonstration: boolean }
---@param respond fun(result: table<string, any>) called once, unless `on_left` is called
---@param on_left fun(summary: string)
---@return tideate.Asked
function M.open(question, respond, on_left)
  require('tideate.ui.highlights').define()
  local self = setmetatable({
    question = question,
    respond = respond,
    on_left = on_left,
    model = require('tideate.ui.review.model').new(question),
    windows = require('tideate.ui.review.windows').new(),
    buffers = {},
    index_by_buffer = {},
    pending = false,
    hidden = false,
    current = 1,
    active = false,
    closed = false,
    in_place = require('tideate.ui.review.stream').IN_PLACE[question.workflow] == true,
  }, Review)
  self.history = require('tideate.ui.review.history').new(question, self.model)
  self.texts = require('tideate.ui.questions.comment_texts').new(question, function(kind, about)
    return require('tideate.ui.review.hunk_texts').identity(self, kind, about)
  end)
  self.guard = require('tideate.ui.questions.key_guard').new(function()
    self:draw_bars()
  end)
  self.files = require('tideate.ui.review.file_list').new(self)
  self.checking = require('tideate.ui.review.checking').new(self)
  self.side = require('tideate.ui.review.side_view').new(self)
  self.history:restore()
  watch(self)
  local reason = buffers.obstacle(self)
  if #self.model.entries == 0 then
    vim.schedule(function()
      self:decline('there is nothing to review')
    end)
    return self
  elseif reason then
    self:put_off(reason)
    return self
  end
  for index, entry in ipairs(self.model.entries) do
    if entry.file.buffer and entry.file.action ~= 'create' then
      buffers.get(self, index)
    end
  end
  self:draw_bars()
  require('tideate.ui.review.stream').hand_over(self)
  if not typing.plain_normal() then
    local words = '%s: %s to review; press <Esc>, or :Workflow'
    ui.notify(words:format(question.workflow, self.model:counted()))
  end
  self.stop_waiting = typing.when_quiet(function()
    self.stop_waiting = nil
    if not self.closed then
      self:focus(true)
    end
  end)
  return self
end

return M
