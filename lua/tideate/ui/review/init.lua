--- The review of proposed changes, hunk by hunk, in the buffers themselves.
---
--- It never changes a buffer: the answer lists the wanted hunks, and the engine applies them.
local M = {}

local api = vim.api
local ui = require('tideate.ui')

---@class tideate.ReviewBuffer
---@field buf integer
---@field scratch boolean
---@field overlay tideate.Overlay
---@field restore_keys fun()?

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
---@field side tideate.ReviewSideView
---@field on_left fun(summary: string) called if the user leaves it: the run waits
---@field past tideate.ReviewDecision[][] inverse steps for undo, the newest last
---@field future tideate.ReviewDecision[][]
---@field waits? boolean it cannot be shown now
local Review = setmetatable({}, { __index = require('tideate.ui.review.draft') })
Review.__index = Review

--- Return a file's buffer, prepared for the review.
---@param index integer
---@return tideate.ReviewBuffer
function Review:buffer(index)
  local known = self.buffers[index]
  if known then
    return known
  end
  local entry = self.model.entries[index]
  local file = entry.file
  local real = file.action ~= 'create' and file.buffer or nil
  local new = entry.units[1].hunks[1] and entry.units[1].hunks[1].new
  local buf = real or require('tideate.ui.review.scratch_buffer').open(file, new, self.question.execution_id)
  local made = { buf = buf, scratch = real == nil }
  made.overlay = require('tideate.ui.review.overlay').attach(buf, entry, function()
    self.side:refresh()
    self:draw_bars()
  end)
  made.overlay.hidden = self.hidden
  self.buffers[index], self.index_by_buffer[buf] = made, index
  return made
end

--- Load a closed buffer again.
---@param file tideate.ReviewFile with a buffer
---@return string? reason reason that its changes cannot be reviewed
local function load_again(file)
  local reason = require('tideate.edit').load_again(file.buffer)
  if reason then
    local name = file.path ~= '' and file.path or ('buffer %d'):format(file.buffer)
    return ('%s was closed, and %s'):format(name, reason)
  end
end

--- Tell the user that the review is still open after its buffer was closed.
---@param what string closed
function Review:say_open(what)
  ui.notify(('%s was closed, its review is open: :Workflow review'):format(what))
end

--- Reload a buffer that the user closed; if that fails, the review waits.
---@param made tideate.ReviewBuffer
---@param file tideate.ReviewFile
function Review:reopen(made, file)
  if made.scratch then
    made.overlay:close()
    self.buffers[self:index_of(made.buf)], self.index_by_buffer[made.buf] = nil, nil -- is created anew
    if api.nvim_buf_is_valid(made.buf) then
      api.nvim_buf_delete(made.buf, { force = true }) -- frees its name
    end
    return self:say_open(require('tideate.ui.review.keys').name(file))
  end
  local reason = load_again(file)
  if reason then
    return self.waits or self:put_off(reason)
  end
  made.restore_keys = nil -- deleted with the buffer
  made.overlay:anchor()
  made.overlay:watch()
  made.overlay:draw_soon()
  if #vim.fn.win_findbuf(made.buf) > 0 then
    self:set_keys(made.buf)
  end
  if self.active then
    self:say_open(require('tideate.ui.review.keys').name(file))
  end
end

--- Handle the unload of a buffer.
---@param index integer
function Review:unloaded(index)
  local made = self.buffers[index]
  if not made then
    return
  end
  -- `:edit` unloads a buffer and reads it again
  if not self.closed and not api.nvim_buf_is_loaded(made.buf) then
    self:reopen(made, self.model.entries[index].file)
  elseif not self.closed then
    made.overlay:anchor()
    made.overlay:watch()
    made.overlay:draw_soon()
  end
end

--- Set the keys in a visible buffer: most buffers of a large review are never shown.
---@param buf integer
function Review:set_keys(buf)
  local made = self.buffers[self:index_of(buf)]
  if self.active and made and not made.restore_keys then
    local keys = require('tideate.ui.review.keys').keys(self)
    made.restore_keys = require('tideate.ui.keys').set(buf, self.guard:wrap(keys))
  end
end

---@param buf integer
---@return integer? index
function Review:index_of(buf)
  return self.index_by_buffer[buf]
end

---@param buf integer
---@param win integer
---@return string? bar, boolean? active
function Review:bar(buf, win)
  local index = self:index_of(buf) or self.side.buf == buf and self.side.index
  if not index then
    return nil
  end
  return require('tideate.ui.review.keys').bar(self, index, win)
