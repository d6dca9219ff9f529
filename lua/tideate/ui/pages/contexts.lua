--- The list of a project's mentions with a preview.
local M = {}

local api = vim.api
local ui = require('tideate.ui')
local editor_context = require('tideate.context')
local keys = require('tideate.ui.keys')
local text = require('tideate.ui.text')
local window = require('tideate.ui.window')

local BESIDE = 110 -- minimum columns for the preview beside the list
local ns = api.nvim_create_namespace('tideate.contexts')

---@class tideate.ui.Contexts
---@field mentions tideate.Mention[]
---@field context tideate.Context editor context of the request
---@field list integer window
---@field preview integer window
---@field texts table<string, string[]> by mention
---@field asked table<string, boolean>
---@field back integer window

---@param one tideate.Mention
---@param width integer of the mentions
---@param room integer
---@return tideate.Chunk[]
local function line_of(one, width, room)
  local looks = one.exists and 'TideateKey' or 'TideateWaiting'
  local note = one.note ~= '' and '  ' .. one.note or ''
  return text.fit_chunks({
    { ' ' .. text.pad(one.mention, width) .. '  ', looks },
    { one.points_to, 'TideateHint' },
    { note, one.exists and 'TideateWarning' or 'TideateFailed' },
  }, room)
end

---@param mentions tideate.Mention[]
---@param room integer
---@return tideate.Chunk[][]
local function lines_of(mentions, room)
  local width = 0
  for _, one in ipairs(mentions) do
    width = math.max(width, vim.fn.strdisplaywidth(one.mention))
  end
  return vim.tbl_map(function(one)
    return line_of(one, width, room)
  end, mentions)
end

---@param item table<string, any>
---@return string[]
local function text_of(item)
  local head = { ('%s  %s'):format(item.mention, item.source), ('about %d tokens'):format(item.tokens) }
  if item.needs_consent then
    table.insert(head, ('asked about before it is given to a model: %s'):format(item.reason))
  end
  if item.cut ~= '' then
    table.insert(head, item.cut)
  end
  table.insert(head, '')
  return vim.list_extend(head, vim.split(item.content, '\n', { plain = true }))
end

---@param view tideate.ui.Contexts
---@return tideate.Mention
local function current(view)
  return view.mentions[api.nvim_win_get_cursor(view.list)[1]]
end

---@param view tideate.ui.Contexts
local function draw(view)
  if not window.visible(view.preview) or not api.nvim_win_is_valid(view.list) then
    return
  end
  local lines = view.texts[current(view).mention] or { '…' }
  local chunks = {}
  for _, line in ipairs(lines) do
    table.insert(chunks, { { line } })
  end
  text.render(api.nvim_win_get_buf(view.preview), ns, chunks)
  api.nvim_win_set_cursor(view.preview, { 1, 0 })
end

--- Show the content of the mention under the cursor; it is requested once.
---@param view tideate.ui.Contexts
local function show(view)
  local one = current(view)
  if not view.asked[one.mention] then
    view.asked[one.mention] = true
    local params = { mention = one.mention, folder = editor_context.folder(), context = view.context }
    require('tideate.client').request('context_show', params, function(result)
      view.texts[one.mention] = result.ok and text_of(result.item) or vim.split(result.error or 'called off', '\n')
      draw(view)
    end)
  end
  draw(view)
end

---@param count integer
---@return table<string, any> list, table<string, any> preview positions of the two floats
local function places(count)
  local columns, lines = window.room()
  if columns >= BESIDE then
    local width = math.floor((columns - 8) * 0.45)
    local height = math.max(8, math.min(lines - 4, 30))
    local row = math.max(0, math.floor((lines - height - 2) / 2))
    local rest = columns - 8 - width
    return { row = row, col = 1, width = width, height = height }, { row = row, col = width + 4, width = rest, height = height }
  end
  local height = math.max(1, math.min(count, math.floor((lines - 4) / 2)))
  local list = { row = 0, col = 1, width = columns - 4, height = height }
  return list, { row = height + 2, col = 1, width = columns - 4, height = math.max(1, lines - height - 4) }
end

---@param view tideate.ui.Contexts
local function close(view)
  window.close(view.preview)
  window.close(view.list)
  if window.visible(view.back) then
    api.nvim_set_current_win(view.back)
  end
end

---@param view tideate.ui.Contexts
---@return tideate.Key[]
local function keys_of(view)
  local key = keys.key
  return {
    key('y', 'copy', 'copy the mention', function()
      local mention = current(view).mention
      vim.fn.setreg('"', mention)
      ui.notify(('copied %s'):format(mention))
    end),
    key({ 'q', '<Esc>' }, 'close', 'close', function()
      close(view)
    end),
  }
end

--- Open mentions with a preview of the one under the cursor.
---@param mentions tideate.Mention[]
---@param context tideate.Context editor context of the request
function M.open(mentions, context)
  local view = { mentions = mentions, context = context, texts = {}, asked = {}, back = api.nvim_get_current_win() } ---@type tideate.ui.Contexts
  local list, preview = places(#mentions)
  local wiped = { bufhidden = 'wipe' }
  local names, shown = window.scratch(nil, wiped), window.scratch(nil, wiped)
  text.render(names, ns, lines_of(mentions, list.width))
  local table_of_keys = keys_of(view)
  view.preview = window.float(shown, false, vim.tbl_extend('force', preview, { zindex = 90, focusable = true }))
  view.list = window.float(names, true, vim.tbl_extend('force', list, {
    title = { { ' context ', 'TideateTitle' } },
    footer = text.keys(keys.words(table_of_keys)),
    zindex = 91,
  }))
  window.options(view.list, { cursorline = true, wrap = false })
  window.options(view.preview, { wrap = false })
  keys.set(names, table_of_keys)
  api.nvim_create_autocmd('CursorMoved', {
    buffer = names,
    callback = function()
      show(view)
    end,
  })
  api.nvim_create_autocmd('WinLeave', {
    buffer = names,
    callback = vim.schedule_wrap(function()
      if api.nvim_get_current_win() ~= view.preview then
        close(view)
      end
    end),
  })
  show(view)
end

--- Request the project's mentions and show them.
function M.show()
  local context = editor_context.capture()
  local params = { folder = editor_context.folder(), context = context }
  require('tideate.client').request_or_tell('contexts', params, function(result)
    require('tideate.mentions').set_host_mentions(result)
    M.open(result.mentions, context)
  end)
end

return M
