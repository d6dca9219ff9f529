--- Drawing of hunks over a buffer: highlights of its lines, virtual lines for the new ones.

local api = vim.api

---@class tideate.OverlayDrawing: tideate.Overlay
local Drawing = {}

local drawn = api.nvim_create_namespace('tideate.review')

local MOST_SIGNS = 1000 -- per hunk
local MOST_KEPT = 200 -- hunks with cached lines

---@class tideate.VirtualHunk
---@field width integer
---@field base string
---@field words tideate.ReviewWords
---@field lines tideate.Chunk[][]

--- Return the window rows of a unit: its lines, the new ones and the comment.
---@param unit tideate.ReviewUnit
---@return integer
function Drawing:height(unit)
  local first, last = self:range(unit)
  local hunk = unit.hunks[1]
  local virtual = #require('tideate.ui.review.comments').lines(unit.comment, self.width)
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
function Drawing:added(hunk, base, width)
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
function Drawing:draw_words(hunk, row, base, width)
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
function Drawing:mark(row, options)
  options.strict = false
  api.nvim_buf_set_extmark(self.buf, drawn, row, 0, options)
end

---@param hunk tideate.Hunk
---@param row integer
---@param lines tideate.Chunk[][]
function Drawing:draw_added(hunk, row, lines)
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
function Drawing:draw_lines(first, last, group, sign, sign_group)
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
function Drawing:draw_created(unit_state)
  self:draw_comment_of_file()
  local look = require('tideate.ui.review.hunk_highlights').look(unit_state, self.entry.written)
  local last = api.nvim_buf_line_count(self.buf) - 1
  self:draw_lines(0, last, look.new and 'TideateAdd' or 'TideateOut', '+', 'TideateAddSign')
  if look.label then
    self:mark(0, { virt_text = { { ' ' .. look.label, look.group } } })
  end
end

--- Draw the comment on a whole file below its first line.
function Drawing:draw_comment_of_file()
  local lines = require('tideate.ui.review.comments').lines(self.entry.units[1].comment, self.width)
  if #lines > 0 then
    self:mark(0, { virt_lines = lines })
  end
end

---@param state string look of the hunk
function Drawing:draw_deleted(state)
  self:draw_comment_of_file()
  local look = require('tideate.ui.review.hunk_highlights').look(state, self.entry.written)
  self:draw_lines(0, api.nvim_buf_line_count(self.buf) - 1, look.old, look.sign, 'TideateDeleteSign')
  if look.label then
    self:mark(0, { virt_text = { { ' ' .. look.label, look.group } } })
  end
end

--- Draw a change without lines: a move, a binary file, a mode.
---@param unit tideate.ReviewUnit
function Drawing:draw_file(unit)
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
function Drawing:draw_beside(hunk, state, comment)
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
function Drawing:draw_hunk(hunk, state, width, height, comment)
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
  vim.list_extend(lines, looks.with_sign(require('tideate.ui.review.comments').lines(comment, width), ' ', self.left))
  if #lines > 0 then
    self:draw_added(hunk, row, lines)
  end
end

return Drawing
