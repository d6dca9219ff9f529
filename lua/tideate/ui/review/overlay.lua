--- Proposed hunks drawn over a buffer without changing it; extmarks hold them, so that they follow the user's edits.
local M = {}

local api = vim.api

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
local Overlay = {}
Overlay.__index = Overlay

---@type table<integer, tideate.Overlay> by buffer
local watched = {}

---@type table<integer, true> buffers with a window being redrawn
local redrawn = {}

--- Compare widths once all windows are drawn: the redraw itself may open a column.
local function compare()
  for buf in pairs(redrawn) do
    local overlay = watched[buf]
    local _, _, _, left = require('tideate.ui.review.hunk_highlights').seen(buf)
    if overlay and left ~= overlay.left then
      overlay:draw_soon()
    end
  end
  redrawn = {}
end

---@param overlay tideate.Overlay
local function watch_columns(overlay)
  local first = next(watched) == nil
  watched[overlay.buf] = overlay
  if not first then
    return
  end
  api.nvim_set_decoration_provider(columns_ns, {
    on_win = function(_, _, buf)
      redrawn[buf] = watched[buf] and true
    end,
    on_end = compare,
  })
end

---@param overlay tideate.Overlay
local function unwatch_columns(overlay)
  watched[overlay.buf] = nil
  if next(watched) == nil then
    api.nvim_set_decoration_provider(columns_ns, {})
  end
end

---@param buf integer
---@param entry tideate.ReviewEntry
---@param on_change fun() the user changed the buffer, or a window moved
---@return tideate.Overlay
function M.attach(buf, entry, on_change)
  local self = setmetatable({
    buf = buf,
    entry = entry,
    marks = {},
    by_mark = {},
    merged = {},
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
  }, Overlay)
  self:anchor()
  self:watch()
  watch_columns(self)
  return self
end

--- Hold each hunk by an extmark. Hunks of another base text are located first.
function Overlay:anchor()
  api.nvim_buf_clear_namespace(self.buf, anchors, 0, -1)
  self.marks, self.by_mark, self.merged, self.signature, self.tick = {}, {}, {}, nil, nil
  local place = not self.fixed and require('tideate.ui.review.hunk_position').finder(self.buf, self.entry.file.before)
  for _, unit in ipairs(self.entry.units) do
    for index, hunk in ipairs(unit.hunks) do
      local row = self.creates and 0 or place and place(hunk) or hunk.start ---@type integer
      local mark = api.nvim_buf_set_extmark(self.buf, anchors, row, 0, { right_gravity = true })
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

--- Return the first row of a hunk, 0-based; the line count after the last line.
---@param hunk tideate.Hunk
---@return integer
function Overlay:row(hunk)
  local found = api.nvim_buf_get_extmark_by_id(self.buf, anchors, self.marks[hunk], {})
  return found[1] or 0
end

