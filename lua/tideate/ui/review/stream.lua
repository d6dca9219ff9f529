--- Draws hunks in the buffer while a model writes them, until the review replaces them. Asks and writes nothing.
local M = {}

local api = vim.api
local ui = require('tideate.ui')

--- Workflows that show their answers in the buffer, without an output window.
---@type table<string, true>
M.IN_PLACE = { edit = true }

local labels = api.nvim_create_namespace('tideate.review.label')

--- Modules that draw a hunk, loaded while the model thinks.
local DRAWING = {
  'tideate.ui.review.model',
  'tideate.ui.review.hunk_position',
  'tideate.ui.review.merge',
  'tideate.ui.review.words',
  'tideate.ui.review.syntax',
  'tideate.ui.review.scratch_buffer',
  'tideate.ui.review.overlay',
}

---@class tideate.StreamedRun
---@field buf integer
---@field layer integer
---@field before string text that the hunks are of
---@field label integer extmark at its lines
---@field overlay? tideate.Overlay
---@field review? tideate.Review that shows the whole change
---@field scrolled? table<integer, true> windows in which a winbar covers a line
---@field stop_ticking? fun()

---@type table<string, tideate.StreamedRun>
local runs = {}
---@type string[] oldest first
local order = {}
---@type table<integer, fun()> restores the keys, by buffer
local keys = {}

local ENDS = {
  SD_EVENT_WORKFLOW_COMPLETED = true,
  SD_EVENT_WORKFLOW_FAILED = true,
  SD_EVENT_WORKFLOW_CANCELLED = true,
}

---@param one tideate.StreamedRun
---@return integer row 0-based
local function row_of(one)
  return api.nvim_buf_get_extmark_by_id(one.buf, labels, one.label, {})[1] or 0
end

--- Show a spinner and the stop key at the run's lines.
---@param id string
local function draw_label(id)
  local one, run = runs[id], require('tideate.state').get_status(id)
  if not one or not run or not api.nvim_buf_is_loaded(one.buf) then
    return
  end
  local chunks = require('tideate.ui.progress').title(run)
  table.insert(chunks, { '· <C-c> stops', 'TideateHint' })
  api.nvim_buf_set_extmark(one.buf, labels, row_of(one), 0, { id = one.label, virt_text = chunks, strict = false })
end

--- Show the label while the run works; while it waits for the user, keep only the mark of its place.
---@param id string
---@param working boolean
local function set_working(id, working)
  local one = runs[id]
  if working and not one.stop_ticking then
    draw_label(id)
    one.stop_ticking = require('tideate.ui.progress').tick(function()
      draw_label(id)
    end)
  elseif not working and one.stop_ticking then
    one.stop_ticking()
    one.stop_ticking = nil
    if api.nvim_buf_is_loaded(one.buf) then
      api.nvim_buf_set_extmark(one.buf, labels, row_of(one), 0, { id = one.label })
    end
  end
end

--- Return the run at the cursor, or the newest run of the buffer.
---@param buf integer
---@return string? id
local function run_here(buf)
  local row, newest = api.nvim_win_get_cursor(0)[1] - 1, nil ---@type integer, string?
  for _, id in ipairs(order) do
    local one = runs[id]
    if one.buf == buf then
      local lines = require('tideate.ui.ranges').lines(id)
      if row_of(one) == row or lines and lines.first <= row + 1 and row < lines.last then
        return id
      end
      newest = id
    end
  end
  return newest
end

--- Stop the run at the cursor. A review is declined only after a question.
---@param buf integer
local function stop(buf)
  local id = run_here(buf)
  local review = id and runs[id].review
  if review and not review.closed then
    return require('tideate.ui.review.decisions').ask_to_decline(review)
  elseif id then
    require('tideate').cancel(id)
  end
end

---@param buf integer
local function set_keys(buf)
  if not keys[buf] then
    keys[buf] = require('tideate.ui.keys').set(buf, {
      require('tideate.ui.keys').key('<C-c>', nil, 'stop the edit of these lines', function()
        stop(buf)
      end),
    })
  end
end

---@param buf integer
local function release_keys(buf)
  for _, one in pairs(runs) do
    if one.buf == buf then
      return
    end
  end
  keys[buf]()
  keys[buf] = nil
end

---@return integer layer that no run uses
local function free_layer()
  local layer = 1
  while vim.iter(pairs(runs)):any(function(_, one)
    return one.layer == layer
  end) do
    layer = layer + 1
  end
  return layer
end

---@param id string
---@param buf integer
---@param row integer 0-based
local function add(id, buf, row)
  require('tideate.ui.highlights').define()
  row = math.min(row, api.nvim_buf_line_count(buf) - 1)
  runs[id] = { buf = buf, layer = free_layer(), before = '', label = api.nvim_buf_set_extmark(buf, labels, row, 0, {}) }
  table.insert(order, id)
  set_keys(buf)
  ui.load_ahead(DRAWING)
