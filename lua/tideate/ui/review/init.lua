--- The review of proposed changes, hunk by hunk, in the buffers themselves.
---
--- A buffer is never changed here: the answer says which hunks are wanted, and the engine applies them.
local M = {}

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
---@field current integer file
---@field active boolean the person was brought here, and the keys are set
---@field closed boolean
---@field group integer
---@field stop_waiting fun()?
---@field sure boolean a decline was asked for once
local Review = {}
Review.__index = Review

---@param message string
---@param level integer?
local function say(message, level)
  require('tideate.ui').notify(message, level or vim.log.levels.INFO)
end

---@param file tideate.ReviewFile
---@param id string
---@return integer buf
local function scratch_for(file, id)
  local window = require('tideate.ui.window')
  local buf = window.scratch(('tideate://review/%s/%s'):format(id:sub(1, 8), file.path))
  local text = file.before or ''
  if file.action == 'create' then
    text = file.hunks[1] and table.concat(file.hunks[1].new, '\n') or ''
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, vim.split(text, '\n', { plain = true }))
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].modifiable = false
  local language = vim.treesitter.language.get_lang(file.filetype or '')
  if not (language and pcall(vim.treesitter.start, buf, language)) then
    vim.bo[buf].syntax = file.filetype or ''
  end
  return buf
end

--- A file's buffer, ready for the review.
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
  local buf = real or scratch_for(file, self.question.execution_id)
  local made = { buf = buf, scratch = real == nil }
  made.overlay = require('tideate.ui.review.overlay').attach(buf, entry, function()
    self:draw_bars()
  end)
  self.buffers[index] = made
  self:watch_buffer(made, file)
  if self.active then
    self:set_keys(made)
  end
  return made
end

---@param made tideate.ReviewBuffer
---@param file tideate.ReviewFile
function Review:watch_buffer(made, file)
  vim.api.nvim_create_autocmd({ 'BufUnload', 'BufWipeout' }, {
    group = self.group,
    buffer = made.buf,
    callback = vim.schedule_wrap(function()
      -- :edit reads a buffer again through an unload
      if not self.closed and not vim.api.nvim_buf_is_loaded(made.buf) then
        self:decline(('%s was closed'):format(file.path))
      elseif not self.closed then
        made.overlay:anchor()
        made.overlay:draw_soon()
      end
    end),
  })
  vim.api.nvim_create_autocmd('CursorMoved', {
    group = self.group,
    buffer = made.buf,
    callback = function()
      self:draw_bars()
    end,
  })
end

---@param made tideate.ReviewBuffer
function Review:set_keys(made)
  made.restore_keys = made.restore_keys
    or require('tideate.ui.keys').set(made.buf, require('tideate.ui.review.keys').keys(self, made.scratch))
end

---@param buf integer
---@return integer? index
function Review:index_of(buf)
  for index, made in pairs(self.buffers) do
    if made.buf == buf then
      return index
    end
  end
end

--- The hunk that the cursor is on.
---@return tideate.ReviewUnit? unit, integer? number
function Review:unit_at_cursor()
  local made = self.buffers[self.current]
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local near, near_number ---@type tideate.ReviewUnit?, integer?
  for number, unit in ipairs(self.model.entries[self.current].units) do
    local first, last = made.overlay:range(unit)
    if row >= first and row <= last then
      return unit, number
    elseif row == first - 1 and unit.hunks[1] and #unit.hunks[1].old == 0 then
      near, near_number = unit, number
    end
  end
  return near, near_number
end

---@param buf integer
---@param win integer
---@return string?
function Review:bar(buf, win)
  local index = self:index_of(buf)
  if not index then
    return nil
  end
  return require('tideate.ui.review.keys').bar(self, index, win)
end

function Review:draw_bars()
  if self.closed then
    return
  end
  self.current = self:index_of(vim.api.nvim_get_current_buf()) or self.current
  self.windows:bars_from(function(buf, win)
    return self:bar(buf, win)
  end)
end

function Review:draw()
  for _, made in pairs(self.buffers) do
    made.overlay:draw()
  end
  self:draw_bars()
end

---@param index integer
function Review:go_to_file(index)
  local made = self:buffer(index)
  vim.api.nvim_set_current_win(self.windows:show(made.buf))
  self.current = index
  self:draw()
end

