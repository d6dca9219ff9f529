--- The window of the project's snapshots: a list, and the difference to one of them.
local M = {}

---@class tideate.ui.Snapshots
---@field window tideate.ui.PageWindow
---@field folder string of the project
---@field page tideate.ui.SnapshotsPage
---@field one? tideate.Snapshot compared with the current files
---@field row integer of the cursor in the list
---@field asked integer number of requests; only the last answer is shown

---@type tideate.ui.Snapshots?
local shown

local show_list

---@return boolean
function M.is_visible()
  return require('tideate.ui.page_window').shows(shown)
end

function M.close()
  local it = shown
  if it then
    shown = nil
    require('tideate.ui.page_window').close(it.window)
  end
end

--- Return the compared snapshot, else the one under the cursor.
---@return tideate.Snapshot?
local function selected()
  if not M.is_visible() then
    return nil
  end
  return shown.one or (shown.page.snapshots or {})[vim.api.nvim_win_get_cursor(shown.window.win)[1]]
end

---@param folder string
---@param page tideate.ui.SnapshotsPage
---@param enter boolean
local function open(folder, page, enter)
  local window = require('tideate.ui.page_window')
  local it = { folder = folder, page = page, row = 1, asked = 0 }
  shown = it
  it.window = window.open(page, M.keys, {
    closed = function()
      shown = shown ~= it and shown or nil
    end,
  }, enter)
end

---@param page tideate.ui.SnapshotsPage
---@param row? integer
local function draw(page, row)
  shown.page = page
  require('tideate.ui.page_window').draw(shown.window, page, row)
end

--- Request a page; only the last answer is shown, and none after the window was closed.
---@param method string
---@param params table<string, any>
---@param take fun(result: tideate.Result)
local function load(method, params, take)
  local it = shown
  if not it then
    return
  end
  it.asked = it.asked + 1
  local ticket = it.asked
  require('tideate.stored_runs').request(method, vim.tbl_extend('force', params, { folder = it.folder }), function(result)
    if shown == it and it.asked == ticket then
      take(result)
    end
  end)
end

function show_list()
  load('snapshots', {}, function(result)
    shown.one = nil
    draw(require('tideate.ui.snapshots.text').list(result), shown.row)
  end)
end

---@param one tideate.Snapshot
local function show_diff(one)
  if not shown.one then
    shown.row = vim.api.nvim_win_get_cursor(shown.window.win)[1]
  end
  load('snapshot_diff', { snapshot_id = one.id, changes = true }, function(result)
    shown.one = one
    draw(require('tideate.ui.snapshots.text').diff(one, result), 1)
  end)
end

--- Reload after the snapshots or the files changed.
local function changed()
  if not M.is_visible() then
    return
  elseif shown.one then
    show_diff(shown.one)
  else
    show_list()
  end
end

---@param doing fun(one: tideate.Snapshot, folder: string)
---@return fun()
local function of_selected(doing)
  return function()
    local one = selected()
    if one then
      doing(one, shown.folder)
    end
  end
end

---@param delete_added boolean
---@return fun()
local function restore(delete_added)
  return of_selected(function(one, folder)
    require('tideate.ui.snapshots.actions').restore(one, delete_added, folder, changed)
  end)
end

local function create()
  local folder = shown.folder
  vim.ui.input({ prompt = 'Name of the snapshot: ' }, function(name)
    if name then
      require('tideate.ui.snapshots.actions').create(vim.trim(name), folder, changed)
    end
  end)
end

local function enter()
  local one = selected()
  if shown.one then
    -- a line without a fold has none to open
    pcall(vim.cmd, 'normal! za')
  elseif one then
    show_diff(one)
  end
end

local function back()
  if shown and shown.one then
    show_list()
  else
    M.close()
  end
end

---@return tideate.Key[]
function M.keys()
  local diffed = shown ~= nil and shown.one ~= nil
  local function key(lhs, word, desc, run)
    return { lhs = lhs, word = word, desc = desc, run = run }
  end
  return {
    key({ '<CR>', 'd' }, diffed and 'fold' or 'diff', 'what differs from it now; there: open or close a file', enter),
    key({ 'r' }, 'restore', 'restore what differs; files made since stay', restore(false)),
    key({ 'R' }, nil, 'the same, and delete what was made since', restore(true)),
    key({ 'c' }, 'create', 'make a snapshot of the files as they are now', create),
    key({ 'x' }, not diffed and 'delete' or nil, 'delete it', of_selected(function(one, folder)
      require('tideate.ui.snapshots.actions').delete(one, folder, function()
        if M.is_visible() then
          show_list()
        end
      end)
    end)),
    key({ 'q', '<Esc>' }, diffed and 'back' or 'close', 'back to the list, or close this window', back),
    key({ '?', 'g?' }, 'help', 'this help', function()
      require('tideate.ui.keys').help('snapshots', M.keys())
    end),
  }
end

--- Show the snapshots; with a name, create one.
---@param name string may be empty
function M.run(name)
  local folder = require('tideate.context').folder()
  if name ~= '' then
    return require('tideate.ui.snapshots.actions').create(name, folder, changed)
  end
  local may_focus = require('tideate.ui.page_window').expect()
  require('tideate.stored_runs').request('snapshots', { folder = folder }, function(result)
    local page = require('tideate.ui.snapshots.text').list(result)
    if M.is_visible() then
      -- reuse the window: keys typed during a switch would reach a file
      shown.folder, shown.one, shown.asked = folder, nil, shown.asked + 1
      if may_focus() then
        vim.api.nvim_set_current_win(shown.window.win)
      end
    else
      open(folder, page, may_focus())
    end
    draw(page)
  end)
end

return M
