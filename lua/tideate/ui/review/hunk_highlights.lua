--- Colours, sign and label of a hunk by its state; virtual lines cut to the visible rows.
local M = {}

local MARGIN = 5 -- lines drawn beyond the visible ones

---@alias tideate.HunkLook { label: string?, group: string?, old: string, new: string?, sign: string }

---@type table<string, tideate.HunkLook> `%s` in a label is a word for the decision
local LOOKS = {
  open = { old = 'TideateDelete', new = 'TideateAdd', sign = '-' },
  accepted = { old = 'TideateOut', new = 'TideateAdd', sign = '-', label = '✓ %s', group = 'TideateDone', word = 'accepted' },
  rejected = { old = '', sign = '', label = '✗ %s', group = 'TideateHint', word = 'rejected' },
  edited = { old = 'TideateDelete', new = 'TideateAdd', sign = '-', label = 'edited by you', group = 'TideateHint' },
  edited_accepted = { old = 'TideateOut', new = 'TideateAdd', sign = '-', label = '✓ %s, edited by you', group = 'TideateDone', word = 'accepted' },
  merged = { old = 'TideateDelete', new = 'TideateAdd', sign = '!', label = '! merged: ga %ss it', group = 'TideateWarning', word = 'accept' },
  conflict = { old = 'TideateDelete', new = 'TideateAdd', sign = '!', label = '! conflict: you changed this, too', group = 'TideateWarning' },
  stale = { old = 'TideateDelete', new = 'TideateOut', sign = '!', label = '! conflict: ge merges it', group = 'TideateWarning' },
}

--- Return the look of a hunk by name.
---@param unit tideate.ReviewUnit
---@return string
function M.state(unit)
  if unit.state == 'rejected' then
    return 'rejected'
  elseif unit.stale then
    return unit.offer and 'merged' or 'stale'
  elseif unit.edit then
    return unit.state == 'accepted' and 'edited_accepted' or 'edited'
  elseif unit.conflict and unit.state == 'open' then
    return 'conflict'
  end
  return unit.state
end

--- Return colours, sign and label of a hunk.
---@param state string
---@param written boolean whether the changes are in the files already
---@return tideate.HunkLook
function M.look(state, written)
  local look = LOOKS[state]
  local word = require('tideate.ui.review.model').WORDS[written][look.word]
  return word and vim.tbl_extend('force', look, { label = look.label:format(word) }) or look
end

--- Cut virtual lines to the window: it cannot scroll through them.
---@param lines tideate.Chunk[][]
---@param height integer
---@return tideate.Chunk[][]
function M.visible_part(lines, height)
  local limit = math.max(5, height - 4)
  if #lines <= limit then
    return lines
  end
  local kept = vim.list_slice(lines, 1, limit - 1)
  table.insert(kept, { { ('… %d more lines: gp shows all'):format(#lines - limit + 1), 'TideateWarning' } })
  return kept
end

---@param buf integer
---@return { [1]: integer, [2]: integer }[] ranges rows visible in a window, 0-based
---@return integer width of the widest window
---@return integer height of the lowest one
---@return integer left columns left of the text in the widest window
function M.seen(buf)
  local ranges, width, height, left = {}, 0, vim.o.lines, 0
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local info = vim.fn.getwininfo(win)[1]
    table.insert(ranges, { info.topline - 1 - MARGIN, math.max(info.botline, info.topline) + MARGIN })
    if info.width - info.textoff > width then
      width, left = info.width - info.textoff, info.textoff
    end
    height = math.min(height, info.height)
  end
  return ranges, width, height, left
end

--- Prefix virtual lines with a sign in the column of the real signs.
---@param lines tideate.Chunk[][]
---@param sign string
---@param left integer columns left of the text; 0: no signs
---@return tideate.Chunk[][]
function M.with_sign(lines, sign, left)
  if left == 0 then
    return lines
  end
  return vim.tbl_map(function(line)
    return vim.list_extend({ { sign .. (' '):rep(left - #sign), 'TideateAddSign' } }, line)
  end, lines)
end

return M
