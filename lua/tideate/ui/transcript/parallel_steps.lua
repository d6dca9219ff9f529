--- Order the output of parallel steps in the transcript, one section after another: later ones wait.
local M = {}

---@class tideate.ui.Section
---@field step string a list item has `[0]`
---@field pieces (string|tideate.ui.Piece)[] waiting texts
---@field bare? boolean without a heading
---@field done? boolean
---@field result? string result of a step without text
---@field failed? boolean

---@class tideate.ui.Heading written with the first text below it
---@field step string
---@field text string

---@class tideate.ui.Piece
---@field apart? string a separate paragraph; empty: the next text begins one
---@field call? string the line of a tool call
---@field remark? string a remark about the step

---@param step string
---@return string? list step of the list
local function list_of(step)
  return step:match('^(.*)%[%d+%]$')
end

--- Close a code fence that a step left open.
---@param entry tideate.ui.Run
function M.close_fence(entry)
  entry.stream:flush()
  local lines = vim.api.nvim_buf_get_lines(entry.stream:loaded_buffer(), entry.step_began, -1, false)
  local fence = require('tideate.ui.text.markdown').open_fence(lines)
  if fence then
    entry.stream:write('\n' .. fence)
  end
end

---@param entry tideate.ui.Run
---@param step string
---@param run tideate.Run
---@param bare? boolean without a heading
local function open(entry, step, run, bare)
  M.close_fence(entry)
  entry.stream:paragraph()
  if not bare then
    local list = list_of(step)
    entry.headings = vim.tbl_filter(function(heading)
      return heading.step == list
    end, entry.headings)
    if run.total_steps > 1 or run.kind == 'machine' and step ~= '*' or list then
      table.insert(entry.headings, { step = step, text = (list and '### ' or '## ') .. step })
    end
  end
  entry.stream:flush()
  entry.wrote = false
  entry.step_began = vim.api.nvim_buf_line_count(entry.stream:loaded_buffer()) - 1
  entry.floor = step
end

--- Write the pending headings.
---@param entry tideate.ui.Run
function M.write_headings(entry)
  for _, heading in ipairs(entry.headings) do
    entry.stream:paragraph()
    entry.stream:write(heading.text)
    entry.stream:paragraph()
  end
  entry.headings = {}
end

---@param entry tideate.ui.Run
---@param text string
local function write(entry, text)
  if text ~= '' then
    M.write_headings(entry)
  end
  if entry.stream.at_end then
    entry.stream:paragraph()
  end
  entry.wrote = true
  entry.stream:write(text)
end

--- Write a separate paragraph; the next text begins another one.
---@param entry tideate.ui.Run
---@param text string
local function write_apart(entry, text)
  if text ~= '' then
    M.write_headings(entry)
    M.close_fence(entry)
    entry.stream:paragraph()
    entry.stream:write(text)
  end
  entry.stream.at_end = 'apart'
end

--- Write the line of a tool call, directly below a previous one.
---@param entry tideate.ui.Run
---@param line string
local function write_call(entry, line)
  M.write_headings(entry)
  if entry.stream.at_end == 'call' then
    entry.stream:write('\n> ' .. line)
  else
    write_apart(entry, '> ' .. line)
  end
  entry.stream:flush()
  entry.stream.at_end = 'call'
end