end

function Review:draw_bars()
  if self.closed then
    return
  end
  self.current = self:index_of(api.nvim_get_current_buf()) or self.current
  self.windows:bars_from(function(buf, win)
    return self:bar(buf, win)
  end)
end

--- Draw the visible buffers.
function Review:draw()
  for _, win in ipairs(api.nvim_list_wins()) do
    local index = self:index_of(api.nvim_win_get_buf(win))
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

function Review:toggle()
  self.hidden = not self.hidden
  for _, made in pairs(self.buffers) do
    made.overlay.hidden = self.hidden
  end
  self:draw()
end

function Review:help()
  local keys = self.files:focused() and self.files:keys() or require('tideate.ui.review.keys').keys(self)
  require('tideate.ui.keys').help('review', keys)
end

--- Return the reason that the review cannot be shown.
---@return string?
function Review:obstacle()
  for _, entry in ipairs(self.model.entries) do
    local reason = entry.file.buffer and load_again(entry.file)
    if reason then
      return reason
    end
  end
end

--- Focus the first open hunk and set the keys.
---@param unasked boolean? without a request by the user
function Review:focus(unasked)
  if self.stop_waiting then
    self.stop_waiting()
    self.stop_waiting = nil
  end
  local first = not self.active
  local reason = self:obstacle()
  if reason then
    return self:put_off(reason)
  end
  self.waits = false
  self.active = true
  if unasked then
    self.guard:arm()
  else
    self.guard:release()
  end
  for _, win in ipairs(api.nvim_list_wins()) do
    self:set_keys(api.nvim_win_get_buf(win))
  end
  require('tideate.ui.output').make_room()
  local index = self.model:next_open(self.current)
  self:go_to_file(index or 1)
  if first then
    self.files:open_if_wide()
  end
  self:go_to_first()
  local warnings = self.question.payload.warnings
  if first and warnings then
    ui.warn(table.concat(warnings, '\n'))
  elseif not index then
    self:say_decided()
  end
end

---@return boolean
function Review:focused()
  local inside = self:index_of(api.nvim_get_current_buf()) or self.side:focused() or self.files:focused()
  return self.active and inside and true or false
end

---@return boolean
function Review:in_code()
  return vim.iter(require('tideate.ui.window').normal_windows()):any(function(win)
    return self:index_of(api.nvim_win_get_buf(win)) ~= nil
  end)
end

---@return boolean
function Review:ready()
  return self:focused() and self.guard:ready()
end

--- Put the review off: the run waits.
---@param reason string
function Review:put_off(reason)
  self.waits = true
  local words = '%s; the review waits: :Workflow review opens it again'
  local options = { waiting = self.question.execution_id }
  ui.warn(words:format(reason), options)
  require('tideate.run').leave(self.question.execution_id)
end

--- Close the review without an answer.
function Review:close()
  if self.closed then
    return
  end
  self.closed = true
  self:keep_texts()
  self.side:hide()
  self.files:delete()
  if self.stop_waiting then
    self.stop_waiting()
  end
  api.nvim_del_augroup_by_id(self.group)
  self.windows:restore(function(buf)
    return self:index_of(buf) ~= nil
  end)
  for _, made in pairs(self.buffers) do
    made.overlay:close()
    if made.restore_keys then
      made.restore_keys()
    end
    if made.scratch and api.nvim_buf_is_valid(made.buf) then
      api.nvim_buf_delete(made.buf, { force = true })
    end
  end
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
    past = {},
    future = {},
    texts = {},
    draft = require('tideate.ui.draft_file').new(question),
  }, Review)
  self.guard = require('tideate.ui.key_guard').new(function()
    self:draw_bars()
  end)
  self.files = require('tideate.ui.review.file_list').new(self)
  self.side = require('tideate.ui.review.side_view').new(self)
  self:restore()
  require('tideate.ui.review.watching').watch(self)
  local reason = self:obstacle()
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
      self:buffer(index)
    end
  end
  self:draw_bars()
  if not require('tideate.ui.typing').plain_normal() then
    local words = '%s: %s to review; press <Esc>, or :Workflow'
    ui.notify(words:format(question.workflow, self.model:counted()))
  end
  self.stop_waiting = require('tideate.ui.typing').when_quiet(function()
    self.stop_waiting = nil
    if not self.closed then
      self:focus(true)
    end
  end)
  return self
end

return M