--- Put the cursor on a hunk, so that it and what it adds can be seen.
---@param unit tideate.ReviewUnit
function Review:go_to_unit(unit)
  local overlay = self.buffers[self.current].overlay
  local row = math.min((overlay:range(unit)), vim.api.nvim_buf_line_count(0) - 1)
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { row + 1, 0 })
  vim.cmd('normal! zv')
  local hunk = unit.hunks[1]
  local height = vim.api.nvim_win_get_height(0)
  local size = hunk and #hunk.old + #hunk.new or 0
  self:draw()
  if row == 0 and hunk and #hunk.old == 0 then
    -- lines above the first one are only seen as filler
    vim.fn.winrestview({ topline = 1, topfill = math.min(#hunk.new, height - 2) })
  elseif row + size + 1 > vim.fn.line('w0') - 1 + height then
    vim.fn.winrestview({ topline = math.max(1, row + 1 - math.floor(height / 5)) })
  end
end

--- To the next or previous hunk of the file.
---@param step 1|-1
function Review:step(step)
  local overlay = self.buffers[self.current].overlay
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local units = self.model.entries[self.current].units
  local last = vim.api.nvim_buf_line_count(0) - 1
  for index = step == 1 and 1 or #units, step == 1 and #units or 1, step do
    local first = math.min((overlay:range(units[index])), last)
    if (first - row) * step > 0 then
      return self:go_to_unit(units[index])
    end
  end
  say(step == 1 and 'no hunk below' or 'no hunk above')
end

---@param step 1|-1
function Review:step_file(step)
  local count = #self.model.entries
  self:go_to_file((self.current - 1 + step) % count + 1)
end

--- Go on to what is open, or finish.
function Review:advance()
  self:draw()
  local index = self.model:next_open(self.current)
  if not index then
    return self:finish()
  end
  local same = index == self.current
  if not same then
    self:go_to_file(index)
  end
  local row = same and vim.api.nvim_win_get_cursor(0)[1] - 1 or -1
  local first ---@type tideate.ReviewUnit?
  for _, unit in ipairs(self.model.entries[index].units) do
    if unit.state == 'open' then
      first = first or unit
      if self.buffers[index].overlay:range(unit) >= row then
        return self:go_to_unit(unit)
      end
    end
  end
  self:go_to_unit(assert(first))
end

--- Decide about the hunk under the cursor.
---@param state 'accepted'|'rejected'
function Review:decide(state)
  self:draw()
  local unit = self:unit_at_cursor()
  if not unit then
    return self:step(1)
  elseif unit.stale and state == 'accepted' then
    return say('you changed these lines: undo that, or reject the hunk', vim.log.levels.WARN)
  end
  unit.state = state
  self:advance()
end

--- Decide about everything that is open, in all files.
---@param state 'accepted'|'rejected'
function Review:decide_all(state)
  for index in ipairs(self.model.entries) do
    self:buffer(index).overlay:check()
  end
  local stale = 0
  self.model:each(function(unit)
    if unit.state == 'open' and unit.stale and state == 'accepted' then
      stale = stale + 1
    elseif unit.state == 'open' then
      unit.state = state
    end
  end)
  if stale > 0 then
    say(('%d of the hunks: you changed their lines'):format(stale), vim.log.levels.WARN)
  end
  self:advance()
end

--- Answer with what was decided; open hunks are left out.
function Review:finish()
  self:draw()
  local count = self.model:count()
  if count.open == count.total and count.total > 0 then
    return say('nothing is decided yet: gA accepts all, gR rejects all')
  end
  local changed = 0
  self.model:each(function(unit)
    changed = changed + (unit.stale and unit.state == 'accepted' and 1 or 0)
  end)
  if changed > 0 then
    say(('%d accepted hunks were left out, because you changed their lines'):format(changed), vim.log.levels.WARN)
  elseif count.open > 0 then
    say(self.model:summary() .. '; what is open was left out')
  end
  local result = self.model:result()
  self:close()
  self.respond(result)
end

---@param reason string?
function Review:decline(reason)
  self:close()
  self.respond({ accepted = false, reason = reason })
end

--- `q` in a buffer of the review: the second one, if something was decided.
function Review:ask_to_decline()
  local count = self.model:count()
  if self.sure or count.open == count.total then
    return self:decline()
  end
  self.sure = true
  say(self.model:summary() .. '; q again declines all of it, <CR> finishes')
end

function Review:toggle()
  for _, made in pairs(self.buffers) do
    made.overlay.hidden = not made.overlay.hidden
    made.overlay:draw()
  end
end

function Review:diff()
  local unit = self:unit_at_cursor()
  if unit then
    require('tideate.ui.preview').open('hunk', require('tideate.ui.review.keys').diff(unit), 'diff')
  end
end

function Review:help()
  local made = self.buffers[self.current]
  require('tideate.ui.keys').help('review', require('tideate.ui.review.keys').keys(self, made.scratch))
end

--- Bring the person to what is open, and set the keys.
function Review:focus()
  if self.stop_waiting then
    self.stop_waiting()
    self.stop_waiting = nil
  end
  self.active = true
  for _, made in pairs(self.buffers) do
    self:set_keys(made)
  end
  require('tideate.ui.output').make_room()
  local index = self.model:next_open(self.current)
  if not index then
    return self:finish()
  end
  self:go_to_file(index)
  for _, unit in ipairs(self.model.entries[index].units) do
    if unit.state == 'open' then
      return self:go_to_unit(unit)
    end
  end
end

---@return boolean
function Review:focused()
  return self.active and self:index_of(vim.api.nvim_get_current_buf()) ~= nil
end

--- End without an answer: everything is as before.
function Review:close()
  if self.closed then
    return
  end
  self.closed = true
  if self.stop_waiting then
    self.stop_waiting()
  end
  vim.api.nvim_del_augroup_by_id(self.group)
  self.windows:restore(function(buf)
    return self:index_of(buf) ~= nil
  end)
  for _, made in pairs(self.buffers) do
    made.overlay:close()
    if made.restore_keys then
      made.restore_keys()
    end
    if made.scratch and vim.api.nvim_buf_is_valid(made.buf) then
      vim.api.nvim_buf_delete(made.buf, { force = true })
    end
  end
end

function Review:watch()
  self.group = vim.api.nvim_create_augroup('tideate.review', { clear = true })
  vim.api.nvim_create_autocmd({ 'BufWinEnter', 'WinEnter', 'WinNew', 'VimResized' }, {
    group = self.group,
    callback = vim.schedule_wrap(function()
      self:draw_bars()
    end),
  })
  vim.api.nvim_create_autocmd('WinClosed', {
    group = self.group,
    callback = function(event)
      local buf = vim.api.nvim_win_get_buf(assert(tonumber(event.match)))
      local index = self:index_of(buf)
      local made = index and self.buffers[index]
      vim.schedule(function()
        local shown = made and #vim.fn.win_findbuf(buf) > 0
        if not self.closed and made and made.scratch and not shown and vim.v.exiting == vim.NIL then
          self:decline('the review was closed')
        end
      end)
    end,
  })
end

--- Why the review cannot be shown, if so.
---@param model tideate.ReviewModel
---@return string?
local function obstacle(model)
  for _, entry in ipairs(model.entries) do
    local buf = entry.file.buffer
    if buf and not vim.api.nvim_buf_is_loaded(buf) then
      return ('%s was closed before its changes could be reviewed'):format(entry.file.path)
    end
  end
end

--- Let a person review changes.
---@param question tideate.Question payload: { files: tideate.ReviewFile[], demonstration: boolean }
---@param respond fun(result: table<string, any>) called once
---@return tideate.Asked
function M.open(question, respond)
  require('tideate.ui.highlights').define()
  local self = setmetatable({
    question = question,
    respond = respond,
    model = require('tideate.ui.review.model').new(question.payload.files),
    windows = require('tideate.ui.review.windows').new(),
    buffers = {},
    current = 1,
    active = false,
    closed = false,
    sure = false,
  }, Review)
  self:watch()
  local reason = obstacle(self.model)
  if reason or #self.model.entries == 0 then
    vim.schedule(function()
      self:decline(reason or 'there is nothing to review')
    end)
    return self
  end
  for index, entry in ipairs(self.model.entries) do
    if entry.file.buffer and entry.file.action ~= 'create' then
      self:buffer(index)
    end
  end
  self:draw_bars()
  if not require('tideate.ui.idle').plain_normal() then
    say(('%s: %s to review; stop typing in normal mode, or :Workflow'):format(question.workflow, self.model:summary()))
  end
  self.stop_waiting = require('tideate.ui.idle').when_quiet(function()
    self.stop_waiting = nil
    if not self.closed then
      self:focus()
    end
  end)
  return self
end

return M
