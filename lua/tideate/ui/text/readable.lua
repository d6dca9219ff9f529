--- Readable form of a text to be confirmed: every character visible, on lines of limited length.
local M = {}

local LONGEST = 1000 -- bytes; longer lines are broken
local EMPTY = 25 -- empty lines in a row that are replaced by a count

--- Sign before the rest of a broken line.
M.CONTINUES = '↪ '

--- Cut a text between characters.
---@param text string
---@param size integer bytes
---@return string first, string rest
function M.cut(text, size)
  local stop = math.min(size, #text)
  while stop < #text and stop > 1 and text:byte(stop + 1) >= 0x80 and text:byte(stop + 1) < 0xc0 do
    stop = stop - 1
  end
  return text:sub(1, stop), text:sub(stop + 1)
end

---@param lines string[]
---@param line string
local function add_broken(lines, line)
  local from, before = 1, ''
  repeat
    local piece = M.cut(line:sub(from, from + LONGEST + 3), LONGEST)
    table.insert(lines, before .. piece)
    from, before = from + #piece, M.CONTINUES
  until from > #line
end

--- Return the readable lines of a text.
---@param text string
---@return string[] lines, integer[] their line numbers in the text
function M.lines(text)
  local plain, visible = require('tideate.ui.text').plain, require('tideate.ui.text.escaping')
  local lines, numbers, empty, number = {}, {}, 0, 0 ---@type string[], integer[], integer, integer
  local function flush()
    for index = 1, empty < EMPTY and empty or 0 do
      table.insert(lines, '')
      table.insert(numbers, number - empty + index - 1)
    end
    if empty >= EMPTY then
      table.insert(lines, ('\\n{%d}'):format(empty))
      table.insert(numbers, number - empty)
    end
    empty = 0
  end
  for _, line in ipairs(vim.split(text, '\n', { plain = true })) do
    number = number + 1
    if line == '' then
      empty = empty + 1
    else
      flush()
      add_broken(lines, visible.shortened_runs(plain(line)))
      for _ = #numbers + 1, #lines do
        table.insert(numbers, number)
      end
    end
  end
  number = number + 1
  flush()
  return lines, numbers
end

---@param count integer
---@return string number with commas
function M.count(count)
  return (tostring(count):reverse():gsub('(%d%d%d)', '%1,'):reverse():gsub('^,', ''))
end

--- Return the first lines and a summary of the rest.
---@param lines string[]
---@param most integer
---@return string[] lines, string? left_out
function M.beginning(lines, most)
  if #lines <= most then
    return lines
  end
  local characters = 0
  for index = most + 1, #lines do
    characters = characters + vim.fn.strchars(lines[index])
  end
  local words = '… %s more lines with %s characters'
  return vim.list_slice(lines, 1, most), words:format(M.count(#lines - most), M.count(characters))
end

return M