--- Write a remark at once.
---@param entry tideate.ui.Run
---@param text string
---@param step? string subject; default: the step that began last
function M.remark(entry, text, step)
  local last = entry.headings[#entry.headings]
  if last and (not step or (list_of(step) or step) == (list_of(last.step) or last.step)) then
    M.write_headings(entry)
  end
  M.close_fence(entry)
  entry.stream:paragraph()
  entry.stream:write('> ' .. text:gsub('\n', '\n> '))
  entry.stream:paragraph()
end

---@param entry tideate.ui.Run
---@param piece string|tideate.ui.Piece
local function write_piece(entry, piece)
  if type(piece) == 'string' then
    write(entry, piece)
  elseif piece.call then
    write_call(entry, piece.call)
  elseif piece.remark then
    M.remark(entry, piece.remark)
  else
    write_apart(entry, piece.apart)
  end
end

---@param entry tideate.ui.Run
---@param result any result of a step without text
---@param failed? boolean
local function close(entry, result, failed)
  if failed then
    M.write_headings(entry) -- why it failed follows
  elseif not entry.wrote and type(result) == 'string' and result ~= '' then
    write(entry, result)
  end
  M.close_fence(entry)
  entry.floor = nil
end

---@param step string a list item
---@return integer
local function index_of(step)
  return tonumber(step:match('%[(%d+)%]$')) --[[@as integer]]
end

--- Return the waiting section that can be written now; list items in order.
---@param entry tideate.ui.Run
---@return integer? place
local function next_place(entry)
  local list, found = entry.floor, nil ---@type string?, integer?
  if not list and entry.held[1] then
    list, found = list_of(entry.held[1].step), 1
  end
  for place, section in ipairs(list and entry.held or {}) do
    local first = not found or index_of(section.step) < index_of(entry.held[found].step)
    if list_of(section.step) == list and first then
      found = place
    end
  end
  return found
end

--- Write waiting sections, up to a step that still runs.
---@param entry tideate.ui.Run
---@param run tideate.Run
local function release(entry, run)
  local place = next_place(entry)
  while place do
    local section = table.remove(entry.held, place) ---@type tideate.ui.Section
    open(entry, section.step, run, section.bare)
    for _, piece in ipairs(section.pieces) do
      write_piece(entry, piece)
    end
    if section.done then
      close(entry, section.result, section.failed)
    end
    place = next_place(entry)
  end
end

---@param entry tideate.ui.Run
---@param step string
---@return tideate.ui.Section?
local function find_waiting(entry, step)
  return vim.iter(entry.held):find(function(section)
    return section.step == step and not section.done
  end)
end

---@param entry tideate.ui.Run
---@param step string
---@return tideate.ui.Section
local function waiting_section(entry, step)
  local section = find_waiting(entry, step)
  if not section then
    section = { step = step, pieces = {} }
    table.insert(entry.held, section)
  end
  return section
end

--- Handle the start of a step.
---@param entry tideate.ui.Run
---@param step string
---@param run tideate.Run
---@param bare? boolean without a heading
function M.start(entry, step, run, bare)
  if entry.floor and vim.list_contains(run.running, entry.floor:match('^[^%[]*')) and entry.floor ~= step then
    waiting_section(entry, step).bare = bare
  else
    open(entry, step, run, bare)
  end
end

--- Return whether a step's text is written at once.
---@param entry tideate.ui.Run
---@param step string?
---@param run tideate.Run
---@return boolean
function M.is_written(entry, step, run)
  local own = not step or not entry.floor or entry.floor == step or entry.floor == list_of(step)
  return own or not vim.list_contains(run.running, list_of(step) or step)
end

--- Write a piece of a step's text, or let it wait. A silent list item has no section.
---@param entry tideate.ui.Run
---@param step string?
---@param piece string|tideate.ui.Piece
---@param run tideate.Run
function M.put(entry, step, piece, run)
  local list = step and list_of(step)
  if piece.apart == '' and list and entry.floor ~= step and not find_waiting(entry, step) then
    return
  end
  if list and (not entry.floor or entry.floor == list) then
    open(entry, step --[[@as string]], run)
  end
  if M.is_written(entry, step, run) then
    write_piece(entry, piece)
  else
    table.insert(waiting_section(entry, step --[[@as string]]).pieces, piece)
  end
end

--- Handle the end of a step or a list item.
---@param entry tideate.ui.Run
---@param step string
---@param result any
---@param run tideate.Run
---@param failed? boolean
function M.finish(entry, step, result, run, failed)
  if not entry.floor or entry.floor == step or list_of(entry.floor) == step then
    close(entry, result, failed)
  else
    local section = find_waiting(entry, step)
    if section then
      section.done, section.result, section.failed = true, result, failed
    end -- else it was written, or said nothing
  end
  release(entry, run)
end

--- Handle the end of the run: write all that waits.
---@param entry tideate.ui.Run
---@param run tideate.Run
function M.finish_all(entry, run)
  for _, section in ipairs(entry.held) do
    section.done = true
  end
  if entry.floor then
    close(entry)
  end
  release(entry, run)
  entry.headings = {}
end

return M
