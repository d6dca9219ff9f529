--- Keys of a review, and the bar that shows them.
local M = {}

local COMMENTS = { gb = true, gB = true, gs = true, gS = true } -- only if the model can revise
local WIDE = 110 -- columns; a narrower bar says less

--- Return the keys, the same in each window. In a file's buffer single keys belong to the user: all but `q` have two
--- characters, and none replaces an editing command.
---@param review tideate.Review
---@return tideate.Key[]
function M.keys(review)
  local revisable, compared, words = review.model.revisable, review.model.compared, review.model:words()
  local several = #review.model.entries > 1
  ---@type { [1]: string, [2]: string?, [3]: string, [4]: string, [5]: any, [6]: string[]? }[] key, word, help, method and its argument, modes
  local rows = {
    { 'ga', words.accept, words.accept .. ' the hunk', 'decide', 'accepted' },
    { 'gr', words.reject, words.reject .. ' the hunk', 'decide', 'rejected' },
    { 'gb', revisable and 'because' or nil, 'reject the hunk with a reason of one line, which the model gets when you finish', 'reject_because', false },
    { 'gB', nil, 'reject the hunk with a reason of several lines', 'reject_because', true },
    { 'gs', nil, 'comment on the hunk for the model, with or without a decision', 'comment_on_hunk' },
    { 'gS', nil, 'comment on the whole change', 'comment_on_all' },
    { 'gm', 'mix', 'replace the hunk with that of the next model; after the last comes the first', 'mix' },
    { 'go', nil, 'reset the decision on the hunk', 'reopen_hunk' },
    { 'gfa', nil, words.accept .. ' the open hunks of this file', 'decide_file', 'accepted' },
    { 'gfr', nil, words.reject .. ' the open hunks of this file', 'decide_file', 'rejected' },
    { 'gfo', nil, 'reset the decisions on this file', 'decide_file', 'open' },
    { 'ga', nil, ('in visual mode: %s the open hunks in these lines'):format(words.accept), 'decide_selection', 'accepted', { 'x' } },
    { 'gr', nil, ('in visual mode: %s the open hunks in these lines'):format(words.reject), 'decide_selection', 'rejected', { 'x' } },
    { 'go', nil, 'in visual mode: reset the decisions in these lines', 'decide_selection', 'open', { 'x' } },
    { 'ih', nil, 'text object: the lines of the hunk', 'select_hunk', false, { 'x', 'o' } },
    { 'ah', nil, 'text object: the hunk with the blank lines below it', 'select_hunk', true, { 'x', 'o' } },
    { 'gA', words.accept .. ' all', words.accept .. ' all open hunks', 'decide_all', 'accepted' },
    { 'gR', words.reject .. ' all', words.reject .. ' all open hunks', 'decide_all', 'rejected' },
    { 'gO', nil, 'reset all decisions', 'decide_all', 'open' },
    { 'ge', 'edit', 'edit the new lines of the hunk in their own buffer: :w accepts them, :q discards the edit', 'edit_hunk' },
    { ']c', 'next', 'next hunk', 'step', 1 },
    { '[c', nil, 'previous hunk', 'step', -1 },
    { ']f', several and 'file' or nil, 'next file', 'step_file', 1 },
    { '[f', nil, 'previous file', 'step_file', -1 },
    { 'gu', nil, 'undo the last decision or comment, also the one that finished the review', 'travel', 'past' },
    { 'gU', nil, 'redo the decision or comment', 'travel', 'future' },
    { 'gp', 'beside', 'switch between side by side and inline (gd is still: go to declaration)', 'toggle', 'side' },
    { 'gl', several and 'list' or nil, 'go to the list of files; in the list: hide it', 'toggle', 'files' },
    { 'gh', nil, 'hide or show the changes', 'toggle' },
    { 'g<CR>', 'finish', words.finish, 'finish' },
    { 'gX', nil, words.decline, 'ask_to_decline' },
    { 'q', 'leave', 'close the review: its decisions are stored, and `:Workflow review` opens it again', 'leave' },
    { 'g?', 'help', 'this help', 'help' },
  }
  rows = vim.tbl_filter(function(row)
    local wanted = (revisable or not COMMENTS[row[1]]) and (compared or row[1] ~= 'gm')
    return wanted and not (review.model.written and row[1] == 'ge')
  end, rows)
  return vim.tbl_map(function(row)
    local key = require('tideate.ui.keys').key(row[1], row[2], row[3], function()
      review[row[4]](review, row[5])
    end)
    key.modes = row[6]
    return key
  end, rows)
end

--- Return the words of the bar, the next action first.
---@param review tideate.Review
---@return { [1]: string, [2]: string }[]
local function bar_words(review)
  local keys = M.keys(review)
  if review.model:next_open(1) then
    return require('tideate.ui.keys').words(keys)
  end
  local first, rest = {}, {}
  for _, key in ipairs(keys) do
    local what = key.lhs[1]
    if what == 'g<CR>' then
      table.insert(first, 1, key)
    elseif what == 'gu' then
      table.insert(first, vim.tbl_extend('force', key, { word = 'undo' }))
    else
      table.insert(rest, key)
    end
  end
  return require('tideate.ui.keys').words(vim.list_extend(first, rest))
