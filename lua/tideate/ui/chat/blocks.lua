--- Code blocks of a chat: find, copy, apply to a file, or save as a new file.
local M = {}

local api = vim.api
local ui = require('tideate.ui')

---@class tideate.CodeBlock
---@field first integer line of the opening fence, 1-based
---@field last integer line of the closing fence, or the last line
---@field info string
---@field lines string[]
---@field path? string named file

---@class tideate.Fence
---@field row integer
---@field indent integer
---@field ticks string
---@field info string

---@param indent string
---@param marker string
---@return string
local function blanks(indent, marker)
  return indent .. (' '):rep(#marker)
end

---@param line string
---@return tideate.Fence?
local function fence_of(line)
  -- a block may begin in the line of a list's item
  local bare = line:gsub('^(%s*)([-*+] +)', blanks):gsub('^(%s*)(%d+[.)] +)', blanks)
  local indent, ticks, info = bare:match('^%s*()(```+)([^`]*)$')
  if not ticks then
    indent, ticks, info = bare:match('^%s*()(~~~+)(.*)$')
  end
  return ticks and { row = 0, indent = indent - 1, ticks = ticks, info = vim.trim(info) } or nil
end

---@param fence tideate.Fence
---@param opening tideate.Fence
---@return boolean
local function closes(fence, opening)
  return fence.info == '' and vim.startswith(fence.ticks, opening.ticks) and fence.indent <= opening.indent + 3
end

--- Return the place of the closing fence. Models nest blocks with fences of one length: a fence with a language begins an
--- inner block if all blocks then end.
---@param fences tideate.Fence[]
---@param at integer of the opening fence
---@return integer? place nil: the block has no end
local function closing(fences, at)
  local open, first = { fences[at] }, nil ---@type tideate.Fence[], integer?
  for place = at + 1, #fences do
    local fence = fences[place]
    if closes(fence, open[#open]) then
      first = first or (closes(fence, fences[at]) and place or nil)
      table.remove(open)
      if #open == 0 then
        return place
      end
    elseif fence.info ~= '' and vim.startswith(fence.ticks, fences[at].ticks) then
      table.insert(open, fence)
    end
  end
  return first
end

---@param word string
---@return string? path
local function path_in(word)
  local path = word:gsub('^[%s"\'`*:(]+', ''):gsub('[%s"\'`*:),.]+$', '')
  local is_path = path:find('^[%w_.~/@+-][%w_./@+-]*$') and path:find('[%a]')
  return is_path and (path:find('/', 1, true) or path:find('[%w_]%.%a[%w]*$')) and path or nil
end

--- Return the file that a fence names after its language: a path, `title="…"`, or after a colon.
---@param info string
---@return string?
local function path_of_info(info)
  local named = info:match('=%s*"([^"]+)"') or info:match('^%S-:(%S+)') or info:match('%s(%S+)')
  return path_in(named or '') or (info:find('/', 1, true) and path_in(info)) or nil
end

--- Return the file named by a line with little other text, like **`a.py`:** or `# a.py`.
---@param line string
---@return string?
local function path_of_line(line)
  local bare = vim.trim(line):gsub('^[#/%-<!;*%s]+', ''):gsub('[%-*/>%s]+$', ''):gsub('^[Ff]ile:?%s*', '')
  local quoted = bare:match('`([^`]+)`')
  return path_in(quoted or bare)
end

---@param lines string[] of the answer
---@param block tideate.CodeBlock
local function name(lines, block)
  block.path = path_of_info(block.info)
  local above = block.first - 1
  while not block.path and above > 0 and lines[above] == '' do
    above = above - 1
  end
  block.path = block.path or (above > 0 and path_of_line(lines[above])) or nil
  local first = block.lines[1]
  if first and vim.trim(first):find('^[#/%-<;]') then
    local path = path_of_line(first)
    if path and (not block.path or vim.endswith(path, block.path) or vim.endswith(block.path, path)) then
      block.path = block.path or path
      table.remove(block.lines, 1)
    end
  end
end

--- Return the outermost block around a line.
---@param lines string[] of one answer
---@param row integer 1-based
---@return tideate.CodeBlock?
function M.find(lines, row)
  local fences = {} ---@type tideate.Fence[]
  for index, line in ipairs(lines) do
    local fence = (line:find('```', 1, true) or line:find('~~~', 1, true)) and fence_of(line)
    if fence then
      fence.row = index
      table.insert(fences, fence)
    end
  end
  local at = 1
  while fences[at] and fences[at].row <= row do
    local opening, place = fences[at], closing(fences, at)
    local last = place and fences[place].row or #lines
    if row <= last then
      local block = { first = opening.row, last = last, info = opening.info, lines = {} }
      for index = opening.row + 1, place and last - 1 or last do
        local spaces = #lines[index]:match('^ *')
        table.insert(block.lines, lines[index]:sub(math.min(spaces, opening.indent) + 1))
      end
      while block.lines[#block.lines] == '' do
        table.remove(block.lines)
      end
      name(lines, block)
      return block
    end
    at = (place or #fences) + 1
  end
end

---@param turns tideate.ChatTurn[]
---@return tideate.CodeBlock?
local function under_cursor(turns)
  local row = api.nvim_win_get_cursor(0)[1]
  local _, index = require('tideate.ui.chat.history').turn_at(turns, row)
  local from = index and turns[index].row or 1
  local to = index and turns[index + 1] and turns[index + 1].row - 1 or -1
  local block = M.find(api.nvim_buf_get_lines(0, from - 1, to, false), row - from + 1)
  if not block then
    ui.warn('no code block under the cursor')
  end
  return block
end

--- Copy the block under the cursor.
---@param turns tideate.ChatTurn[]
function M.copy(turns)
  local block = under_cursor(turns)
  if block then
    vim.fn.setreg(vim.v.register, block.lines, 'l')
    ui.notify('copied ' .. require('tideate.ui.text').counted(#block.lines, 'line'))
  end
end

---@class tideate.ui.BlockOpts
---@field folder string of the project
---@field on_start fun(id: string) called with each run

---@param block tideate.CodeBlock
---@param path string
---@param how 'place'|'create'|'replace'
---@param opts tideate.ui.BlockOpts
---@param on_done? fun(result: tideate.RunResult)
local function apply(block, path, how, opts, on_done)
  local inputs = { path = path, text = table.concat(block.lines, '\n'), how = how }
  opts.on_start(require('tideate').run('apply', { inputs = inputs, context = { cwd = opts.folder } }, on_done))
end

---@param prompt string
---@param default string?
---@param on_name fun(path: string)
local function ask_for_name(prompt, default, on_name)
  vim.ui.input({ prompt = prompt, default = default, completion = 'file' }, function(path)
    if path and vim.trim(path) ~= '' then
      on_name(vim.trim(path))
    end
  end)
end

--- Review the block under the cursor as a change of the file that it names.
---@param turns tideate.ChatTurn[]
---@param opts tideate.ui.BlockOpts
function M.apply(turns, opts)
  local block = under_cursor(turns)
  if not block then
    return
  elseif block.path then
    return apply(block, block.path, 'place', opts)
  end
  local own = require('tideate.context').path()
  local relative = vim.startswith(own, opts.folder .. '/') and own:sub(#opts.folder + 2) or own
  ask_for_name('The block names no file. Apply the block to: ', relative, function(path)
    apply(block, path, 'place', opts)
  end)
end

--- Save the block under the cursor as a new file; before it replaces an existing one, ask, then review.
---@param turns tideate.ChatTurn[]
---@param opts tideate.ui.BlockOpts
function M.save(turns, opts)
  local block = under_cursor(turns)
  if not block then
    return
  end
  ask_for_name('Save the block as: ', block.path, function(path)
    local absolute = vim.startswith(path, '/') and path or vim.fs.joinpath(opts.folder, path)
    if not vim.uv.fs_lstat(absolute) then
      return apply(block, path, 'create', opts, function(result)
        if result.ok then
          require('tideate.ui.references').show({ path = absolute })
        end
      end)
    end
    local words = ('%s exists. Review a replacement of the whole file?'):format(path)
    ui.select({ 'yes', 'no' }, { prompt = words, kind = 'tideate.chat' }, function(answer)
      if answer == 'yes' then
        apply(block, path, 'replace', opts)
      end
    end)
  end)
end

return M
