--- Proposed hunks drawn over a buffer. Nothing in the buffer is changed; each hunk is held by a mark, so
--- that it follows what the person types.
local M = {}

local anchors = vim.api.nvim_create_namespace('tideate.review.anchors')
local drawn = vim.api.nvim_create_namespace('tideate.review')

local MOST_SIGNS = 1000 -- of one hunk

---@class tideate.Overlay
---@field buf integer
---@field entry tideate.ReviewEntry
---@field marks table<tideate.Hunk, integer>
---@field virtual table<tideate.Hunk, { width: integer, base: string, lines: tideate.Chunk[][] }>
---@field hidden boolean
---@field closed boolean
---@field creates boolean the buffer holds the new text itself
---@field fixed boolean the buffer is the review's own: nobody changes it, and its text is escaped
---@field group integer
---@field signature string? what is drawn
---@field tick integer? changedtick that staleness was checked at
---@field pending boolean
---@field left integer columns left of the text that the signs were drawn for
---@field width integer of the text
---@field on_change fun()
local Overlay = {}
Overlay.__index = Overlay

---@param buf integer
---@param entry tideate.ReviewEntry
---@param on_change fun() the person changed the buffer, or a window moved
---@return tideate.Overlay
function M.attach(buf, entry, on_change)
  local self = setmetatable({
    buf = buf,
    entry = entry,
    marks = {},
    virtual = {},
    hidden = false,
    closed = false,
    creates = entry.file.action == 'create',
    fixed = entry.file.action == 'create' or entry.file.buffer == nil,
    pending = false,
    left = 0,
    width = 0,
    on_change = on_change,
  }, Overlay)
  self:anchor()
  self:watch()
  require('tideate.ui.review.left_columns').watch(self)
  self:draw()
  return self
end

function Overlay:anchor()
  vim.api.nvim_buf_clear_namespace(self.buf, anchors, 0, -1)
  local shift = 0
  for _, unit in ipairs(self.entry.units) do
    for _, hunk in ipairs(unit.hunks) do
      local row = self.creates and 0 or hunk.start
      if not self.fixed then
        row = require('tideate.ui.review.hunk_position').locate(self.buf, hunk, shift)
        shift = row - hunk.start
      end
      self.marks[hunk] = vim.api.nvim_buf_set_extmark(self.buf, anchors, row, 0, { right_gravity = true })
    end
  end
end

function Overlay:watch()
  self.group = vim.api.nvim_create_augroup(('tideate.review.%d'):format(self.buf), { clear = true })
  local function soon()
    self:draw_soon()
  end
  vim.api.nvim_buf_attach(self.buf, false, {
    on_lines = function()
      if self.closed then
        return true
      end
      soon()
    end,
    on_reload = vim.schedule_wrap(function()
      if not self.closed and vim.api.nvim_buf_is_loaded(self.buf) then
        self:anchor()
        soon()
      end
    end),
  })
  vim.api.nvim_create_autocmd({ 'WinScrolled', 'WinResized', 'BufWinEnter', 'VimResized' }, {
    group = self.group,
    callback = soon,
  })
end

--- Draw at the end of what the editor is doing, once.
function Overlay:draw_soon()
  if self.pending or self.closed then
    return
  end
  self.pending = true
  vim.schedule(function()
    self.pending = false
    if not self.closed and vim.api.nvim_buf_is_loaded(self.buf) then
      self:draw()
      self.on_change()
    end
  end)
end

--- The first row of a hunk, 0-based; the line count for one after the last line.
---@param hunk tideate.Hunk
---@return integer
function Overlay:row(hunk)
  local found = vim.api.nvim_buf_get_extmark_by_id(self.buf, anchors, self.marks[hunk], {})
  return found[1] or 0
end