end

--- Shorten a path; its end stays readable.
---@param path string
---@param width integer
---@return string
function M.short(path, width)
  local text = require('tideate.ui.text')
  local size = vim.fn.strchars(path)
  while size > 1 and text.width({ { path } }) > math.max(width, 8) do
    size = size - 1
    path = '…' .. vim.fn.strcharpart(path, vim.fn.strchars(path) - size + 1)
  end
  return path
end

--- Describe an action on a whole file.
---@param file tideate.ReviewFile
---@return string
function M.kind(file)
  local words = { file.action ~= 'modify' and file.action or nil }
  table.insert(words, file.note)
  return table.concat(words, ' · ')
end

--- Return a file's name, and its new name if it is moved.
---@param file tideate.ReviewFile
---@return string
function M.name(file)
  local named = require('tideate.ui.text').name
  local name = file.path ~= '' and named(file.path) or file.action == 'create' and 'new buffer' or 'buffer'
  return file.move_to and name .. ' → ' .. named(file.move_to) or name
end

---@param review tideate.Review
---@param index integer
---@param win integer
---@param wide boolean
---@param brief boolean without the hunk's number
---@return string
local function numbers(review, index, win, wide, brief)
  local entry = review.model.entries[index]
  local parts = {}
  if #review.model.entries > 1 then
    table.insert(parts, ('file %d/%d'):format(index, #review.model.entries))
  end
  if entry.file.action ~= 'modify' or entry.file.note then
    table.insert(parts, M.kind(entry.file))
  end
  if not entry.whole and not brief and win == vim.api.nvim_get_current_win() and index == review.current then
    local unit = review:unit_at_cursor()
    table.insert(parts, unit and ('hunk %d/%d'):format(unit.number, #entry.units) or nil)
    local adapter = unit and require('tideate.ui.review.alternatives').adapter(unit)
    table.insert(parts, adapter and ("from '%s'"):format(require('tideate.ui.text').name(adapter)) or nil)
  end
  if review.model.revision > 1 then
    table.insert(parts, ('revision %d'):format(review.model.revision))
  end
  local summary = wide and review.model:summary() or ('%d open'):format(review.model:count().open)
  table.insert(parts, summary)
  local made = review.buffers[index]
  if made and made.overlay.hidden then
    table.insert(parts, 'hidden')
  end
  return ' · ' .. table.concat(parts, ' · ') .. ' '
end

---@param review tideate.Review
---@param index integer
---@param win integer
---@param width integer
---@return tideate.Chunk[]
local function place(review, index, win, width)
  local entry = review.model.entries[index]
  local file = entry.file
  local wide = width >= WIDE
  local rest = { { numbers(review, index, win, wide, false), 'TideateHint' } } ---@type tideate.Chunk[]
  if review.question.payload.demonstration == true then
    table.insert(rest, { wide and '· demonstration model ' or '· demo ', 'TideateWarning' })
  end
  if entry.danger then
    local executed = require('tideate.ui.questions.executed_files')
    table.insert(rest, 1, { ' ' .. executed.MARK, executed.GROUP })
  end
  local name = M.name(file)
  local text, numbered = require('tideate.ui.text'), entry.danger and 2 or 1
  if text.width(rest) + vim.fn.strdisplaywidth(name) + 2 > width then
    rest[numbered][1] = numbers(review, index, win, wide, true) -- the name and the open hunks matter more
  end
  local room = width - text.width(rest) - 2
  local chunks = { { entry.sign[1] .. ' ', entry.sign[2] }, { M.short(name, room), 'TideatePath' } }
  return vim.list_extend(chunks, rest)
end

--- Return the bar of a window; only the current one has colours and keys.
---@param review tideate.Review
---@param index integer
---@param win integer
---@return string bar, boolean active
function M.bar(review, index, win)
  local text = require('tideate.ui.text')
  local total = vim.api.nvim_win_get_width(win) - #' review '
  if not review.active then
    local chunks = place(review, index, win, total)
    table.insert(chunks, { '· press <Esc>, or :Workflow', 'TideateHint' })
    return text.bar(text.fit_chunks(chunks, total)), true
  elseif win ~= vim.api.nvim_get_current_win() then
    local chunks = { win == review.side.win and { 'proposal · ' } or nil } ---@type tideate.Chunk[]
    chunks = text.fit_chunks(vim.list_extend(chunks, place(review, index, win, total)), total)
    return text.bar(vim.tbl_map(function(chunk)
      return { chunk[1], 'TideateOut' }
    end, chunks)),
      false
  end
  local words = bar_words(review)
  local help = text.keys({ table.remove(words) })
  local least = text.keys(vim.list_slice(words, 1, 2))
  local room = math.max(10, total - text.width(least) - text.width(help))
  local chunks = text.fit_chunks(place(review, index, win, total >= WIDE and total or room), room)
  if not review.guard:ready() then
    return text.bar(chunks) .. '%=' .. text.bar({ require('tideate.ui.questions.key_guard').HINT }), true
  end
  local shown = text.keys(words, total - text.width(chunks) - text.width(help))
  return text.bar(chunks) .. '%=' .. text.bar(vim.list_extend(shown, help)), true
end

return M
