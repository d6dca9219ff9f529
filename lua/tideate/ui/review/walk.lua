--- Movement between the hunks and files of a review.
local M = {}

local api = vim.api
local ui = require('tideate.ui')
local buffers = require('tideate.ui.review.buffers')

---@param review tideate.Review
---@return tideate.ReviewFileList|tideate.ReviewSideView|tideate.Overlay view part of the review with the cursor
local function view(review)
  if review.files:focused() then
    return review.files
  end
  return review.side:focused() and review.side or review.buffers[review.current].overlay
end

---@return integer 0-based
local function row()
  return api.nvim_win_get_cursor(0)[1] - 1
end

--- Return the hunk under the cursor; nil in the list of files.
---@param review tideate.Review
---@return tideate.ReviewUnit?
function M.unit(review)
  return view(review):unit_at(row())
end

--- Return the hunk under the cursor for a prompt. Without one, notify the user and discard typed-ahead keys, which were
--- meant for the prompt.
---@param review tideate.Review
---@return tideate.ReviewUnit?
function M.unit_to_write_about(review)
  local unit = M.unit(review)
  if not unit then
    require('tideate.ui.typing').drop_typed_ahead()
    local way = review.files:focused() and '<CR> goes to the file' or ']c goes to the next one'
    ui.warn('no hunk under the cursor: ' .. way)
  end
  return unit
end

--- Return the hunks in rows of the current window.
---@param review tideate.Review
---@param first integer 0-based
---@param last integer
---@return tideate.ReviewUnit[]
function M.units_between(review, first, last)
  return view(review):units_between(first, last)
end

---@param review tideate.Review
---@param index integer
function M.go_to_file(review, index)
  local side, window = review.side, require('tideate.ui.window')
  side:check()
  local beside = side:focused()
  if side.index ~= index then
    side:hide()
  end
  local made = buffers.get(review, index)
  local win = review.windows:show(made.buf)
  if made.scratch then
    window.options(win, require('tideate.ui.review.scratch_buffer').OPTIONS)
  end
  api.nvim_set_current_win(win)
  review.current = index
  buffers.forget_hidden(review)
  side:show(index, win)
  if beside and side:visible() then
    api.nvim_set_current_win(side.win)
  end
  review:draw()
end

--- Return the window rows between two lines, including virtual lines.
---@param first integer 0-based
---@param last integer exclusive
---@return integer
local function rows_between(first, last)
  return last <= first and 0 or api.nvim_win_text_height(0, { start_row = first, end_row = last - 1 }).all
end

--- Put the cursor of the current window on a hunk and scroll its lines into view.
---@param review tideate.Review
---@param unit tideate.ReviewUnit
local function scroll_to(review, unit)
  local overlay = review.buffers[review.current].overlay
  local at = math.min((overlay:range(unit)), api.nvim_buf_line_count(0) - 1)
  vim.cmd("normal! m'")
  api.nvim_win_set_cursor(0, { at + 1, 0 })
  vim.cmd('normal! zv')
  review:draw()
  local height = api.nvim_win_get_height(0) - vim.fn.getwininfo(api.nvim_get_current_win())[1].winbar
  local above = overlay:lines_above(at, unit.hunks[1])
  if above > 0 then
    -- lines above the first one are only visible as filler
    vim.fn.winrestview({ topline = 1, topfill = math.min(above, height - 2) })
    return
  end
  local size = overlay:height(unit)
  if rows_between(vim.fn.line('w0') - 1, at) + size > height then
    local most, top = math.max(0, math.min(math.floor(height / 5), height - size)), at
    while top > 0 and rows_between(top - 1, at) <= most do
      top = top - 1
    end
    vim.fn.winrestview({ topline = top + 1 })
    review:draw() -- other hunks are visible now
  end
end

--- Go to a hunk of the current file.
---@param review tideate.Review
---@param unit tideate.ReviewUnit
function M.go_to_unit(review, unit)
  local from = api.nvim_get_current_win()
  if review.side:focused() then
    api.nvim_set_current_win(review.side.left)
  end
  scroll_to(review, unit)
  review.side:follow(unit)
  api.nvim_set_current_win(from)
