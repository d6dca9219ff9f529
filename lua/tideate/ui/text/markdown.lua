--- Load Markdown highlighting in pieces: at once it would block the editor for two frames.
local M = {}

local PIECES = {
  { 'markdown', 'highlights' },
  { 'markdown', 'injections' },
  { 'markdown_inline', 'highlights' },
  { 'markdown_inline', 'injections' },
}
local NEXT = 1 -- milliseconds; scheduled work would run before the next key

---@type (vim.treesitter.Query|false)[] Neovim drops unreferenced queries
local loaded = {}

---@type fun()[]
local waiting = {}

local loading = false

local function load_next()
  local piece = PIECES[#loaded + 1]
  if piece then
    local ok, query = pcall(vim.treesitter.query.get, piece[1], piece[2])
    table.insert(loaded, ok and query or false)
    vim.defer_fn(load_next, NEXT)
    return
  end
  loading = false
  local callbacks = waiting
  waiting = {}
  for _, callback in ipairs(callbacks) do
    callback()
  end
end

--- Load the parser and its queries once.
---@param callback? fun() called after loading
function M.load(callback)
  if #loaded == #PIECES then
    if callback then
      callback()
    end
    return
  end
  table.insert(waiting, callback)
  if not loading then
    loading = true
    vim.defer_fn(load_next, NEXT)
  end
end

--- Return the line that ends a code block which lines leave open.
---@param lines string[]
---@param from? integer first line to look at
---@return string? fence nil: no block is open
function M.open_fence(lines, from)
  local fence ---@type string?
  for index = from or 1, #lines do
    local ticks, info = lines[index]:match('^%s*(```+)(.*)$')
    if not ticks then
      ticks, info = lines[index]:match('^%s*(~~~+)(.*)$')
    end
    if ticks and not fence then
      fence = ticks
    elseif ticks and vim.startswith(ticks, fence) and not info:find('%S') then
      fence = nil
    end
  end
  return fence
end

return M
