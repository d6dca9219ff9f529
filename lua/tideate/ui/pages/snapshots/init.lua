--- The window of the project's snapshots: a list, and the difference to one of them.
local M = {}

local actions = require('tideate.ui.pages.snapshots.actions')
local key = require('tideate.ui.keys').key
local pages = require('tideate.ui.pages.window')
local snapshot_text = require('tideate.ui.pages.snapshots.text')

---@class tideate.ui.Snapshots
---@field folder string of the project
---@field one? tideate.Snapshot compared with the current files
---@field row integer of the cursor in the list
---@field asked integer number of requests; only the last answer is shown

local window ---@type tideate.ui.PageWindow

--- Return the compared snapshot, else the one under the cursor.
---@return tideate.Snapshot?
local function selected()
  if window:is_visible() then
    return window.shown.one or (window.page.snapshots or {})[window:row()]
  end
end

--- Request a page; only the last answer is shown, and none after the window was closed.
---@param method string
---@param params table<string, any>
---@param take fun(result: tideate.Result)
local function load(method, params, take)
  local it = window.shown ---@type tideate.ui.Snapshots?
  if not it then
    return
  end
  it.asked = it.asked + 1
  local ticket = it.asked
  params.folder = it.folder
  require('tideate.stored_runs').request(method, params, function(result)
    if window.shown == it and it.asked == ticket then
      take(result)
    end
  end)
end

local function show_list()
  load('snapshots', {}, function(result)
    window.shown.one = nil
    window:draw(snapshot_text.list(result), window.shown.row)
  end)
end

---@param one tideate.Snapshot
local function show_diff(one)
  if not window.shown.one then
    window.shown.row = window:row()
  end
  load('snapshot_diff', { snapshot_id = one.id, changes = true }, function(result)
    window.shown.one = one
    window:draw(snapshot_text.diff(one, result), 1)
  end)
end

--- Reload after the snapshots or the files changed.
local function changed()
  if not window:is_visible() then
    return
  elseif window.shown.one then
    show_diff(window.shown.one)
  else
    show_list()
  end
end

---@param action fun(one: tideate.Snapshot, folder: string)
---@return fun()
local function of_selected(action)
  return function()
    local one = selected()
    if one then
      action(one, window.shown.folder)
    end
  end
end

---@param delete_added boolean
---@return fun()
local function restore(delete_added)
  return of_selected(function(one, folder)
    actions.restore(one, delete_added, folder, changed)
  end)
end

window = pages.new('snapshots', function(it)
  local diffed = it ~= nil and it.one ~= nil
  return {
    key({ '<CR>', 'd' }, diffed and 'fold' or 'diff', 'the differences to the current files; there: open or close a file', function()
      local one = selected()
      if it.one then
        pages.toggle_fold()
      elseif one then
        show_diff(one)
      end
    end),
    key('r', 'restore', 'restore the changed files; files created since stay', restore(false)),
    key('R', nil, 'the same, and delete files created since', restore(true)),
    key('c', 'create', 'make a snapshot of the files as they are now', function()
      local folder = it.folder
      vim.ui.input({ prompt = 'Name of the snapshot: ' }, function(name)
        if name then
          actions.create(vim.trim(name), folder, changed)
        end
      end)
    end),
    key('x', not diffed and 'delete' or nil, 'delete it', of_selected(function(one, folder)
      actions.delete(one, folder, function()
        if window:is_visible() then
          show_list()
        end
      end)
    end)),
    key({ 'q', '<Esc>' }, diffed and 'back' or 'close', 'back to the list, or close this window', function()
      if it.one then
        show_list()
      else
        window:close()
      end
    end),
  }
end)

function M.close()
  window:close()
end

--- Show the snapshots; with a name, create one.
---@param name string may be empty
function M.run(name)
  local folder = require('tideate.context').folder()
  if name ~= '' then
    return actions.create(name, folder, changed)
  end
  local may_focus = pages.expect()
  require('tideate.stored_runs').request('snapshots', { folder = folder }, function(result)
    local enter = may_focus()
    -- reuse the window: keys typed during a switch would reach a file
    if window:is_visible() and enter then
      vim.api.nvim_set_current_win(window.win)
    end
    window:show({ folder = folder, row = 1, asked = 0 }, snapshot_text.list(result), nil, enter)
  end)
end

return M
