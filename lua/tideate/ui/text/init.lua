--- Helpers for highlighted text: escape, measure, wrap, cut to a width, write to a buffer.
local M = {}

---@alias tideate.Chunk [string, string?] text and highlight group

---@type { [1]: string, [2]: string }[] pattern of a diff line and its group
local PATCH = {
  { '^@@', 'TideateHint' },
  { '^[+-][+-][+-] ', 'TideateHint' },
  { '^%+', 'TideateAddSign' },
  { '^%-', 'TideateDeleteSign' },
  { '^\\', 'TideateHint' },
}

local SHORT = 40 -- bytes: signs and marks that are drawn often
local MOST_KNOWN = 500
local known, known_count = {}, 0 ---@type table<string, string>, integer

--- Escape characters that a terminal obeys, hides or reorders; tabs stay.
---@param text string
---@return string
function M.plain(text)
  if not text:find('[^\9\32-\126]') then
    return text
  end
  local plain = known[text]
  if not plain then
    plain = require('tideate.ui.text.escaping').text(text):gsub('\n', '\\n')
    if #text <= SHORT then
      local room = known_count < MOST_KNOWN
      known, known_count = room and known or {}, room and known_count + 1 or 1
      known[text] = plain
    end
  end
  return plain
end

--- Return the display cells of an escaped text.
---@param text string
---@return integer
local function cells(text)
  -- ASCII, the usual case, needs no call of Vim's function
  return text:find('[^\32-\126]') and vim.fn.strdisplaywidth(text) or #text
end

--- Escape a name, path or address unambiguously on one line.
---@param name string
---@return string
function M.name(name)
  return require('tideate.ui.text.escaping').name(name)
end

--- Join escaped names with commas.
---@param names string[]
---@return string
function M.names(names)
  return table.concat(vim.tbl_map(M.name, names), ', ')
end

---@param text string
---@param width integer display cells
---@return string
function M.fit(text, width)
  text = M.plain(text)
  if cells(text) <= width then
    return text
  end
  local kept = vim.fn.strcharpart(text, 0, math.max(width - 1, 0))
  while kept ~= '' and vim.fn.strdisplaywidth(kept) > width - 1 do
    kept = vim.fn.strcharpart(kept, 0, vim.fn.strchars(kept) - 1)
  end
  return width > 0 and (kept:gsub('…$', '')) .. '…' or ''
end

--- Format a count with its noun, like `3 files`.
---@param count integer
---@param noun string
---@return string
function M.counted(count, noun)
  return ('%d %s%s'):format(count, noun, count == 1 and '' or 's')
end

--- Return the end of a text that fits into a width.
---@param text string
---@param width integer display cells
---@return string
function M.ending(text, width)
  text = M.plain(text)
  if not text:find('[^\32-\126]') then
    return width > 0 and text:sub(-width) or ''
  end
  local count = vim.fn.strchars(text)
  local from = math.max(0, count - math.max(width, 0))
  while from < count and vim.fn.strdisplaywidth(vim.fn.strcharpart(text, from)) > width do
    from = from + 1
  end
  return from >= count and '' or vim.fn.strcharpart(text, from)
end

---@param text string
---@param width integer
---@return string
function M.pad(text, width)
  text = M.plain(text)
  return text .. (' '):rep(width - vim.fn.strdisplaywidth(text))
end

