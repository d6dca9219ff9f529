--- Proposed hunks drawn over a buffer without changing it.
--- Extmarks hold them, so that they follow the user's edits.
local M = {}

local api = vim.api
local adapter_of = require('tideate.ui.review.alternatives').adapter
local comment_texts = require('tideate.ui.questions.comment_texts')
local hunk_position = require('tideate.ui.review.hunk_position')
local looks = require('tideate.ui.review.hunk_highlights')
local merge = require('tideate.ui.review.merge')
local text = require('tideate.ui.text')

local anchors = api.nvim_create_namespace('tideate.review.anchors')
local drawn = api.nvim_create_namespace('tideate.review')

local columns_ns = api.nvim_create_namespace('tideate.review.columns')

local MOST_SIGNS = 1000 -- per hunk
local MOST_KEPT = 200 -- hunks with cached lines

---@class tideate.VirtualHunk
---@field width integer
---@field base string
---@field words tideate.ReviewWords
---@field lines tideate.Chunk[][]

---@class tideate.OverlayHunk
---@field hunk tideate.Hunk
---@field unit tideate.ReviewUnit
---@field last boolean last hunk of its unit

---@class tideate.MergedUnit
---@field hunk tideate.Hunk
---@field now string[] merged lines
---@field offer? tideate.Hunk nil after a conflict
---@field known tideate.MergeBase

---@class tideate.Overlay
---@field buf integer
---@field entry tideate.ReviewEntry
---@field marks table<tideate.Hunk, integer>
---@field by_mark table<integer, tideate.OverlayHunk>
---@field virtual table<tideate.Hunk, tideate.VirtualHunk> of hunks that were visible
---@field kept integer their number
---@field hidden boolean
---@field has_side boolean the proposal has its own window
---@field closed boolean
---@field creates boolean the buffer holds the new text
---@field fixed boolean scratch buffer: read-only and escaped
---@field signature string? drawn state
---@field watched boolean? buffer changes are watched
---@field tick integer? changedtick of the last staleness check
---@field lines_now? fun(hunk: tideate.Hunk): string[]? at that changedtick
---@field merged table<tideate.ReviewUnit, tideate.MergedUnit> last merges
---@field pending boolean
---@field left integer columns left of the text
---@field width integer of the text
---@field on_change fun()
---@field anchors integer namespace
---@field drawn integer namespace
local Overlay = {}
Overlay.__index = Overlay

---@type table<tideate.Overlay, true>
local watched = {}

---@type table<integer, true> buffers with a window being redrawn
local redrawn = {}

api.nvim_set_decoration_provider(columns_ns, {
  on_win = function(_, _, buf)
    redrawn[buf] = true
  end,
  -- compare widths once all windows are drawn: the redraw itself may open a column
  on_end = function()
    for overlay in pairs(watched) do
      if redrawn[overlay.buf] and select(4, looks.seen(overlay.buf)) ~= overlay.left then
        overlay:draw_soon()
      end
    end
    redrawn = {}
  end,
})

---@param buf integer
---@param entry tideate.ReviewEntry
---@param on_change fun() the user changed the buffer, or a window moved
---@param layer? integer of hunks beside those of a review, from 1
---@return tideate.Overlay
function M.attach(buf, entry, on_change, layer)
  local self = setmetatable({
    buf = buf,
    entry = entry,
    virtual = {},
    kept = 0,
    hidden = false,
    has_side = false,
    closed = false,
    creates = entry.file.action == 'create',
    fixed = entry.file.action == 'create' or entry.file.buffer == nil,
    pending = false,
    left = 0,
    width = 0,
    on_change = on_change,
    anchors = layer and api.nvim_create_namespace(('tideate.review.anchors.%d'):format(layer)) or anchors,
    drawn = layer and api.nvim_create_namespace(('tideate.review.%d'):format(layer)) or drawn,
  }, Overlay)
  self:anchor()
  self:watch()
  watched[self] = true
  return self
end