--- Return the rows of a unit in the buffer.
---@param unit tideate.ReviewUnit
---@return integer first, integer last 0-based, both included
function Overlay:range(unit)
  local hunk = unit.hunks[1]
  if not hunk or self.creates then
    return 0, math.max(0, api.nvim_buf_line_count(self.buf) - 1)
  end
  local first = self:row(hunk)
  local final = unit.hunks[#unit.hunks]
  return first, math.max(first, self:row(final) + #final.old - 1)
end

--- Return the hunks that overlap rows, and their first rows.
---@param first integer 0-based
---@param last integer
---@return { [1]: tideate.OverlayHunk, [2]: integer }[]
function Overlay:between(first, last)
  local found = {}
  local function add(mark)
    local one = self.by_mark[mark[1]]
    if one and mark[2] + math.max(#one.hunk.old, 1) > first then
      table.insert(found, { one, mark[2] })
    end
  end
  first = math.max(first, 0)
  if first > 0 then
    vim.iter(api.nvim_buf_get_extmarks(self.buf, anchors, { first - 1, -1 }, 0, { limit = 1 })):each(add)
  end
  vim.iter(api.nvim_buf_get_extmarks(self.buf, anchors, { first, 0 }, { math.max(first, last), -1 }, {})):each(add)
  return found
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
  if self.entry.whole then
    return nil
  end
  -- a mark after the last line counts from that line
  row = math.min(row, api.nvim_buf_line_count(self.buf) - 1)
  local from, to = step == 1 and { row + 1, 0 } or { row - 1, -1 }, step == 1 and -1 or 0
  local marks = (step == 1 or row > 0) and api.nvim_buf_get_extmarks(self.buf, anchors, from, to, { limit = 1 }) or {}
  local found = marks[1] and self.by_mark[marks[1][1]]
  return found and found.unit
end

--- Update which hunks the user changed.
function Overlay:check()
  local tick = api.nvim_buf_get_changedtick(self.buf)
  if self.fixed or self.tick == tick then
    return
  end
  self.tick, self.lines_now = tick, nil
  local place = require('tideate.ui.review.hunk_position')
  for _, unit in ipairs(self.entry.units) do
    unit.stale, unit.offer = false, nil
    for _, hunk in ipairs(unit.hunks) do
      unit.stale = unit.stale or not place.stands_at(self.buf, hunk, self:row(hunk))
    end
  end
end

--- Return the current lines of a stale unit; nil if they are ambiguous.
---@param unit tideate.ReviewUnit
---@return string[]?
function Overlay:present_lines(unit)
  self.lines_now = self.lines_now or require('tideate.ui.review.hunk_position').lines_now(self.buf, self.entry.file.before)
  return self.lines_now(unit.proposed[1])
end

--- Return a hunk merged with the user's edits of its lines, if possible. Only visible hunks and decided ones are merged:
--- typing must not wait for all.
---@param unit tideate.ReviewUnit
---@return tideate.Hunk?
function Overlay:offer(unit)
  self:check()
  local own = unit.own and not require('tideate.ui.review.alternatives').adapter(unit)
  if unit.offer or not (unit.stale and own) or self.entry.whole then
    return unit.offer
  end
  local now = self:present_lines(unit)
  if not now then
    return nil
  end
  unit.offer = self:merge(unit, now).offer
  return unit.offer
end

--- Merge a hunk with lines, unless they are the same as last time.
---@param unit tideate.ReviewUnit
---@param now string[]
---@return tideate.MergedUnit
function Overlay:merge(unit, now)
  local hunk, last = unit.hunks[1], self.merged[unit]
  if last and last.hunk == hunk and vim.deep_equal(last.now, now) then
    return last
  elseif last and last.offer then
    self.marks[last.offer] = nil
  end
  local merge = require('tideate.ui.review.merge')
  local made = { hunk = hunk, now = now, known = last and last.hunk == hunk and last.known or merge.base(hunk.old, hunk.new) }
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
        local state = require('tideate.ui.review.hunk_highlights').state(unit)
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
  local ranges, width, height, left = require('tideate.ui.review.hunk_highlights').seen(self.buf)
  local wanted, key = self:in_sight(self.hidden and {} or ranges)
  local signature = ('%d %d %d|%s'):format(width, height, left, table.concat(key, '|'))
  if signature == self.signature then
    return
  end
  self.signature, self.left, self.width = signature, left, width
  api.nvim_buf_clear_namespace(self.buf, drawn, 0, -1)
  if self.hidden then
    return
  elseif self.creates then
    self:draw_created(require('tideate.ui.review.hunk_highlights').state(self.entry.units[1]))
  elseif self.entry.file.action == 'delete' then
    self:draw_deleted(self.entry.units[1].state)
  elseif #self.entry.units[1].hunks == 0 then
    self:draw_file(self.entry.units[1])
  elseif self.has_side then
    for _, one in ipairs(wanted) do
      self:draw_beside(one[1], one[2], one[3])
    end
    return
  else
    for _, one in ipairs(wanted) do
      self:draw_hunk(one[1], one[2], width, height, one[3])
    end
  end
  -- last: of virtual lines above one line, later ones are higher
  self:draw_warnings(wanted, width)
end

--- Return the window rows of a unit: its lines, the new ones and the comment.
---@param unit tideate.ReviewUnit
---@return integer
function Overlay:height(unit)
  local first, last = self:range(unit)
  local hunk = unit.hunks[1]
  local virtual = #require('tideate.ui.questions.comment_texts').lines(unit.comment, self.width)
  if self.has_side then
    virtual = 0
  elseif hunk and not self.creates and unit.state ~= 'rejected' then
    local _, width, height = require('tideate.ui.review.hunk_highlights').seen(self.buf)
    local look = require('tideate.ui.review.hunk_highlights').look(unit.state, self.entry.written)
    virtual = virtual + math.min(#self:added(hunk, look.new, width), math.max(5, height - 4))
  end
  if hunk and #hunk.old == 0 and not self.creates then
    return virtual + 1
  end
  last = math.min(last, api.nvim_buf_line_count(self.buf) - 1)
  return api.nvim_win_text_height(0, { start_row = math.min(first, last), end_row = last }).all + virtual
end

---@param hunk tideate.Hunk
---@param base string
---@param width integer
---@return tideate.Chunk[][]
function Overlay:added(hunk, base, width)
  local cached = self.virtual[hunk]
  if not cached or cached.width ~= width or cached.base ~= base then
    local words = cached and cached.words or require('tideate.ui.review.words').of(hunk)
    if not cached then
      self.kept = self.kept + 1
    end
    cached = {
      width = width,
      base = base,
      words = words,
      lines = require('tideate.ui.review.syntax').virtual(hunk.new, {
        filetype = require('tideate.ui.review.scratch_buffer').filetype(self.entry.file),
        width = width,
        tabstop = vim.bo[self.buf].tabstop,
        base = base,
        words = base == 'TideateAdd' and words.new or {},
      }),
    }
    if self.kept > MOST_KEPT then
      self.virtual, self.kept = {}, 1
    end
    self.virtual[hunk] = cached
  end
  return cached.lines
end

--- Highlight the replaced words of lines in the buffer.
---@param hunk tideate.Hunk
---@param row integer
---@param base string
---@param width integer
function Overlay:draw_words(hunk, row, base, width)
  self:added(hunk, base, width)
  local plain = require('tideate.ui.text').plain
  for index, spans in pairs(self.virtual[hunk].words.old) do
    local line = hunk.old[index]
    for _, span in ipairs(plain(line) == line and spans or {}) do
      api.nvim_buf_set_extmark(self.buf, drawn, row + index - 1, span[1], {
        end_col = span[2],
        hl_group = 'TideateDeleteText',
        priority = 201,
        strict = false,
      })
    end
  end
end

---@param row integer
---@param options table<string, any>
function Overlay:mark(row, options)
  options.strict = false
  api.nvim_buf_set_extmark(self.buf, drawn, row, 0, options)
end

---@param hunk tideate.Hunk
---@param row integer
---@param lines tideate.Chunk[][]
function Overlay:draw_added(hunk, row, lines)
  local below = row + #hunk.old - 1
  if below < 0 then
    self:mark(0, { virt_lines = lines, virt_lines_above = true, virt_lines_leftcol = true })
  else
    below = math.min(below, api.nvim_buf_line_count(self.buf) - 1)
    self:mark(below, { virt_lines = lines, virt_lines_leftcol = true })
  end
end

--- Highlight lines of the buffer.
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

---@param unit_state string look of the hunk
function Overlay:draw_created(unit_state)
  self:draw_comment_of_file()
  local look = require('tideate.ui.review.hunk_highlights').look(unit_state, self.entry.written)
  local last = api.nvim_buf_line_count(self.buf) - 1
  self:draw_lines(0, last, look.new and 'TideateAdd' or 'TideateOut', '+', 'TideateAddSign')
  if look.label then
    self:mark(0, { virt_text = { { ' ' .. look.label, look.group } } })
  end
end

--- Draw the comment on a whole file below its first line.
function Overlay:draw_comment_of_file()
  local lines = require('tideate.ui.questions.comment_texts').lines(self.entry.units[1].comment, self.width)
  if #lines > 0 then
    self:mark(0, { virt_lines = lines })
  end
end

---@param state string look of the hunk
function Overlay:draw_deleted(state)
  self:draw_comment_of_file()
  local look = require('tideate.ui.review.hunk_highlights').look(state, self.entry.written)
  self:draw_lines(0, api.nvim_buf_line_count(self.buf) - 1, look.old, look.sign, 'TideateDeleteSign')
  if look.label then
    self:mark(0, { virt_text = { { ' ' .. look.label, look.group } } })
  end
end

--- Draw a change without lines: a move, a binary file, a mode.
---@param unit tideate.ReviewUnit
function Overlay:draw_file(unit)
  self:draw_comment_of_file()
  local look = require('tideate.ui.review.hunk_highlights').look(unit.state, self.entry.written)
  if look.label then
    self:mark(0, { virt_text = { { ' ' .. look.label, look.group } } })
  end
end

--- Draw decision and signs of a hunk in a side-by-side view; Neovim's diff colours the lines.
---@param hunk tideate.Hunk
---@param state string look of the hunk
---@param comment tideate.ReviewComment?
function Overlay:draw_beside(hunk, state, comment)
  local look = require('tideate.ui.review.hunk_highlights').look(state, self.entry.written)
  local row, last = self:row(hunk), api.nvim_buf_line_count(self.buf) - 1
  self:draw_lines(row, math.min(row + #hunk.old - 1, last), '', look.sign, 'TideateDeleteSign')
  -- keeps the sign column open, so that both sides align
  self:mark(math.min(row, last), { sign_text = '  ', priority = 1 })
  local chunks = { look.label and { ' ' .. look.label, look.group } } ---@type tideate.Chunk[]
  if comment then
    local words = require('tideate.ui.text').plain(comment.text)
    table.insert(chunks, { ' » ' .. words, 'TideateComment' })
  end
  if #chunks > 0 then
    self:mark(math.min(row, last), { virt_text = chunks })
  end
end

---@param hunk tideate.Hunk
---@param state string look of the hunk
---@param width integer
---@param height integer
---@param comment tideate.ReviewComment?
function Overlay:draw_hunk(hunk, state, width, height, comment)
  local look = require('tideate.ui.review.hunk_highlights').look(state, self.entry.written)
  local row = self:row(hunk)
  local last = api.nvim_buf_line_count(self.buf) - 1
  self:draw_lines(row, math.min(row + #hunk.old - 1, last), look.old, look.sign, 'TideateDeleteSign')
  local lines = {} ---@type tideate.Chunk[][]
  if look.new and state == 'open' then
    self:draw_words(hunk, row, look.new, width)
  end
  if look.new then
    local looks = require('tideate.ui.review.hunk_highlights')
    lines = looks.with_sign(looks.visible_part(self:added(hunk, look.new, width), height), '+', self.left)
    -- keeps the sign column open without deleted lines
    self:mark(math.min(row, last), { sign_text = '  ', priority = 1 })
  end
  if look.label and #hunk.old > 0 then
    self:mark(math.min(row, last), { virt_text = { { ' ' .. look.label, look.group } } })
  elseif look.label then
    local label = { { { look.label, look.group } } }
    table.insert(lines, 1, require('tideate.ui.review.hunk_highlights').with_sign(label, ' ', self.left)[1])
  end
  local looks = require('tideate.ui.review.hunk_highlights')
  vim.list_extend(lines, looks.with_sign(require('tideate.ui.questions.comment_texts').lines(comment, width), ' ', self.left))
  if #lines > 0 then
    self:draw_added(hunk, row, lines)
  end
end

---@param width integer
---@return tideate.Chunk[][]
function Overlay:warning_lines(width)
  local reason = self.entry.danger
  return reason and require('tideate.ui.questions.executed_files').above(reason, width) or {}
end

--- Return the number of virtual lines above the first line of the buffer.
---@param row integer of the hunk
---@param hunk tideate.Hunk?
---@return integer
function Overlay:lines_above(row, hunk)
  if row ~= 0 then
    return 0
  end
  local _, width = require('tideate.ui.review.hunk_highlights').seen(self.buf)
  local added = hunk and not self.creates and #hunk.old == 0 and #hunk.new or 0
  return #self:warning_lines(width) + added
end

--- Warn above each visible hunk; above the first line if the file has none.
---@param hunks { [1]: tideate.Hunk, [2]: string }[]
---@param width integer
function Overlay:draw_warnings(hunks, width)
  local lines = self:warning_lines(width)
  local last = api.nvim_buf_line_count(self.buf) - 1
  local rows = {} ---@type table<integer, boolean>
  for _, one in ipairs(hunks) do
    rows[self.creates and 0 or math.min(self:row(one[1]), last)] = true
  end
  if not next(rows) and #self.entry.units == 1 and #self.entry.units[1].hunks == 0 then
    rows[0] = true -- only moved
  end
  for row in pairs(#lines > 0 and rows or {}) do
    api.nvim_buf_set_extmark(self.buf, drawn, row, 0, {
      virt_lines = lines,
      virt_lines_above = true,
      virt_lines_leftcol = true,
      strict = false,
    })
  end
end

--- Set whether the proposal has its own window: then it is not drawn here.
---@param has_side boolean
function Overlay:beside(has_side)
  self.has_side, self.signature = has_side, nil
  self:draw()
end

function Overlay:close()
  self.closed = true
  unwatch_columns(self)
  if api.nvim_buf_is_valid(self.buf) then
    api.nvim_buf_clear_namespace(self.buf, anchors, 0, -1)
    api.nvim_buf_clear_namespace(self.buf, drawn, 0, -1)
  end
end

return M
