--- The keys of a review, and the bar that shows them.
local M = {}

local WIDE = 110 -- columns; with fewer the bar says less, so that the keys fit

---@param review tideate.Review
---@param scratch boolean a buffer of the review's own, where single keys are free
---@return tideate.Key[]
function M.keys(review, scratch)
  ---@type { [1]: string, [2]: string, [3]: string?, [4]: string, [5]: fun() }[] real, single, word, help
  local rows = {
    { 'ga', 'a', 'accept', 'accept the hunk', function()
      review:decide('accepted')
    end },
    { 'gr', 'r', 'reject', 'reject the hunk', function()
      review:decide('rejected')
    end },
    { 'gA', 'A', 'all', 'accept everything that is open', function()
      review:decide_all('accepted')
    end },
    { 'gR', 'R', 'none', 'reject everything that is open', function()
      review:decide_all('rejected')
    end },
    { ']c', 'J', 'next', 'next hunk', function()
      review:step(1)
    end },
    { '[c', 'K', nil, 'previous hunk', function()
      review:step(-1)
    end },
    { ']f', '<Tab>', #review.model.entries > 1 and 'file' or nil, 'next file', function()
      review:step_file(1)
    end },
    { '[f', '<S-Tab>', nil, 'previous file', function()
      review:step_file(-1)
    end },
    { 'gp', 'd', 'diff', 'the hunk as a diff', function()
      review:diff()
    end },
    { 'gh', 't', nil, 'hide or show the changes', function()
      review:toggle()
    end },
    { 'g<CR>', '<CR>', 'finish', 'finish; what is open is left out', function()
      review:finish()
    end },
    { 'g?', '?', 'help', 'this help', function()
      review:help()
    end },
  }
  local keys = vim.tbl_map(function(row)
    return { lhs = scratch and { row[2], row[1] } or { row[1] }, word = row[3], desc = row[4], run = row[5] }
  end, rows)
  if scratch then
    table.insert(keys, #keys, {
      lhs = { 'q', '<Esc>' },
      desc = 'decline all changes',
      run = function()
        review:ask_to_decline()
      end,
    })
  end
  return keys
end

---@param review tideate.Review
---@param index integer
---@param win integer
---@return tideate.Chunk[]
local function place(review, index, win)
  local entry = review.model.entries[index]
  local file = entry.file
  local name = file.path ~= '' and file.path or 'buffer'
  local chunks = { { entry.sign[1] .. ' ', entry.sign[2] }, { name, 'TideatePath' } } ---@type tideate.Chunk[]
  if file.move_to then
    table.insert(chunks, { ' → ' .. file.move_to, 'TideatePath' })
  end
  if #review.model.entries > 1 then
    table.insert(chunks, { (' %d/%d'):format(index, #review.model.entries), 'TideateHint' })
  end
  if file.action ~= 'modify' then
    table.insert(chunks, { (' %s'):format(file.action), entry.sign[2] })
  elseif win == vim.api.nvim_get_current_win() and index == review.current then
    local _, number = review:unit_at_cursor()
    table.insert(chunks, { number and (' %d/%d'):format(number, #entry.units) or '' })
  end
  return chunks
end

--- The bar of a window.
---@param review tideate.Review
---@param index integer
---@param win integer
---@return string
function M.bar(review, index, win)
  local text = require('tideate.ui.text')
  local total = vim.api.nvim_win_get_width(win) - #' review '
  local wide = total >= WIDE
  local chunks = place(review, index, win)
  local summary = wide and review.model:summary() or ('%d open'):format(review.model:count().open)
  table.insert(chunks, { (' · %s '):format(summary), 'TideateHint' })
  if review.question.payload.demonstration == true then
    table.insert(chunks, { wide and '· demonstration model ' or '· demo ', 'TideateWarning' })
  end
  if not review.active then
    table.insert(chunks, { '· stop typing in normal mode, or :Workflow', 'TideateHint' })
    return text.bar(text.fit_chunks(chunks, total))
  end
  local keys = M.keys(review, review.buffers[index].scratch)
  local words = require('tideate.ui.keys').words(keys)
  local help = text.keys({ table.remove(words) })
  local least = text.keys(vim.list_slice(words, 1, 2))
  chunks = text.fit_chunks(chunks, math.max(10, total - text.width(least) - text.width(help)))
  local shown = text.keys(words, total - text.width(chunks) - text.width(help))
  return text.bar(chunks) .. '%=' .. text.bar(vim.list_extend(shown, help))
end

--- A hunk as a diff to read.
---@param unit tideate.ReviewUnit
---@return string
function M.diff(unit)
  local lines = {}
  for _, hunk in ipairs(unit.hunks) do
    table.insert(lines, ('@@ line %d: -%d +%d @@'):format(hunk.start + 1, #hunk.old, #hunk.new))
    for _, line in ipairs(hunk.old) do
      table.insert(lines, '-' .. line)
    end
    for _, line in ipairs(hunk.new) do
      table.insert(lines, '+' .. line)
    end
  end
  return #lines > 0 and table.concat(lines, '\n') or 'the text does not change'
end

return M