end

--- Go to a hunk in any file.
---@param review tideate.Review
---@param unit tideate.ReviewUnit
function M.go_to(review, unit)
  if review.files:focused() then
    return review.files:go_to(unit.entry.index)
  end
  M.go_to_file(review, unit.entry.index)
  M.go_to_unit(review, unit)
end

--- Return the first open hunk of a file, from a number on and around.
---@param entry tideate.ReviewEntry
---@param from integer
---@return tideate.ReviewUnit?
local function first_open(entry, from)
  for step = 0, entry.count.open > 0 and #entry.units - 1 or -1 do
    local unit = entry.units[(from - 1 + step) % #entry.units + 1]
    if unit.state == 'open' then
      return unit
    end
  end
end

--- Go to the first open hunk of the current file, or the first one.
---@param review tideate.Review
function M.go_to_first(review)
  local entry = review.model.entries[review.current]
  M.go_to_unit(review, first_open(entry, 1) or entry.units[1])
end

---@param review tideate.Review
---@param index integer
function M.enter_file(review, index)
  M.go_to_file(review, index)
  M.go_to_first(review)
end

---@param review tideate.Review
---@param step 1|-1
function M.step_file(review, step)
  M.enter_file(review, (review.current - 1 + step) % #review.model.entries + 1)
end

--- Go to the next or previous hunk of the file.
---@param review tideate.Review
---@param step 1|-1
function M.step(review, step)
  local unit = view(review):beyond(row(), step)
  if unit then
    return M.go_to_unit(review, unit)
  end
  ui.notify(step == 1 and 'no hunk below' or 'no hunk above')
end

--- Tell the user that everything is decided and which key finishes.
---@param review tideate.Review
function M.say_decided(review)
  local model, decided = review.model, #review.history.past > 0
  local said = model:said()
  local why = 'all is decided'
  if model.revision > 1 and not decided then
    why = ('revision %d brings nothing to decide'):format(model.revision)
  end
  local doing = said == 0 and 'finishes' or 'sends ' .. require('tideate.ui.text').counted(said, 'comment')
  ui.notify(('%s: g<CR> %s%s'):format(why, doing, decided and ', gu undoes' or ''))
end

--- Go to the next open hunk. The last decision can be undone, so it finishes no review, except that of an `edit` after
--- an accepted hunk or a reason.
---@param review tideate.Review
function M.advance(review)
  review:draw()
  local model, files = review.model, review.files
  local index = model:next_open(review.current)
  if not index and review.in_place and (model.counts.accepted > 0 or model:said() > 0) then
    return require('tideate.ui.review.decisions').finish(review)
  elseif not index then
    return M.say_decided(review)
  elseif files:focused() then
    return files:go_to(assert(model:next_open(files:index())))
  elseif index ~= review.current then
    return M.enter_file(review, index)
  end
  local from = M.unit(review) or view(review):beyond(row(), 1)
  M.go_to_unit(review, assert(first_open(model.entries[index], from and from.number or 1)))
end

--- Select the lines of the hunk under the cursor.
---@param review tideate.Review
---@param around boolean include the blank lines below
function M.select_hunk(review, around)
  local unit = M.unit(review)
  local first, last ---@type integer?, integer?
  if unit and (review.side:focused() or unit.entry.whole or #unit.hunks[1].old > 0) then
    first, last = view(review):range(unit)
  end
  if api.nvim_get_mode().mode:find('^[vV\22]') then
    vim.cmd.normal({ '\27', bang = true })
  end
  if not first or not last then
    return ui.notify(unit and 'this hunk has no lines here' or 'no hunk under the cursor')
  end
  while around and vim.fn.getline(last + 2):find('^%s*$') and last + 1 < vim.fn.line('$') do
    last = last + 1
  end
  vim.cmd.normal({ ('%dGV%dG'):format(first + 1, last + 1), bang = true })
end

return M
