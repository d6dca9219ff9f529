--- Export of runs into a buffer that the person saves where they like.
local M = {}

---@class tideate.ui.ExportFormat
---@field name string of the host
---@field label string
---@field extension string

---@type tideate.ui.ExportFormat[]
local FORMATS = {
  { name = 'markdown', label = 'Markdown', extension = 'md' },
  { name = 'json', label = 'JSON', extension = 'json' },
}

--- A name that no file of the working directory and no buffer has.
---@param stem string
---@param extension string
---@return string
local function free_name(stem, extension)
  local name, number = ('%s.%s'):format(stem, extension), 1
  while vim.uv.fs_stat(name) or vim.fn.bufexists(vim.fn.fnamemodify(name, ':p')) == 1 do
    number = number + 1
    name = ('%s-%d.%s'):format(stem, number, extension)
  end
  return name
end

---@param ids string[]
---@param format tideate.ui.ExportFormat
---@param text string
local function open(ids, format, text)
  local short = require('tideate.stored_runs').short
  local stem = #ids == 1 and 'run-' .. short(ids[1]) or ('runs-%s-and-%d'):format(short(ids[1]), #ids - 1)
  local win = require('tideate.ui.window').for_files()
  if win then
    vim.api.nvim_set_current_win(win)
  end
  vim.cmd('aboveleft new')
  vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split((text:gsub('\n$', '')), '\n', { plain = true }))
  vim.api.nvim_buf_set_name(0, free_name(stem, format.extension))
  vim.bo.modeline = false
  vim.bo.filetype = format.name
  vim.bo.modified = true
  require('tideate.ui').notify(':write saves it', vim.log.levels.INFO)
end

--- Export the marked runs, without marks that of a line.
---@param node tideate.ui.Node
---@param controls tideate.ui.PanelControls
function M.of(node, controls)
  local marks, ids = controls.marks(), {} ---@type table<string, tideate.ui.Node>, string[]
  for _, run in ipairs(controls.runs()) do
    if marks[run.id] then
      table.insert(ids, run.id)
    end
  end
  ids = #ids > 0 and ids or { node.run.id }
  local what = #ids == 1 and 'the run' or ('%d runs'):format(#ids)
  vim.ui.select(FORMATS, {
    prompt = ('Export %s as:'):format(what),
    format_item = function(format)
      return format.label
    end,
  }, function(format)
    if format then
      local params = { execution_ids = ids, format = format.name, folder = controls.folder() }
      require('tideate.stored_runs').ask('export', params, function(result)
        open(ids, format, result.text)
      end)
    end
  end)
end

return M