end

--- Mark the lines of a new run of these workflows.
---@param id string
---@param name string of the workflow
---@param context tideate.Context
function M.begin(id, name, context)
  local buf = (context.buffer or {}).number
  if M.IN_PLACE[name] and buf and api.nvim_buf_is_loaded(buf) then
    local line = context.selection and context.selection.start or (context.cursor or {}).line or 1
    add(id, buf, line - 1)
  end
end

---@param one tideate.StreamedRun
local function clear(one)
  if one.overlay then
    one.overlay:close()
    one.overlay = nil
  end
end

---@param one tideate.StreamedRun
---@param hunks tideate.Hunk[]
local function show(one, hunks)
  if #hunks == 0 or not api.nvim_buf_is_loaded(one.buf) then
    return clear(one)
  end
  for _, hunk in ipairs(hunks) do
    hunk.new = vim.list_slice(hunk.new, 1, vim.o.lines) -- no more fit on the screen
  end
  local file = { path = api.nvim_buf_get_name(one.buf), action = 'modify', buffer = one.buf, before = one.before, hunks = hunks }
  local entry = require('tideate.ui.review.model').new({ payload = { files = { file } } }).entries[1]
  if one.overlay then
    return one.overlay:replace(entry)
  end
  one.overlay = require('tideate.ui.review.overlay').attach(one.buf, entry, function() end, one.layer)
  one.overlay:draw()
end

--- Scroll the current window by a line, so that its text stays in place when a winbar comes above it.
---@return boolean done whether there was a line to scroll
local function scroll_down()
  local view = vim.fn.winsaveview()
  if view.topline < view.lnum then
    vim.fn.winrestview({ topline = view.topline + 1 })
  end
  return view.topline < view.lnum
end

--- Replace the drawn hunks of a run by its review.
---@param review tideate.Review with its winbars
function M.hand_over(review)
  local one = runs[review.question.execution_id]
  if not one then
    return
  end
  one.review, one.scrolled = review, {}
  for _, win in ipairs(vim.fn.win_findbuf(one.buf)) do
    one.scrolled[win] = vim.wo[win].winbar ~= '' and api.nvim_win_call(win, scroll_down) or nil
  end
  review:draw() -- before the hunks are gone: nothing flickers
  clear(one)
end

--- Return a function that keeps the text in place after a review closes its winbars.
---@param id string of the run
---@return fun()
function M.keep_views(id)
  local one, tops = runs[id], {}
  local function showing(win)
    return api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == one.buf
  end
  for win in pairs(one and one.scrolled or {}) do
    -- now: Neovim scrolls a window whose winbar goes
    tops[win] = showing(win) and math.max(1, vim.fn.line('w0', win) - 1) or nil
  end
  return function()
    for win, top in pairs(tops) do
      if showing(win) then
        api.nvim_win_call(win, function()
          vim.fn.winrestview({ topline = top })
        end)
      end
    end
  end
end

---@param id string
local function finish(id)
  local one = runs[id]
  set_working(id, false)
  clear(one)
  if api.nvim_buf_is_valid(one.buf) then
    api.nvim_buf_del_extmark(one.buf, labels, one.label)
  end
  runs[id] = nil
  order = vim.tbl_filter(function(other)
    return other ~= id
  end, order)
  release_keys(one.buf)
end

--- Handle an event of any run.
---@param event tideate.Event
function M.on_event(event)
  local id, name, data = event.execution_id, event.name, event.data or {}
  if name == 'SD_EVENT_HUNKS_STREAMED' and not runs[id] and api.nvim_buf_is_loaded(data.buffer) then
    add(id, data.buffer, #data.hunks > 0 and data.hunks[1].start or 0) -- of an earlier run's lines, which only the host knows
    set_working(id, true)
  end
  local one = runs[id]
  if not one then
    return
  elseif ENDS[name] or (name == 'SD_EVENT_WORKFLOW_PAUSED' and data.reason == 'interrupted') then
    finish(id)
  elseif name == 'SD_EVENT_HUNKS_STREAMED' then
    one.before = data.before or one.before
    show(one, data.hunks)
  elseif name == 'SD_EVENT_NOTICE' and data.level == 'warn' then
    ui.warn(('%s: %s'):format(require('tideate.state').get_status(id).name, data.message))
  elseif name == 'SD_EVENT_WORKFLOW_STARTED' or name == 'SD_EVENT_CONFIRMATION_ANSWERED' then
    set_working(id, true)
  elseif name == 'SD_EVENT_CONFIRMATION_REQUIRED' then
    set_working(id, false)
  end
end

return M
