--- Actions on a snapshot: create, restore, delete.
local M = {}

local ui = require('tideate.ui')
local ui_text = require('tideate.ui.text')

local function words()
  return require('tideate.ui.pages.snapshots.text')
end

---@param method string
---@param params table<string, any>
---@param on_result fun(result: tideate.Result)
local function ask(method, params, on_result)
  require('tideate.stored_runs').request(method, params, on_result)
end

--- Create a snapshot of the current files.
---@param name string
---@param folder string
---@param on_done fun()
function M.create(name, folder, on_done)
  ask('snapshot_create', { name = name, folder = folder }, function(result)
    local one = result.snapshot ---@type tideate.Snapshot
    local left = vim.tbl_keys(result.skipped or {})
    table.sort(left)
    local more = #left > 0 and ('; left out: %s'):format(ui_text.names(vim.list_slice(left, 1, 5))) or ''
    local more_left = #left > 5 and (' and %d more'):format(one.skipped_count - 5) or ''
    local text = ('snapshot %s: %s%s%s'):format(words().name(one), ui_text.counted(one.files, 'file'), more, more_left)
    ui.notify(text, #left > 0 and vim.log.levels.WARN or nil)
    on_done()
  end)
end

---@param one tideate.Snapshot
---@param delete_added boolean
---@param folder string
---@param on_done fun()
local function restore(one, delete_added, folder, on_done)
  local params = { snapshot_id = one.id, delete_added = delete_added, folder = folder }
  ask('snapshot_restore', params, function(result)
    local done = {} ---@type string[]
    for _, part in ipairs({ { #result.written, 'restored' }, { #result.deleted, 'deleted' } }) do
      if part[1] > 0 then
        table.insert(done, ('%s %s'):format(ui_text.counted(part[1], 'file'), part[2]))
      end
    end
    local text = #done == 0 and 'every file was as it was then' or table.concat(done, ', ')
    if result.before then
      text = ('%s; snapshot %s has them as they were until now'):format(text, result.before:sub(1, 8))
    end
    for path, why in pairs(result.left or {}) do
      text = ('%s; left: %s: %s'):format(text, ui_text.name(path), why)
    end
    ui.notify(text)
    on_done()
  end)
end

--- Restore a snapshot after a confirmation that lists the changes.
---@param one tideate.Snapshot
---@param delete_added boolean also delete files created since
---@param folder string
---@param on_done fun()
function M.restore(one, delete_added, folder, on_done)
  local expecting = require('tideate.ui.typing').expect()
  -- an interrupted restore is rolled back first, so that the confirmation shows the real difference
  ask('snapshot_diff', { snapshot_id = one.id, changes = false, recover = true, folder = folder }, function(result)
    local message, details, anything = words().restore_words(result, delete_added)
    if not anything then
      return ui.notify(message == '' and 'every file is as it was then' or ('nothing to restore; %s'):format(message))
    end
    require('tideate.ui.questions.confirm_action').yes({
      about = 'snapshot',
      doing = 'restore',
      message = ('Restore %s? %s. What is there now is kept in a snapshot before.'):format(words().name(one), message),
      details = details,
    }, function()
      restore(one, delete_added, folder, on_done)
    end, expecting)
  end)
end

--- Delete a snapshot after a confirmation.
---@param one tideate.Snapshot
---@param folder string
---@param on_done fun()
function M.delete(one, folder, on_done)
  local needed = #one.pinned > 0 and (' The run %s still needs it for its rollback.'):format(one.pinned[1]:sub(1, 8)) or ''
  require('tideate.ui.questions.confirm_action').yes({
    about = 'snapshot',
    doing = 'delete',
    message = ('Delete %s?%s A deleted snapshot is gone for good.'):format(words().name(one), needed),
    cautious = true,
  }, function()
    ask('snapshot_delete', { snapshot_id = one.id, folder = folder }, function()
      ui.notify(('deleted: %s'):format(words().name(one)))
      on_done()
    end)
  end)
end

return M