--- The rows that a unit covers in the buffer.
---@param unit tideate.ReviewUnit
---@return integer first, integer last 0-based, both included
function Overlay:range(unit)
  local hunk = unit.hunks[1]
  if not hunk or self.creates then
    return 0, math.max(0, vim.api.nvim_buf_line_count(self.buf) - 1)
  end
  local first = self:row(hunk)
  local final = unit.hunks[#unit.hunks]
  return first, math.max(first, self:row(final) + #final.old - 1)
end

--- Rows that a unit takes in the current window: its lines, those that replace them, and the comment.
---@param unit tideate.ReviewUnit
---@return integer
function Overlay:height(unit)
  local first, last = self:range(unit)
  local hunk = unit.hunks[1]
  local virtual = #require('tideate.ui.review.comments').lines(unit.comment, self.width)
  if hunk and not self.creates and unit.state ~= 'rejected' then
    local _, width, height = require('tideate.ui.review.hunk_highlights').seen(self.buf)
    local look = require('tideate.ui.review.hunk_highlights').states[unit.state]
    virtual = virtual + math.min(#self:added(hunk, look.new, width), math.max(5, height - 4))
  end
  if hunk and #hunk.old == 0 and not self.creates then
    return virtual + 1
  end
  last = math.min(last, vim.api.nvim_buf_line_count(self.buf) - 1)
  return vim.api.nvim_win_text_height(0, { start_row = math.min(first, last), end_row = last }).all + virtual
end

--- See which hunks the person has changed.
function Overlay:check()
  local tick = vim.api.nvim_buf_get_changedtick(self.buf)
  if self.fixed or self.tick == tick then
    return
  end
  self.tick = tick
  local place = require('tideate.ui.review.hunk_position')
  for _, unit in ipairs(self.entry.units) do
    unit.stale = false
    for _, hunk in ipairs(unit.hunks) do
      unit.stale = unit.stale or not place.stands_at(self.buf, hunk, self:row(hunk))
    end
  end
end

---@param hunk tideate.Hunk
---@param base string
---@param width integer
---@return tideate.Chunk[][]
function Overlay:added(hunk, base, width)
  local cached = self.virtual[hunk]
  if not cached or cached.width ~= width or cached.base ~= base then
    cached = {
      width = width,
      base = base,
      lines = require('tideate.ui.review.syntax').virtual(hunk.new, {
        filetype = self.entry.file.filetype,
        width = width,
        tabstop = vim.bo[self.buf].tabstop,
        base = base,
      }),
    }
    self.virtual[hunk] = cached
  end
  return cached.lines
end

---@param row integer
---@param options table<string, any>
function Overlay:mark(row, options)
  options.strict = false
  vim.api.nvim_buf_set_extmark(self.buf, drawn, row, 0, options)
end

---@param hunk tideate.Hunk
---@param row integer
---@param lines tideate.Chunk[][]
function Overlay:draw_added(hunk, row, lines)
  local below = row + #hunk.old - 1
  if below < 0 then
    self:mark(0, { virt_lines = lines, virt_lines_above = true, virt_lines_leftcol = true })
  else
    below = math.min(below, vim.api.nvim_buf_line_count(self.buf) - 1)
    self:mark(below, { virt_lines = lines, virt_lines_leftcol = true })
  end
end

--- Colour lines that are in the buffer.
---@param first integer
---@param last integer
---@param group string
---@param sign string
---@param sign_group string
function Overlay:draw_lines(first, last, group, sign, sign_group)
  if last < first then
    return
  end
  if group ~= '' then
    self:mark(first, { end_row = last + 1, end_col = 0, hl_group = group, hl_eol = true, priority = 200 })
  end
  for line = first, sign ~= '' and math.min(last, first + MOST_SIGNS) or -1 do
    self:mark(line, { sign_text = sign, sign_hl_group = sign_group, priority = 200 })
  end
end

---@param unit_state string of a hunk
function Overlay:draw_created(unit_state)
  self:draw_comment_of_file()
  local look = require('tideate.ui.review.hunk_highlights').states[unit_state]
  local last = vim.api.nvim_buf_line_count(self.buf) - 1
  self:draw_lines(0, last, look.new and 'TideateAdd' or 'TideateOut', '+', 'TideateAddSign')
  if look.label then
    self:mark(0, { virt_text = { { ' ' .. look.label, look.group } } })
  end
end

--- The comment on a file that is decided about as a whole, below its first line.
function Overlay:draw_comment_of_file()
  local lines = require('tideate.ui.review.comments').lines(self.entry.units[1].comment, self.width)
  if #lines > 0 then
    self:mark(0, { virt_lines = lines })
  end
end

---@param state string of a hunk
function Overlay:draw_deleted(state)
  self:draw_comment_of_file()
  local look = require('tideate.ui.review.hunk_highlights').states[state]
  self:draw_lines(0, vim.api.nvim_buf_line_count(self.buf) - 1, look.old, look.sign, 'TideateDeleteSign')
  if look.label then
    self:mark(0, { virt_text = { { ' ' .. look.label, look.group } } })
  end
end

---@param hunk tideate.Hunk
---@param state string of a hunk
---@param width integer
---@param height integer
---@param comment tideate.ReviewComment?
function Overlay:draw_hunk(hunk, state, width, height, comment)
  local look = require('tideate.ui.review.hunk_highlights').states[state]
  local row = self:row(hunk)
  local last = vim.api.nvim_buf_line_count(self.buf) - 1
  self:draw_lines(row, math.min(row + #hunk.old - 1, last), look.old, look.sign, 'TideateDeleteSign')
  local lines = {} ---@type tideate.Chunk[][]
  if look.new then
    local looks = require('tideate.ui.review.hunk_highlights')
    lines = looks.with_sign(looks.visible_part(self:added(hunk, look.new, width), height), '+', self.left)
    -- keeps the column of the signs open where nothing is deleted
    self:mark(math.min(row, last), { sign_text = '  ', priority = 1 })
  end
  if look.label and #hunk.old > 0 then
    self:mark(math.min(row, last), { virt_text = { { ' ' .. look.label, look.group } } })
  elseif look.label then
    local label = { { { look.label, look.group } } }
    table.insert(lines, 1, require('tideate.ui.review.hunk_highlights').with_sign(label, ' ', self.left)[1])
  end
  local looks = require('tideate.ui.review.hunk_highlights')
  vim.list_extend(lines, looks.with_sign(require('tideate.ui.review.comments').lines(comment, width), ' ', self.left))
  if #lines > 0 then
    self:draw_added(hunk, row, lines)
  end
end

--- The hunks in sight, and how they look.
---@param ranges { [1]: integer, [2]: integer }[]
---@return { [1]: tideate.Hunk, [2]: string, [3]: tideate.ReviewComment? }[] hunks
---@return string[] key
function Overlay:in_sight(ranges)
  local wanted, key = {}, {}
  for index, unit in ipairs(self.entry.units) do
    local state = unit.stale and unit.state ~= 'rejected' and 'stale' or unit.state
    for number, hunk in ipairs(unit.hunks) do
      local first = self:row(hunk)
      local inside = vim.iter(ranges):any(function(range)
        return self.creates or (first <= range[2] and first + #hunk.old >= range[1])
      end)
      if inside then
        table.insert(wanted, { hunk, state, number == #unit.hunks and unit.comment or nil })
        table.insert(key, ('%d.%d %s %d %s'):format(index, number, state, first, unit.comment and unit.comment.text or ''))
      end
    end
  end
  return wanted, key
end

--- Draw the hunks that can be seen.
function Overlay:draw()
  self:check()
  local ranges, width, height, left = require('tideate.ui.review.hunk_highlights').seen(self.buf)
  local wanted, key = self:in_sight(self.hidden and {} or ranges)
  local signature = ('%d %d %d|%s'):format(width, height, left, table.concat(key, '|'))
  if signature == self.signature then
    return
  end
  self.signature, self.left, self.width = signature, left, width
  vim.api.nvim_buf_clear_namespace(self.buf, drawn, 0, -1)
  if self.hidden then
    return
  elseif self.creates then
    self:draw_created(self.entry.units[1].state)
  elseif self.entry.file.action == 'delete' then
    self:draw_deleted(self.entry.units[1].state)
  else
    for _, one in ipairs(wanted) do
      self:draw_hunk(one[1], one[2], width, height, one[3])
    end
  end
  -- last: of lines above the same one, the later ones stand higher
  require('tideate.ui.review.warning').draw(self, wanted, width)
end

function Overlay:close()
  self.closed = true
  require('tideate.ui.review.left_columns').unwatch(self)
  vim.api.nvim_del_augroup_by_id(self.group)
  if vim.api.nvim_buf_is_valid(self.buf) then
    vim.api.nvim_buf_clear_namespace(self.buf, anchors, 0, -1)
    vim.api.nvim_buf_clear_namespace(self.buf, drawn, 0, -1)
  end
end

return M
