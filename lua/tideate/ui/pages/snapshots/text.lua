--- Text of the snapshots window: the list, and the difference to one snapshot.
local M = {}

local text = require('tideate.ui.text')

---@class tideate.Snapshot
---@field id string
---@field name string
---@field timestamp integer milliseconds since the epoch
---@field files integer
---@field size integer bytes
---@field skipped_count integer paths left out
---@field pinned string[] ids of runs that need it for their rollback

---@class tideate.SnapshotDiff
---@field path string
---@field status 'added'|'modified'|'deleted'
---@field changes string a unified diff, or a note

---@class tideate.ui.SnapshotsPage: tideate.ui.Page
---@field snapshots? tideate.Snapshot[] by line

---@type table<tideate.SnapshotDiff.status, { [1]: string, [2]: string }> sign and group
M.SIGNS = {
  added = { '+', 'TideateAddSign' },
  modified = { '~', 'TideateChangeSign' },
  deleted = { '-', 'TideateDeleteSign' },
}

---@param one tideate.Snapshot
---@return string
function M.name(one)
  return ('%s “%s”'):format(one.id:sub(1, 8), text.plain(one.name))
end

---@param one tideate.Snapshot
---@return tideate.Chunk[]
local function row(one)
  local line = {
    { (' %s  '):format(one.id:sub(1, 8)), 'TideateHint' },
    { os.date('%b %d %H:%M:%S  ', math.floor(one.timestamp / 1000)) },
    { ('%7s  %8.1f MiB  '):format(one.files, one.size / 2 ^ 20), 'TideateHint' },
    { one.name, 'TideateTitle' },
  }
  if one.skipped_count > 0 then
    table.insert(line, { ('  %d left out'):format(one.skipped_count), 'TideateWarning' })
  end
  if #one.pinned > 0 then
    table.insert(line, { ('  kept for run %s'):format(one.pinned[1]:sub(1, 8)), 'TideateKey' })
  end
  return line
end

---@param result {snapshots: tideate.Snapshot[], damaged: string[]}
---@return tideate.ui.SnapshotsPage
function M.list(result)
  local page = { title = 'snapshots', lines = vim.tbl_map(row, result.snapshots), snapshots = result.snapshots }
  if #page.lines == 0 then
    page.lines = { { { ' none yet: c makes one of the files as they are now', 'TideateHint' } } }
  end
  for _, words in ipairs(result.damaged) do
    table.insert(page.lines, { { ' ' .. words, 'TideateFailed' } })
  end
  return page
end

---@param file tideate.SnapshotDiff
---@return tideate.Chunk[]
function M.file_line(file)
  local sign = M.SIGNS[file.status]
  return { { (' %s '):format(sign[1]), sign[2] }, { text.name(file.path), 'TideatePath' } }
end

--- Build the page of the differing files, each with its lines in a fold.
---@param one tideate.Snapshot
---@param result {files: tideate.SnapshotDiff[], more: integer}
---@return tideate.ui.SnapshotsPage
function M.diff(one, result)
  local page = { title = 'since snapshot ' .. M.name(one), lines = {}, folds = {} }
  for _, file in ipairs(result.files) do
    table.insert(page.lines, M.file_line(file))
    local first = #page.lines + 1
    local changes = file.changes ~= '' and vim.split((file.changes:gsub('\n$', '')), '\n', { plain = true }) or {}
    for _, line in ipairs(changes) do
      table.insert(page.lines, text.patch_line(line))
    end
    if #changes > 1 then
      table.insert(page.folds, { first, #page.lines })
    end
  end
  if #result.files == 0 then
    page.lines = { { { ' every file is as it was then', 'TideateDone' } } }
  elseif result.more > 0 then
    local words = (' … and %s: `tideate snapshot diff` in a shell'):format(text.counted(result.more, 'more file'))
    table.insert(page.lines, { { words, 'TideateHint' } })
  end
  return page
end

--- Describe the effect of a restore, as Markdown.
---@param result {files: tideate.SnapshotDiff[], more: integer}
---@param delete_added boolean
---@return string message, string details, boolean anything whether a file would change
function M.restore_words(result, delete_added)
  local count, lines = { added = 0, modified = 0, deleted = 0 }, {}
  for _, file in ipairs(result.files) do
    count[file.status] = count[file.status] + 1
    if file.status ~= 'added' or delete_added then
      local doing = ({ added = 'delete', modified = 'write', deleted = 'restore' })[file.status]
      table.insert(lines, ('- %s `%s`'):format(doing, text.name(file.path)))
    end
  end
  if result.more > 0 then
    table.insert(lines, ('- and %s'):format(text.counted(result.more, 'more file')))
  end
  local parts = {} ---@type string[]
  local function part(number, words)
    if number > 0 then
      table.insert(parts, ('%s %s'):format(text.counted(number, 'file'), words))
    end
  end
  part(count.modified, 'written')
  part(count.deleted, 'restored')
  part(count.added, delete_added and 'deleted, made since (never what git ignores)' or 'left, made since')
  return table.concat(parts, ', '), table.concat(lines, '\n'), #lines > 0
end

return M