--- Hold each hunk by an extmark. Hunks of another base text are located first.
function Overlay:anchor()
  api.nvim_buf_clear_namespace(self.buf, self.anchors, 0, -1)
  self.marks, self.by_mark, self.merged, self.signature, self.tick = {}, {}, {}, nil, nil
  local place = not self.fixed and hunk_position.finder(self.buf, self.entry.file.before)
  for _, unit in ipairs(self.entry.units) do
    for index, hunk in ipairs(unit.hunks) do
      local row = self.creates and 0 or place and place(hunk) or hunk.start ---@type integer
      local mark = api.nvim_buf_set_extmark(self.buf, self.anchors, row, 0, { right_gravity = true })
      self.marks[hunk] = mark
      self.by_mark[mark] = { hunk = hunk, unit = unit, last = index == #unit.hunks }
    end
  end
end

--- Return whether extmarks hold the shown hunks of a unit.
---@param unit tideate.ReviewUnit
---@return boolean
function Overlay:holds(unit)
  local hunk = unit.hunks[1]
  local held = self.by_mark[self.marks[hunk]]
  return hunk == nil or held ~= nil and held.hunk == hunk
end

--- Watch the buffer. `:edit` and an unload end that; call it again.
function Overlay:watch()
  if self.watched then
    return
  end
  self.watched = api.nvim_buf_attach(self.buf, false, {
    on_detach = function()
      self.watched = false
    end,
    on_lines = function()
      if self.closed then
        return true
      end
      self:draw_soon()
    end,
    on_reload = vim.schedule_wrap(function()
      if not self.closed and api.nvim_buf_is_loaded(self.buf) then
        self:anchor()
        self:draw_soon()
      end
    end),
  })
end

--- Anchor, watch and draw again after the buffer was read again.
function Overlay:renew()
  self:anchor()
  self:watch()
  self:draw_soon()
end

--- Schedule one drawing.
function Overlay:draw_soon()
  if self.pending or self.closed then
    return
  end
  self.pending = true
  vim.schedule(function()
    self.pending = false
    if not self.closed and api.nvim_buf_is_loaded(self.buf) then
      self:draw()
      self.on_change()
    end
  end)
end

---@return integer number of the last row, 0-based
function Overlay:last_row()
  return api.nvim_buf_line_count(self.buf) - 1
end

--- Return the first row of a hunk, 0-based; the line count after the last line.
---@param hunk tideate.Hunk
---@return integer
function Overlay:row(hunk)
  return api.nvim_buf_get_extmark_by_id(self.buf, self.anchors, self.marks[hunk], {})[1] or 0
end

--- Return the rows of a unit in the buffer.
---@param unit tideate.ReviewUnit
---@return integer first, integer last 0-based, both included
function Overlay:range(unit)
  local hunk, final = unit.hunks[1], unit.hunks[#unit.hunks]
  if not hunk or self.creates then
    return 0, self:last_row()
  end
  local first = self:row(hunk)
  return first, math.max(first, self:row(final) + #final.old - 1)
end

--- Return the hunks that overlap rows, and their first rows.
---@param first integer 0-based
---@param last integer
---@return { [1]: tideate.OverlayHunk, [2]: integer }[]
function Overlay:between(first, last)
  first = math.max(first, 0)
  local marks = api.nvim_buf_get_extmarks(self.buf, self.anchors, { first, 0 }, { math.max(first, last), -1 }, {})
  -- the last one above may reach into the rows
  local above = first > 0 and api.nvim_buf_get_extmarks(self.buf, self.anchors, { first - 1, -1 }, 0, { limit = 1 }) or {}
  local found = {}
  for _, mark in ipairs(vim.list_extend(above, marks)) do
    local one = self.by_mark[mark[1]]
    if one and mark[2] + math.max(#one.hunk.old, 1) > first then
      table.insert(found, { one, mark[2] })
    end
  end
  return found
end

--- Return the units that overlap rows.
---@param first integer 0-based
---@param last integer
---@return tideate.ReviewUnit[]
function Overlay:units_between(first, last)
  return self.entry.whole and self.entry.units or vim.tbl_map(function(found)
    return found[1].unit
  end, self:between(first, last))
end

--- Return the unit at a row; else one that adds lines below it.
---@param row integer
---@return tideate.ReviewUnit?
function Overlay:unit_at(row)
  if self.entry.whole then
    return self.entry.units[1]
  end
  local near ---@type tideate.ReviewUnit?
  local covering ---@type { [1]: tideate.OverlayHunk, [2]: integer }?
  for _, found in ipairs(self:between(row, row + 1)) do
    if found[2] <= row then
      -- a hunk of another run may span several: the one that begins last wins
      covering = (not covering or found[2] > covering[2]) and found or covering
    elseif #found[1].hunk.old == 0 then
      near = found[1].unit
    end
  end
  return covering and covering[1].unit or near
end

--- Return the next unit below or above a row.
---@param row integer
---@param step 1|-1
---@return tideate.ReviewUnit?
function Overlay:beyond(row, step)
  -- a mark after the last line counts from that line
  row = math.min(row, self:last_row())
  if self.entry.whole or row + step < 0 then
    return nil
  end
  local from, to = { row + step, step == 1 and 0 or -1 }, step == 1 and -1 or 0
  local mark = api.nvim_buf_get_extmarks(self.buf, self.anchors, from, to, { limit = 1 })[1]
  return mark and self.by_mark[mark[1]].unit
end

--- Update which hunks the user changed.
function Overlay:check()
  local tick = api.nvim_buf_get_changedtick(self.buf)
  if self.fixed or self.tick == tick then
    return
  end
  self.tick, self.lines_now = tick, nil
  for _, unit in ipairs(self.entry.units) do
    unit.stale, unit.offer = false, nil
    for _, hunk in ipairs(unit.hunks) do
      unit.stale = unit.stale or not hunk_position.stands_at(self.buf, hunk, self:row(hunk))
    end
  end
end

--- Return the current lines of a stale unit; nil if they are ambiguous.
---@param unit tideate.ReviewUnit
---@return string[]?
function Overlay:present_lines(unit)
  self.lines_now = self.lines_now or hunk_position.lines_now(self.buf, self.entry.file.before)
  return self.lines_now(unit.proposed[1])
end

--- Return a hunk merged with the user's edits of its lines, if possible. Only visible hunks and decided ones are merged:
--- typing must not wait for all.
---@param unit tideate.ReviewUnit
---@return tideate.Hunk?
function Overlay:offer(unit)
  self:check()
  local own = unit.own and not adapter_of(unit)
  if unit.stale and own and not unit.offer and not self.entry.whole then
    local now = self:present_lines(unit)
    unit.offer = now and self:merge(unit, now).offer
  end
  return unit.offer
end

--- Merge a hunk with lines, unless they are the same as last time.
---@param unit tideate.ReviewUnit
---@param now string[]
---@return tideate.MergedUnit
function Overlay:merge(unit, now)
  local hunk, last = unit.hunks[1], self.merged[unit]
  local same = last and last.hunk == hunk
  if same and vim.deep_equal(last.now, now) then
    return last
  elseif last and last.offer then
    self.marks[last.offer] = nil
  end
  local made = { hunk = hunk, now = now, known = same and last.known or merge.base(hunk.old, hunk.new) }
  local merged = merge.lines(made.known, now)
  if merged and not vim.deep_equal(merged, now) then
    made.offer = { start = hunk.start, old = now, new = merged }
    self.marks[made.offer] = self.marks[hunk]
  end
  self.merged[unit] = made
  return made
end

--- Return the visible hunks and their looks.
---@param ranges { [1]: integer, [2]: integer }[]
---@return { [1]: tideate.Hunk, [2]: string, [3]: tideate.ReviewComment? }[] hunks
---@return string[] key
function Overlay:in_sight(ranges)
  local wanted, key, seen = {}, {}, {}
  for _, range in ipairs(ranges) do
    for _, found in ipairs(self.creates and self:between(0, 0) or self:between(range[1], range[2])) do
      local one, unit = found[1], found[1].unit
      if not seen[one] then
        seen[one] = true
        self:offer(unit)
        local state = looks.state(unit)
        local comment = one.last and unit.comment or nil
        local hunk = state == 'merged' and unit.offer or one.hunk
        table.insert(wanted, { hunk, state, comment })
        local tick = state == 'merged' and self.tick or 0 -- each change may merge to another text
        table.insert(key, ('%d %s %d %d %s'):format(self.marks[hunk], state, found[2], tick, comment and comment.text or ''))
      end
    end
  end
  return wanted, key
end

--- Draw the visible hunks.
function Overlay:draw()
  self:check()
  local ranges, width, height, left = looks.seen(self.buf)
  local wanted, key = self:in_sight(self.hidden and {} or ranges)
  local signature = ('%d %d %d|%s'):format(width, height, left, table.concat(key, '|'))
  if signature == self.signature then
    return
  end
  self.signature, self.left, self.width = signature, left, width
  api.nvim_buf_clear_namespace(self.buf, self.drawn, 0, -1)
  local unit = self.entry.units[1]
  if self.hidden then
    return
  elseif self.creates or self.entry.file.action == 'delete' or #unit.hunks == 0 then
    self:draw_whole(unit)
  else
    for _, one in ipairs(wanted) do
      if self.has_side then
        self:draw_beside(one[1], one[2], one[3])
      else
        self:draw_hunk(one[1], one[2], height, one[3])
      end
    end
  end
  if not self.has_side then
    self:draw_warnings(wanted) -- last: of virtual lines above one line, later ones are higher
  end
end

--- Return the window rows of a unit: its lines, the new ones and the comment.
---@param unit tideate.ReviewUnit
---@return integer
function Overlay:height(unit)
  local first, last = self:range(unit)
  local hunk, virtual = unit.hunks[1], 0
  if not self.has_side then
    virtual = #comment_texts.lines(unit.comment, self.width)
    if hunk and not self.creates and unit.state ~= 'rejected' then
      local _, width, height = looks.seen(self.buf)
      local look = looks.look(unit.state, self.entry.written)
      virtual = virtual + math.min(#self:added(hunk, look.new, width).lines, math.max(5, height - 4))
    end
  end
  if hunk and #hunk.old == 0 and not self.creates then
    return virtual + 1
  end
  last = math.min(last, self:last_row())
  return api.nvim_win_text_height(0, { start_row = math.min(first, last), end_row = last }).all + virtual
end

--- Return the new lines of a hunk as virtual lines, with its changed words.
---@param hunk tideate.Hunk
---@param base string
---@param width integer
---@return tideate.VirtualHunk
function Overlay:added(hunk, base, width)
  local cached = self.virtual[hunk]
  if cached and cached.width == width and cached.base == base then
    return cached
  end
  local words = cached and cached.words or require('tideate.ui.review.words').of(hunk)
  local lines = require('tideate.ui.review.syntax').virtual(hunk.new, {
    filetype = require('tideate.ui.review.scratch_buffer').filetype(self.entry.file),
    width = width,
    tabstop = vim.bo[self.buf].tabstop,
    base = base,
    words = base == 'TideateAdd' and words.new or {},
  })
  self.kept = self.kept + (cached and 0 or 1)
  if self.kept > MOST_KEPT then
    self.virtual, self.kept = {}, 1
  end
  self.virtual[hunk] = { width = width, base = base, words = words, lines = lines }
  return self.virtual[hunk]
end

--- Highlight the replaced words of lines in the buffer.
---@param hunk tideate.Hunk
---@param row integer
---@param words tideate.ReviewWords
function Overlay:draw_words(hunk, row, words)
  for index, spans in pairs(words.old) do
    local line = hunk.old[index]
    for _, span in ipairs(text.plain(line) == line and spans or {}) do
      local options = { end_col = span[2], hl_group = 'TideateDeleteText', priority = 201 }
      self:mark(row + index - 1, options, span[1])
    end
  end
end

---@param row integer
---@param options table<string, any>
---@param column? integer
function Overlay:mark(row, options, column)
  options.strict = false
  api.nvim_buf_set_extmark(self.buf, self.drawn, math.min(row, self:last_row()), column or 0, options)
end

--- Draw virtual lines, from the left edge of the window.
---@param row integer
---@param lines tideate.Chunk[][]
---@param above boolean
function Overlay:mark_lines(row, lines, above)
  if #lines > 0 then
    self:mark(row, { virt_lines = lines, virt_lines_above = above, virt_lines_leftcol = true })
  end
end

--- Show decision and comment after a line.
---@param row integer
---@param look tideate.HunkLook
---@param comment? tideate.ReviewComment
function Overlay:mark_label(row, look, comment)
  local chunks = { look.label and { ' ' .. look.label, look.group } } ---@type tideate.Chunk[]
  if comment then
    table.insert(chunks, { ' » ' .. text.plain(comment.text), 'TideateComment' })
  end
  if #chunks > 0 then
    self:mark(row, { virt_text = chunks })
  end
end

--- Highlight lines of the buffer.
---@param first integer
---@param count integer
---@param group string
---@param sign string
---@param sign_group string
function Overlay:draw_lines(first, count, group, sign, sign_group)
  local last = math.min(first + count - 1, self:last_row())
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

--- Draw a file that is created or deleted, or changed without lines: a move, a binary file, a mode.
---@param unit tideate.ReviewUnit
function Overlay:draw_whole(unit)
  local lines = comment_texts.lines(unit.comment, self.width)
  if #lines > 0 then
    self:mark(0, { virt_lines = lines })
  end
  local look = looks.look((self.creates or unit.conflict) and looks.state(unit) or unit.state, self.entry.written)
  if self.creates then
    self:draw_lines(0, math.huge, look.new and 'TideateAdd' or 'TideateOut', '+', 'TideateAddSign')
  elseif self.entry.file.action == 'delete' then
    self:draw_lines(0, math.huge, look.old, look.sign, 'TideateDeleteSign')
  end
  self:mark_label(0, look)
end

--- Draw decision and signs of a hunk in a side-by-side view; Neovim's diff colours the lines.
---@param hunk tideate.Hunk
---@param state string look of the hunk
---@param comment tideate.ReviewComment?
function Overlay:draw_beside(hunk, state, comment)
  local look, row = looks.look(state, self.entry.written), self:row(hunk)
  self:draw_lines(row, #hunk.old, '', look.sign, 'TideateDeleteSign')
  -- keeps the sign column open, so that both sides align
  self:mark(row, { sign_text = '  ', priority = 1 })
  self:mark_label(row, look, comment)
end

---@param hunk tideate.Hunk
---@param state string look of the hunk
---@param height integer of the window
---@param comment tideate.ReviewComment?
function Overlay:draw_hunk(hunk, state, height, comment)
  local look, row = looks.look(state, self.entry.written), self:row(hunk)
  self:draw_lines(row, #hunk.old, look.old, look.sign, 'TideateDeleteSign')
  local lines = {} ---@type tideate.Chunk[][] virtual ones
  local function add(more, sign)
    vim.list_extend(lines, looks.with_sign(more, sign, self.left))
  end
  if #hunk.old > 0 then
    self:mark_label(row, look)
  elseif look.label then
    add({ { { look.label, look.group } } }, ' ')
  end
  if look.new then
    local added = self:added(hunk, look.new, self.width)
    if state == 'open' or state == 'conflict' then
      self:draw_words(hunk, row, added.words)
    end
    add(looks.visible_part(added.lines, height), '+')
    -- keeps the sign column open without deleted lines
    self:mark(row, { sign_text = '  ', priority = 1 })
  end
  add(comment_texts.lines(comment, self.width), ' ')
  local below = row + #hunk.old - 1
  self:mark_lines(math.max(below, 0), lines, below < 0)
end

---@return tideate.Chunk[][]
function Overlay:warning_lines()
  local reason, _, width = self.entry.danger, looks.seen(self.buf)
  return reason and require('tideate.ui.questions.executed_files').above(reason, width) or {}
end

--- Return the number of virtual lines above the first line of the buffer.
---@param row integer of the hunk
---@param hunk tideate.Hunk?
---@return integer
function Overlay:lines_above(row, hunk)
  local added = hunk and not self.creates and #hunk.old == 0 and #hunk.new or 0
  return row == 0 and #self:warning_lines() + added or 0
end

--- Warn above each visible hunk; above the first line if the file has none.
---@param hunks { [1]: tideate.Hunk, [2]: string }[]
function Overlay:draw_warnings(hunks)
  local lines, rows = self:warning_lines(), {} ---@type tideate.Chunk[][], table<integer, true>
  for _, one in ipairs(hunks) do
    rows[self.creates and 0 or math.min(self:row(one[1]), self:last_row())] = true
  end
  if #self.entry.units == 1 and #self.entry.units[1].hunks == 0 then
    rows[0] = true -- only moved
  end
  for row in pairs(rows) do
    self:mark_lines(row, lines, true)
  end
end

--- Draw other hunks of the same file.
---@param entry tideate.ReviewEntry
function Overlay:replace(entry)
  self.entry, self.virtual, self.kept = entry, {}, 0
  self:anchor()
  self:draw()
end

--- Set whether the proposal has its own window: then it is not drawn here.
---@param has_side boolean
function Overlay:beside(has_side)
  self.has_side, self.signature = has_side, nil
  self:draw()
end

function Overlay:close()
  self.closed = true
  watched[self] = nil
  if api.nvim_buf_is_valid(self.buf) then
    api.nvim_buf_clear_namespace(self.buf, self.anchors, 0, -1)
    api.nvim_buf_clear_namespace(self.buf, self.drawn, 0, -1)
  end
end

return M
