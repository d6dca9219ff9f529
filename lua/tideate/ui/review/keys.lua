--- Keys of a review, and the bar that shows them.
local M = {}

local alternatives = require('tideate.ui.review.alternatives')
local decisions = require('tideate.ui.review.decisions')
local executed_files = require('tideate.ui.questions.executed_files')
local hunk_texts = require('tideate.ui.review.hunk_texts')
local model = require('tideate.ui.review.model')
local text = require('tideate.ui.text')
local ui_keys = require('tideate.ui.keys')
local walk = require('tideate.ui.review.walk')

local COMMENTS = { gb = true, gB = true, gs = true, gS = true } -- only if the model can revise
local WIDE = 110 -- columns; a narrower bar says less

--- Return a function that calls a method of a part of the review.
---@param method string
---@param part? 'files'|'side'|'checking'
---@return fun(review: tideate.Review)
local function call(method, part)
  return function(review)
    local it = part and review[part] or review
    it[method](it)
  end
end

---@param review tideate.Review
local function help(review)
  local files = review.files
  ui_keys.help('review', files:focused() and files:keys() or review:keys())
end

--- Return the keys, the same in each window. In a file's buffer single keys belong to the user: all but `q` have two
--- characters, and none replaces an editing command. `<CR>` decides only about an edit, and only in its hunks.
---@param review tideate.Review
---@return tideate.Key[]
function M.keys(review)
  local hears, compared, words = review.model:hears(), review.model.compared, review.model:words()
  local several = #review.model.entries > 1
  local in_lines = 'in visual mode: %s the open hunks in these lines'
  ---@type { [1]: string, [2]: string?, [3]: string, [4]: fun(review: tideate.Review, argument: any), [5]: any, [6]: string[]? }[] key, word, help, function and its argument, modes
  local rows = {
    { '<CR>', 'keep', 'in a hunk of an `edit`: ' .. words.accept .. ' all open hunks and finish', decisions.keep },
    { 'ga', words.accept, words.accept .. ' the hunk', decisions.decide, 'accepted' },
    { 'gr', words.reject, words.reject .. ' the hunk', decisions.decide, 'rejected' },
    { 'gb', hears and 'because' or nil, 'reject the hunk with a reason of one line, which the model gets when you finish', hunk_texts.reject_because, false },
    { 'gB', nil, 'reject the hunk with a reason of several lines', hunk_texts.reject_because, true },
    { 'gs', nil, 'comment on the hunk for the model, with or without a decision', hunk_texts.comment_on_hunk },
    { 'gS', nil, 'comment on the whole change', hunk_texts.comment_on_all },
    { 'gm', 'mix', 'replace the hunk with that of the next model; after the last comes the first', decisions.mix },
    { 'go', nil, 'reset the decision on the hunk', decisions.reopen },
    { 'gfa', nil, words.accept .. ' the open hunks of this file', decisions.decide_file, 'accepted' },
    { 'gfr', nil, words.reject .. ' the open hunks of this file', decisions.decide_file, 'rejected' },
    { 'gfo', nil, 'reset the decisions on this file', decisions.decide_file, 'open' },
    { 'ga', nil, in_lines:format(words.accept), decisions.decide_selection, 'accepted', { 'x' } },
    { 'gr', nil, in_lines:format(words.reject), decisions.decide_selection, 'rejected', { 'x' } },
    { 'go', nil, 'in visual mode: reset the decisions in these lines', decisions.decide_selection, 'open', { 'x' } },
    { 'ih', nil, 'text object: the lines of the hunk', walk.select_hunk, false, { 'x', 'o' } },
    { 'ah', nil, 'text object: the hunk with the blank lines below it', walk.select_hunk, true, { 'x', 'o' } },
    { 'gA', words.accept .. ' all', words.accept .. ' all open hunks', decisions.decide_all, 'accepted' },
    { 'gR', words.reject .. ' all', words.reject .. ' all open hunks', decisions.decide_all, 'rejected' },
    { 'gO', nil, 'reset all decisions', decisions.decide_all, 'open' },
    { 'ge', 'edit', 'edit the new lines of the hunk in their own buffer: :w accepts them, :q discards the edit', hunk_texts.edit_hunk },
    { ']c', 'next', 'next hunk', walk.step, 1 },
    { '[c', nil, 'previous hunk', walk.step, -1 },
    { ']f', several and 'file' or nil, 'next file', walk.step_file, 1 },
    { '[f', nil, 'previous file', walk.step_file, -1 },
    { 'gu', nil, 'undo the last decision or comment, also the one that finished the review', decisions.travel, 'past' },
    { 'gU', nil, 'redo the decision or comment', decisions.travel, 'future' },
    { 'gp', 'beside', 'switch between side by side and inline (gd is still: go to declaration)', call('toggle', 'side') },
    { 'gl', several and 'list' or nil, 'go to the list of files; in the list: hide it', call('toggle', 'files') },
    { 'gh', nil, 'hide or show the changes', call('toggle') },
    { 'gc', nil, 'run a check of the project on the accepted hunks, in a scratch copy', call('run', 'checking') },
    { 'g<CR>', 'finish', words.finish, decisions.finish },
    { 'gX', nil, words.decline, decisions.ask_to_decline },
    { 'q', 'leave', 'close the review: its decisions are stored, and `:Workflow review` opens it again', call('leave') },
    { 'g?', 'help', 'this help', help },
  }
  rows = vim.tbl_filter(function(row)
    local wanted = (hears or not COMMENTS[row[1]]) and (compared or row[1] ~= 'gm')
    wanted = wanted and (review.model.collects or row[1] ~= 'gc')
    wanted = wanted and (review.in_place or row[1] ~= '<CR>')
    return wanted and not (review.model.written and row[1] == 'ge')
  end, rows)
  return vim.tbl_map(function(row)
    local key = ui_keys.key(row[1], row[2], row[3], function()
      row[4](review, row[5])
    end)
    key.modes = row[6]
    return key
  end, rows)
