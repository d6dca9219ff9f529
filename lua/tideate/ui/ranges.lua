--- Lines that runs work on: signs, and the buffer of each run.
local M = {}

local api = vim.api

local PRIORITY = 8 -- above signs of changed lines, below those of diagnostics
local SIGN = '▸'
local namespace = api.nvim_create_namespace('tideate.ranges')

---@class tideate.ui.MarkedPlace
---@field buf integer
---@field mark? integer
---@field left? { [1]: integer, [2]: integer } position of the mark when the buffer was unloaded

---@type table<string, tideate.ui.MarkedPlace>
local places = {}

---@type table<integer, string[]> current text of each buffer with marks
local texts = {}

---@param place tideate.ui.MarkedPlace
---@param first integer 0-based
---@param last integer
local function set_mark(place, first, last)
  local signs = require('tideate.config').get('signs')
  place.mark = api.nvim_buf_set_extmark(place.buf, namespace, first, 0, {
    id = place.mark,
    end_row = last,
    end_right_gravity = true, -- a line added above the last one moves it
    sign_text = signs and SIGN or nil,
    sign_hl_group = signs and 'TideateRunning' or nil,
    priority = PRIORITY,
  })
end

---@param place tideate.ui.MarkedPlace
---@return { [1]: integer, [2]: integer }? rows 0-based; nil if the mark is gone
local function rows(place)
  local mark = api.nvim_buf_get_extmark_by_id(place.buf, namespace, place.mark, { details = true })
  return mark[1] and { mark[1], mark[3].end_row } or nil
end

--- Return the position of lines after a text was replaced.
---@param hunks integer[][] of `vim.diff`
---@param first integer 1-based
---@param last integer
---@return integer first, integer last less than first if all lines are gone
local function followed(hunks, first, last)
  local from, to = first, last
  for _, hunk in ipairs(hunks) do
    local start, old, _, new = unpack(hunk)
    start = old == 0 and start + 1 or start -- an insertion is named by the line above it
    local stop = start + old - 1
    if stop < first then
      from, to = from + new - old, to + new - old
    elseif start <= last and new ~= old then
      from = from - math.max(0, first - start)
      to = to + math.max(0, stop - last) + new - old
    end
  end
  return from, to
end

---@param lines string[]
---@return string
local function joined(lines)
  local plain = vim.tbl_map(function(line)
    return (line:gsub('\n', '\0')) -- a NUL byte in a line
  end, lines)
  return table.concat(plain, '\n') .. '\n'
end

--- Move the marks of a reread buffer with their lines: Neovim leaves them in their rows.
---@param buf integer
local function follow(buf)
  local old, new = texts[buf].lines, api.nvim_buf_get_lines(buf, 0, -1, true)
  local diff = vim.text and vim.text.diff or vim.diff
  local hunks = diff(joined(old), joined(new), { result_type = 'indices', linematch = 60 })
  texts[buf].lines = new
  for _, place in pairs(places) do
    local was = place.buf == buf and place.mark and (place.left or rows(place))
    if was then
      local first, last = followed(hunks --[[@as integer[][] ]], was[1] + 1, was[2] + 1)
      first = math.max(1, math.min(first, #new))
      set_mark(place, first - 1, math.max(first, math.min(last, #new)) - 1)
      place.left = nil
    end
  end
end

--- Track the text of a buffer while it has marks.
---@param buf integer
local function watch(buf)
  local text = texts[buf]
  local function is_over()
    return texts[buf] ~= text
  end
  api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, _, first, last, new_last)
      if is_over() then
        return true
      end
      local new = api.nvim_buf_get_lines(buf, first, new_last, true)
      if #new ~= last - first then
        local before = vim.list_slice(text.lines, 1, first)
        text.lines = vim.list_extend(vim.list_extend(before, new), text.lines, last + 1)
        return
      end
      for index, line in ipairs(new) do
        text.lines[first + index] = line
      end
    end,
    on_reload = function()
      if is_over() then
        return true
      end
      follow(buf)
    end,
    -- `:edit` and an unload end the attachment
    on_detach = function()
      if is_over() then
        return
      end
      for _, place in pairs(places) do
        if place.buf == buf and place.mark then
          place.left = rows(place)
        end
      end
      api.nvim_create_autocmd('BufReadPost', {
        buffer = buf,
        once = true,
        desc = 'Set the marks of runs on their lines again',
        callback = function()
          if not is_over() then
            follow(buf)
            watch(buf)
          end
        end,
      })
    end,
  })
end

--- Mark the lines of a started run.
---@param run string
---@param context tideate.Context
function M.begin(run, context)
  local buf, lines = (context.buffer or {}).number, context.selection
  if not buf or not api.nvim_buf_is_valid(buf) then
    return
  end
  places[run] = { buf = buf }
  if lines and api.nvim_buf_is_loaded(buf) then
    local last = math.min(lines['end'], api.nvim_buf_line_count(buf)) - 1
    set_mark(places[run], math.min(lines.start - 1, last), last)
    if not texts[buf] then
      texts[buf] = { lines = api.nvim_buf_get_lines(buf, 0, -1, true) }
      watch(buf)
    end
  end
end

---@type table<string, true>
local ENDS = {
  SD_EVENT_WORKFLOW_COMPLETED = true,
  SD_EVENT_WORKFLOW_FAILED = true,
  SD_EVENT_WORKFLOW_CANCELLED = true,
}

--- Remove the marks of an ended run.
---@param event tideate.Event
function M.on_event(event)
  local place = places[event.execution_id]
  if not place or not ENDS[event.name] then
    return
  end
  places[event.execution_id] = nil
  if place.mark and api.nvim_buf_is_valid(place.buf) then
    api.nvim_buf_del_extmark(place.buf, namespace, place.mark)
  end
  for _, other in pairs(places) do
    if other.buf == place.buf and other.mark then
      return
    end
  end
  texts[place.buf] = nil
end

--- Return the current position of the lines that a run was started on.
---@param run string
---@return { buf: integer, first: integer, last: integer }?
function M.lines(run)
  local place = places[run]
  if not place or not place.mark or not api.nvim_buf_is_loaded(place.buf) then
    return nil
  end
  local found = rows(place)
  return found and { buf = place.buf, first = found[1] + 1, last = found[2] + 1 }
end

--- Return whether an active run was started on a buffer.
---@param run string
---@param buf integer
---@return boolean
function M.concerns(run, buf)
  return places[run] ~= nil and places[run].buf == buf
end

return M
