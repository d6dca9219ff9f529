--- Build virtual lines for a hunk's new text, with syntax colours if a parser is installed.
local M = {}

local ui_text = require('tideate.ui.text')

local LIMIT = 400 -- lines; parsing more would block the editor
local LONGEST = 2000 -- bytes of a drawn line

---@param lines string[]
---@param language string
---@return table<integer, { [1]: integer, [2]: integer, [3]: string }[]>? captures by line, 1-based: columns and group
local function captures(lines, language)
  local source = table.concat(lines, '\n')
  local ok, parser = pcall(vim.treesitter.get_string_parser, source, language)
  local query = ok and vim.treesitter.query.get(language, 'highlights')
  if not query then
    return nil
  end
  local found = {} ---@type table<integer, any>
  for id, node in query:iter_captures(parser:parse()[1]:root(), source) do
    local first, from, last, to = node:range()
    local group = '@' .. query.captures[id] .. '.' .. language
    for row = first, math.min(last, #lines - 1) do
      local stop = row == last and to or #lines[row + 1]
      found[row + 1] = found[row + 1] or {}
      table.insert(found[row + 1], { row == first and from or 0, stop, group })
    end
  end
  return found
end

local CONTINUES = require('tideate.ui.text.readable').CONTINUES

--- Cut a line into chunks of the same highlight.
---@param line string
---@param spans { [1]: integer, [2]: integer, [3]: string }[]
---@param base string
---@param words { [1]: integer, [2]: integer }[] new words
---@return tideate.Chunk[]
local function colour(line, spans, base, words)
  local groups, changed = {}, {} ---@type table<integer, string>, table<integer, boolean>
  for _, span in ipairs(spans) do
    for column = span[1] + 1, span[2] do
      groups[column] = span[3]
    end
  end
  for _, span in ipairs(words) do
    for column = span[1] + 1, span[2] do
      changed[column] = true
    end
  end
  local chunks, from = {}, 1
  for column = 2, #line + 1 do
    if column > #line or groups[column] ~= groups[from] or changed[column] ~= changed[from] then
      local group = { base, groups[from] } ---@type string[]
      table.insert(group, changed[from] and 'TideateAddText' or nil)
      table.insert(chunks, { line:sub(from, column - 1), #group > 1 and group or base })
      from = column
    end
  end
  return chunks
end

---@param line string
---@param width integer
---@return string line with tabs expanded and control characters escaped
---@return integer left_out characters
local function printable(line, width)
  local column = 0
  local rest ---@type string
  line, rest = require('tideate.ui.text.readable').cut(ui_text.plain(line), LONGEST)
  local expanded = line:gsub('[^\t]*\t?', function(part)
    local text = part:gsub('\t$', '')
    column = column + vim.fn.strdisplaywidth(text)
    if part:sub(-1) ~= '\t' then
      return text
    end
    local blanks = width - column % width
    column = column + blanks
    return text .. (' '):rep(blanks)
  end)
  return expanded, vim.fn.strchars(rest)
end

--- Return the columns of words in a line with expanded tabs; none for an escaped line.
---@param line string
---@param spans { [1]: integer, [2]: integer }[]?
---@param width integer of a tab
---@return { [1]: integer, [2]: integer }[]
local function moved(line, spans, width)
  if not spans or #line > LONGEST or ui_text.plain(line) ~= line then
    return {}
  end
  return vim.tbl_map(function(span)
    return { #printable(line:sub(1, span[1]), width), #printable(line:sub(1, span[2]), width) }
  end, spans)
end

--- Break a virtual line at a width: Neovim would cut it there.
---@param chunks tideate.Chunk[]
---@param width integer
---@param base string
---@return tideate.Chunk[][]
local function broken(chunks, width, base)
  local rows, row, column = {}, {}, 0 ---@type tideate.Chunk[][], tideate.Chunk[], integer
  -- space for one character after the continuation sign, else the loop would not end
  width = math.max(width, vim.fn.strdisplaywidth(CONTINUES) + 2)
  for _, chunk in ipairs(chunks) do
    local rest = chunk[1]
    while column + vim.fn.strdisplaywidth(rest) > width do
      local first = ui_text.pieces(rest, math.max(1, width - column))[1]
      first = vim.fn.strdisplaywidth(first) <= width - column and first or ''
      table.insert(row, { first, chunk[2] })
      table.insert(rows, row)
      row, column, rest = { { CONTINUES, base } }, vim.fn.strdisplaywidth(CONTINUES), rest:sub(#first + 1)
    end
    table.insert(row, { rest, chunk[2] })
    column = column + vim.fn.strdisplaywidth(rest)
  end
  -- one colour to the edge of the window, as for real lines
  table.insert(row, { (' '):rep(math.max(1, width - column)), base })
  table.insert(rows, row)
  return rows
end

--- Build the virtual lines of new text.
---@param lines string[]
---@param options { filetype: string?, width: integer, tabstop: integer, base: string, words: tideate.WordSpans }
---@return tideate.Chunk[][]
function M.virtual(lines, options)
  local shown, left_out = {}, {} ---@type string[], integer[]
  for index, line in ipairs(lines) do
    shown[index], left_out[index] = printable(line, options.tabstop)
  end
  local language = options.filetype and vim.treesitter.language.get_lang(options.filetype) or options.filetype
  local ok, found = pcall(function()
    return #shown <= LIMIT and language and language ~= '' and captures(shown, language) or nil
  end)
  local by_line = ok and found or {}
  local virtual = {}
  for index, line in ipairs(shown) do
    local words = moved(lines[index], options.words[index], options.tabstop)
    local chunks = (by_line[index] or #words > 0) and line ~= '' and colour(line, by_line[index] or {}, options.base, words)
      or { { line, options.base } }
    vim.list_extend(virtual, broken(chunks, math.max(options.width, 8), options.base))
    if left_out[index] > 0 then
      local notice = ('… %s more characters: gp shows all'):format(require('tideate.ui.text.readable').count(left_out[index]))
      table.insert(virtual, { { notice, 'TideateWarning' } })
    end
  end
  return virtual
end

return M