end

--- Return the words of the bar, the next action first.
---@param review tideate.Review
---@return { [1]: string, [2]: string }[]
local function bar_words(review)
  local words = ui_keys.words(review:keys())
  if not review.model:next_open(1) then
    local finish = vim.iter(words):find(function(word)
      return word[1] == 'g<CR>'
    end)
    words = vim.tbl_filter(function(word)
      return word ~= finish
    end, words)
    table.insert(words, 1, finish)
    table.insert(words, 2, { 'gu', 'undo' })
  end
  return words
end

--- Return the numbers behind a file's name.
---@param review tideate.Review
---@param index integer
---@param win integer
---@param wide boolean
---@param brief boolean without the hunk's number
---@return string
local function numbers(review, index, win, wide, brief)
  local entries = review.model.entries
  local entry, parts = entries[index], {}
  if #entries > 1 then
    table.insert(parts, ('file %d/%d'):format(index, #entries))
  end
  table.insert(parts, entry.file.action ~= 'modify' and entry.file.action or nil)
  table.insert(parts, entry.file.note)
  vim.list_extend(parts, entry.file.marks or {})
  table.insert(parts, review.checking:words(index))
  if not entry.whole and not brief and win == vim.api.nvim_get_current_win() and index == review.current then
    local unit = walk.unit(review)
    local adapter = unit and alternatives.adapter(unit)
    table.insert(parts, unit and ('hunk %d/%d'):format(unit.number, #entry.units) or nil)
    table.insert(parts, unit and unit.conflict and 'conflict' or nil)
    table.insert(parts, adapter and ("from '%s'"):format(text.name(adapter)) or nil)
  end
  if review.model.revision > 1 then
    table.insert(parts, ('revision %d'):format(review.model.revision))
  end
  table.insert(parts, wide and review.model:summary() or ('%d open'):format(review.model.counts.open))
  table.insert(parts, review.hidden and 'hidden' or nil)
  return ' · ' .. table.concat(parts, ' · ') .. ' '
end

---@param review tideate.Review
---@param index integer
---@param win integer
---@param width integer
---@return tideate.Chunk[]
local function place(review, index, win, width)
  local entry, wide = review.model.entries[index], width >= WIDE
  local counted = { numbers(review, index, win, wide, false), 'TideateHint' }
  local rest = { counted } ---@type tideate.Chunk[]
  if entry.danger then
    table.insert(rest, 1, { ' ' .. executed_files.MARK, executed_files.GROUP })
  end
  if review.question.payload.demonstration == true then
    table.insert(rest, { wide and '· demonstration model ' or '· demo ', 'TideateWarning' })
  end
  local name = model.name(entry.file)
  if text.width(rest) + vim.fn.strdisplaywidth(name) + 2 > width then
    counted[1] = numbers(review, index, win, wide, true) -- the name and the open hunks matter more
  end
  local room = width - text.width(rest) - 2
  local chunks = { { entry.sign[1] .. ' ', entry.sign[2] }, { model.short(name, room), 'TideatePath' } }
  return vim.list_extend(chunks, rest)
end

--- Return the bar of a window; only the current one has colours and keys.
---@param review tideate.Review
---@param index integer
---@param win integer
---@return string bar, boolean active
function M.bar(review, index, win)
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
  local help_word = text.keys({ table.remove(words) })
  local least = text.keys(vim.list_slice(words, 1, 2))
  local room = math.max(10, total - text.width(least) - text.width(help_word))
  local chunks = text.fit_chunks(place(review, index, win, total >= WIDE and total or room), room)
  if not review.guard:ready() then
    return text.bar(chunks) .. '%=' .. text.bar({ require('tideate.ui.questions.key_guard').HINT }), true
  end
  local shown = text.keys(words, total - text.width(chunks) - text.width(help_word))
  return text.bar(chunks) .. '%=' .. text.bar(vim.list_extend(shown, help_word)), true
end

return M