--- Break a text without line ends at a width.
---@param text string
---@param width integer
---@return string[]
function M.pieces(text, width)
  width = math.max(width, 1)
  if not text:find('[\128-\255]') then
    local pieces = {}
    for from = 1, math.max(#text, 1), width do
      table.insert(pieces, text:sub(from, from + width - 1))
    end
    return pieces
  end
  local pieces, from, column = {}, 1, 0
  for at, character in text:gmatch('()([%z\1-\127\194-\244][\128-\191]*)') do
    local size = vim.fn.strdisplaywidth(character)
    if column + size > width and at > from then
      table.insert(pieces, text:sub(from, at - 1))
      from, column = at, 0
    end
    column = column + size
  end
  table.insert(pieces, text:sub(from))
  return pieces
end

--- Fill lines with words; break words that are longer than a line.
---@param words string[] escaped; never broken at their blanks
---@param width integer
---@return string[]
function M.fill(words, width)
  local lines, line = {}, ''
  for _, word in ipairs(words) do
    if vim.fn.strdisplaywidth(word) > width then
      if line ~= '' then
        table.insert(lines, line)
        line = ''
      end
      local pieces = M.pieces(word, width)
      word = table.remove(pieces)
      vim.list_extend(lines, pieces)
    end
    local joined = line == '' and word or line .. ' ' .. word
    if vim.fn.strdisplaywidth(joined) > width then
      table.insert(lines, line)
      joined = word
    end
    line = joined
  end
  table.insert(lines, line)
  return lines
end

--- Wrap a text at blanks; line ends stay, longer words are broken.
---@param text string
---@param width integer
---@return string[]
function M.wrap(text, width)
  local lines = {}
  for _, paragraph in ipairs(vim.split(text, '\n', { plain = true })) do
    local words = {}
    for word in M.plain(paragraph):gmatch('%S+') do
      table.insert(words, word)
    end
    vim.list_extend(lines, M.fill(words, width))
  end
  return lines
end

---@param chunks tideate.Chunk[]
---@return integer
function M.width(chunks)
  local width = 0
  for _, chunk in ipairs(chunks) do
    -- escape first: NUL makes Vim's functions fail
    width = width + cells(M.plain(chunk[1]))
  end
  return width
end

--- Cut chunks to a width.
---@param chunks tideate.Chunk[]
---@param width integer
---@return tideate.Chunk[]
function M.fit_chunks(chunks, width)
  local kept = {} ---@type tideate.Chunk[]
  for _, chunk in ipairs(chunks) do
    local plain = M.plain(chunk[1])
    local size = cells(plain)
    if size > width then
      table.insert(kept, { M.fit(plain, width), chunk[2] })
      break
    end
    width = width - size
    table.insert(kept, { plain, chunk[2] })
  end
  return kept
end

--- Format chunks as a value of 'winbar' or 'statusline'.
---@param chunks tideate.Chunk[]
---@return string
function M.bar(chunks)
  local parts = {}
  for _, chunk in ipairs(chunks) do
    local text = M.plain(chunk[1]):gsub('%%', '%%%%')
    table.insert(parts, chunk[2] and ('%%#%s#%s%%*'):format(chunk[2], text) or text)
  end
  return table.concat(parts)
end

---@param chunks tideate.Chunk[]
---@return tideate.Chunk[]
local function plain_chunks(chunks)
  return vim.tbl_map(function(chunk)
    return { M.plain(chunk[1]), chunk[2] }
  end, chunks)
end

--- Highlight a line of a patch.
---@param line string
---@return tideate.Chunk[]
function M.patch_line(line)
  for _, look in ipairs(PATCH) do
    if line:find(look[1]) then
      return { { '   ' .. line, look[2] } }
    end
  end
  return { { '   ' .. line } }
end

--- Replace lines of a buffer by lines of chunks.
---@param buf integer
---@param ns integer
---@param first integer 0-based
---@param last integer exclusive; -1 is the end
---@param lines tideate.Chunk[][]
function M.splice(buf, ns, first, last, lines)
  lines = vim.tbl_map(plain_chunks, lines)
  local texts = vim.tbl_map(function(chunks)
    return table.concat(vim.tbl_map(function(chunk)
      return chunk[1]
    end, chunks))
  end, lines)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_clear_namespace(buf, ns, first, last)
  vim.api.nvim_buf_set_lines(buf, first, last, true, texts)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
  for row, chunks in ipairs(lines) do
    local column = 0
    for _, chunk in ipairs(chunks) do
      if chunk[2] and #chunk[1] > 0 then
        vim.api.nvim_buf_set_extmark(buf, ns, first + row - 1, column, { end_col = column + #chunk[1], hl_group = chunk[2] })
      end
      column = column + #chunk[1]
    end
  end
end

--- Count the lines that are the very same tables at the start and at the end.
---@param before tideate.Chunk[][]
---@param lines tideate.Chunk[][]
---@return integer first, integer behind
function M.unchanged(before, lines)
  local first, behind, most = 0, 0, math.min(#before, #lines)
  while first < most and before[first + 1] == lines[first + 1] do
    first = first + 1
  end
  while behind < most - first and before[#before - behind] == lines[#lines - behind] do
    behind = behind + 1
  end
  return first, behind
end

--- Replace all lines of a buffer by lines of chunks.
---@param buf integer
---@param ns integer
---@param lines tideate.Chunk[][]
function M.render(buf, ns, lines)
  M.splice(buf, ns, 0, -1, lines)
end

--- Format keys and their words for a footer or a winbar.
---@param keys { [1]: string, [2]: string }[] key and word
---@param width? integer keys beyond it are left out
---@return tideate.Chunk[]
function M.keys(keys, width)
  local chunks = {} ---@type tideate.Chunk[]
  for _, key in ipairs(keys) do
    local more = { { ' ' .. key[1], 'TideateKey' }, { ' ' .. key[2] .. ' ', 'TideateHint' } }
    if width and M.width(chunks) + M.width(more) > width then
      break
    end
    vim.list_extend(chunks, more)
  end
  return chunks
end

return M
