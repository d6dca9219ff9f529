--- Format a `.workflow` buffer by the host's answer as the smallest change; wrap prose for 'formatexpr'.
local M = {}

local api = vim.api

--- Return the hunks between two texts; a line with changed blanks only is replaced by itself, which keeps its marks.
---@param old string
---@param new string
---@return tideate.Hunk[]
local function hunks_between(old, new)
  local before, after = vim.split(old, '\n', { plain = true }), vim.split(new, '\n', { plain = true })
  local hunks = {} ---@type tideate.Hunk[]
  local old_at, new_at = 1, 1
  local function same_until(stop)
    while old_at < stop do
      if before[old_at] ~= after[new_at] then
        table.insert(hunks, { start = old_at - 1, old = { before[old_at] }, new = { after[new_at] } })
      end
      old_at, new_at = old_at + 1, new_at + 1
    end
  end
  local diff = vim.text and vim.text.diff or vim.diff
  local options = { result_type = 'indices', algorithm = 'myers', ignore_whitespace = true }
  for _, found in ipairs(diff(old, new, options) --[[@as integer[][] ]]) do
    local start, old_count, _, new_count = unpack(found)
    -- an insertion is numbered by the line before it
    same_until(old_count == 0 and start + 1 or start)
    table.insert(hunks, {
      start = old_at - 1,
      old = vim.list_slice(before, old_at, old_at + old_count - 1),
      new = vim.list_slice(after, new_at, new_at + new_count - 1),
    })
    old_at, new_at = old_at + old_count, new_at + new_count
  end
  same_until(#before + 1)
  return hunks
end

--- Request the hunks that format a buffer.
---@param buf integer
---@param callback fun(hunks: tideate.Hunk[]?, tick: integer, err: string?) called after this returns
function M.hunks(buf, callback)
  local ask = require('tideate.language.requests')
  local tick = api.nvim_buf_get_changedtick(buf)
  if ask.is_blank(buf) then
    return vim.schedule(function()
      callback({}, tick)
    end)
  end
  local text, reason = ask.text(buf)
  if not text then
    return vim.schedule(function()
      callback(nil, tick, reason)
    end)
  end
  ask.ask('machine_format', { text = text }, function(result)
    if result.ok then
      return callback(hunks_between(text, result.text), tick)
    end
    local mistakes = result.error_code == 'InvalidWorkflowFile'
    local words = mistakes and 'a text with mistakes is not formatted; the diagnostics tell them' or result.error
    callback(nil, tick, words)
  end)
end

--- Format a buffer as one undo step; report an error.
---@param buf integer
function M.run(buf)
  M.hunks(buf, function(hunks, tick, err)
    if hunks and api.nvim_buf_is_loaded(buf) then
      local edits = { { number = buf, tick = tick, hunks = hunks } }
      local done, refusal = require('tideate.edit').buffer_replace({ edits = edits })
      err = refusal or (not done.applied and 'the text was changed meanwhile and is not formatted') or nil
    end
    if err then
      require('tideate.ui').warn(err)
    end
  end)
end

--- Return the kind of a line that can be wrapped with its neighbours.
---@param line string
---@return 'guidance'|'comment'|nil
local function prose(line)
  if line:find('^#') or line:find('^//') then
    return 'comment'
  end
  return line:find('^%s') and 'guidance' or nil
end

--- Return the ranges of prose of one kind.
---@param first integer
---@param last integer
---@return integer[][] first and last lines
local function runs(first, last)
  local found, before = {}, nil ---@type integer[][], string?
  for offset, line in ipairs(api.nvim_buf_get_lines(0, first - 1, last, false)) do
    local kind = line ~= '' and prose(line) or line == '' and before or nil
    if kind and kind == before then
      found[#found][2] = first + offset - 1
    elseif kind then
      table.insert(found, { first + offset - 1, first + offset - 1 })
    end
    before = kind
  end
  return found
end

--- Wrap prose with Neovim; a line is never joined with a transition.
---@param first integer
---@param last integer
local function wrap(first, last)
  local expression, folding = vim.bo.formatexpr, vim.wo.foldenable
  local below = api.nvim_buf_line_count(0) - last
  vim.bo.formatexpr, vim.wo.foldenable = '', false
  local ok, err = pcall(function()
    local found = runs(first, last)
    for at = #found, 1, -1 do
      vim.cmd(('keepjumps normal! %dGgq%dG'):format(found[at][1], found[at][2]))
    end
  end)
  vim.bo.formatexpr, vim.wo.foldenable = expression, folding
  vim.cmd(('keepjumps normal! %dG^'):format(api.nvim_buf_line_count(0) - below))
  if not ok then
    error(err, 0)
  end
end

--- 'formatexpr': the host formats the whole buffer; Neovim wraps a part of it as prose.
---@return integer
function M.expr()
  if api.nvim_get_mode().mode:find('^[iR]') then
    return 1
  elseif vim.v.lnum == 1 and vim.v.count == api.nvim_buf_line_count(0) then
    M.run(api.nvim_get_current_buf())
  else
    wrap(vim.v.lnum, vim.v.lnum + vim.v.count - 1)
  end
  return 0
end

return M
