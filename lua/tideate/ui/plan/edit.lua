--- Editing of a plan as text. Edits are kept until the plan is answered.
local M = {}

local api = vim.api

local ns = api.nvim_create_namespace('tideate.plan')
local below = api.nvim_create_namespace('tideate.plan.below')

---@class tideate.PlanEditor: tideate.TextEdit
---@field on_accepted fun(files: tideate.PlannedFile[], out: tideate.PlannedFile[])
local Editor = setmetatable({}, { __index = require('tideate.ui.text_edit').TextEdit })
Editor.__index = Editor

---@param id string run id for the buffer's name
---@param on_accepted fun(files: tideate.PlannedFile[], out: tideate.PlannedFile[]) called with each accepted,
---valid text; `out` are commented files
---@param kept integer? buffer with earlier edits
---@return tideate.PlanEditor
function M.new(id, on_accepted, kept)
  local self = setmetatable({ on_accepted = on_accepted }, Editor)
  local text_edit = require('tideate.ui.text_edit')
  local function accept()
    self:accept()
  end
  if kept then
    text_edit.attach(kept, accept)
    vim.bo[kept].modified = true
    api.nvim_clear_autocmds({ buffer = kept, event = { 'TextChanged', 'InsertLeave' } })
    self.win = vim.fn.win_findbuf(kept)[1]
  end
  self.buf = kept or text_edit.buffer('plan', id, accept)
  vim.bo[self.buf].commentstring = '# %s'
  -- `explain` shows the messages below the lines
  vim.diagnostic.config({ virtual_text = false, signs = false, underline = true }, ns)
  api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, {
    buffer = self.buf,
    callback = function()
      self:check()
    end,
  })
  return self
end

--- Show each error below its line, wrapped.
---@param errors tideate.PlanError[]
function Editor:explain(errors)
  api.nvim_buf_clear_namespace(self.buf, below, 0, -1)
  if not require('tideate.ui.window').visible(self.win) then
    return
  end
  local width = api.nvim_win_get_width(self.win)
  for _, err in ipairs(errors) do
    local lines = vim.tbl_map(function(line)
      return { { '  ' .. line, 'TideateFailed' } }
    end, require('tideate.ui.text').wrap(err.message, width - 3))
    api.nvim_buf_set_extmark(self.buf, below, err.row, 0, { virt_lines = lines })
  end
  self:fit()
end

--- Grow the window to the text and the messages below its lines.
function Editor:fit()
  local window = require('tideate.ui.window')
  local columns, rows = window.room()
  local height = api.nvim_win_text_height(self.win, {}).all + 1
  height = math.min(math.max(height, 8), rows - 2)
  if height > api.nvim_win_get_height(self.win) then
    local place = window.centered(math.min(100, columns - 4), height, { relative = 'editor' })
    api.nvim_win_set_config(self.win, place)
  end
end

---@return tideate.PlannedFile[]? files nil if the text has an error
---@return tideate.PlannedFile[]? out
function Editor:check()
  local files, errors, out = require('tideate.ui.plan.text').parse(api.nvim_buf_get_lines(self.buf, 0, -1, true))
  vim.diagnostic.set(
    ns,
    self.buf,
    vim.tbl_map(function(err)
      local severity = vim.diagnostic.severity.ERROR
      return { lnum = err.row, col = 0, message = err.message, severity = severity, source = 'tideate' }
    end, errors)
  )
  self:explain(errors)
  if #errors == 0 then
    return files, out
  end
end

--- Comment or uncomment a file that the user toggled in the plan, in an unfinished text.
---@param file tideate.PlannedFile
---@param out boolean
function Editor:comment(file, out)
  local lines = api.nvim_buf_get_lines(self.buf, 0, -1, true)
  local row, line = require('tideate.ui.plan.text').comment(lines, file.path, out)
  if row then
    api.nvim_buf_set_lines(self.buf, row, row + 1, true, { line })
  end
end

function Editor:accept()
  local files, out = self:check()
  if not files then
    local first = vim.diagnostic.get(self.buf, { namespace = ns })[1]
    api.nvim_win_set_cursor(self.win, { first.lnum + 1, 0 })
    return
  end
  self:taken()
  self.on_accepted(files, out or {})
end

--- Show the text with unfinished edits.
---@param files tideate.PlannedFile[] files of the current plan
---@param out table<tideate.PlannedFile, boolean> files left out
function Editor:show(files, out)
  local lines = require('tideate.ui.plan.text').format(files, out)
  self:fill(lines)
  if self:visible() then
    return api.nvim_set_current_win(self.win)
  end
  self:open('edit the plan', #lines + 2)
  api.nvim_win_call(self.win, function()
    vim.fn.matchadd('Comment', '^\\s*#.*')
    vim.fn.matchadd('Statement', '^\\s*\\zs\\(create\\|modify\\|delete\\|move\\)\\>')
  end)
  api.nvim_win_set_cursor(self.win, { math.min(3, api.nvim_buf_line_count(self.buf)), 0 })
  self:check()
end

return M
