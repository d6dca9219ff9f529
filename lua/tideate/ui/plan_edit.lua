--- Editing a plan as text. What was typed stays until the plan is answered.
local M = {}

local ns = vim.api.nvim_create_namespace('tideate.plan')
local below = vim.api.nvim_create_namespace('tideate.plan.below')

---@class tideate.PlanEditor
---@field buf integer
---@field win integer?
---@field on_accepted fun(files: tideate.PlannedFile[], out: tideate.PlannedFile[])
---@field back integer?
local Editor = {}
Editor.__index = Editor

---@param id string of the run, for the buffer's name
---@param on_accepted fun(files: tideate.PlannedFile[], out: tideate.PlannedFile[]) each time the person accepts
---a valid text; `out` are files in comments
---@return tideate.PlanEditor
function M.new(id, on_accepted)
  local buf = require('tideate.ui.window').scratch(('tideate://plan/%s/%d'):format(id:sub(1, 8), vim.uv.hrtime()))
  vim.bo[buf].buftype = 'acwrite'
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].commentstring = '# %s'
  local self = setmetatable({ buf = buf, on_accepted = on_accepted }, Editor)
  -- shown whole, below the line: see `explain`
  vim.diagnostic.config({ virtual_text = false, signs = false, underline = true }, ns)
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buf,
    callback = function()
      self:accept()
    end,
  })
  vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, {
    buffer = buf,
    callback = function()
      self:check()
    end,
  })
  vim.keymap.set('n', '<CR>', function()
    self:accept()
  end, { buffer = buf, nowait = true, desc = 'take this plan' })
  return self
end

--- Whether there is typed text that was not accepted.
---@return boolean
function Editor:unfinished()
  return vim.api.nvim_buf_is_valid(self.buf) and vim.bo[self.buf].modified
end

--- Show each error below its line, wrapped: a line's end has no room for it.
---@param errors tideate.PlanError[]
function Editor:explain(errors)
  vim.api.nvim_buf_clear_namespace(self.buf, below, 0, -1)
  if not require('tideate.ui.window').visible(self.win) then
    return
  end
  local width = vim.api.nvim_win_get_width(self.win)
  for _, err in ipairs(errors) do
    local lines = vim.tbl_map(function(line)
      return { { '  ' .. line, 'TideateFailed' } }
    end, require('tideate.ui.text').wrap(err.message, width - 3))
    vim.api.nvim_buf_set_extmark(self.buf, below, err.row, 0, { virt_lines = lines })
  end
  self:fit()
end

--- As high as the text and what stands below its lines.
function Editor:fit()
  local window = require('tideate.ui.window')
  local columns, rows = window.room()
  local height = vim.api.nvim_win_text_height(self.win, {}).all + 1
  height = math.min(math.max(height, 8), rows - 2)
  if height > vim.api.nvim_win_get_height(self.win) then
    local place = window.centered(math.min(100, columns - 4), height, { relative = 'editor' })
    vim.api.nvim_win_set_config(self.win, place)
  end
end

---@return tideate.PlannedFile[]? files nil if the text has an error
---@return tideate.PlannedFile[]? out
function Editor:check()
  local files, errors, out = require('tideate.ui.plan_text').parse(vim.api.nvim_buf_get_lines(self.buf, 0, -1, true))
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

--- Follow the person, who took a file out of the plan, or back in, while their text is not taken yet.
---@param file tideate.PlannedFile
---@param out boolean
function Editor:comment(file, out)
  local lines = vim.api.nvim_buf_get_lines(self.buf, 0, -1, true)
  local row, line = require('tideate.ui.plan_text').comment(lines, file.path, out)
  if row then
    vim.api.nvim_buf_set_lines(self.buf, row, row + 1, true, { line })
  end
end

function Editor:accept()
  local files, out = self:check()
  if not files then
    local first = vim.diagnostic.get(self.buf, { namespace = ns })[1]
    vim.api.nvim_win_set_cursor(self.win, { first.lnum + 1, 0 })
    return
  end
  vim.bo[self.buf].modified = false
  vim.cmd.stopinsert()
  self:hide()
  self.on_accepted(files, out or {})
end

--- Show the text; what was typed before is still there.
---@param files tideate.PlannedFile[] the plan as it is now
---@param out table<tideate.PlannedFile, boolean> files that were taken out
function Editor:show(files, out)
  local window, text = require('tideate.ui.window'), require('tideate.ui.text')
  local lines = require('tideate.ui.plan_text').format(files, out)
  if not self:unfinished() then
    vim.api.nvim_buf_set_lines(self.buf, 0, -1, true, lines)
    vim.bo[self.buf].modified = false
  end
  local columns, rows = window.room()
  self.back = vim.api.nvim_get_current_win()
  self.win = window.over(
    self.buf,
    window.centered(math.min(100, columns - 4), math.min(math.max(#lines + 2, 8), rows - 2), {
      title = { { ' edit the plan ', 'TideateTitle' } },
      footer = text.keys({ { '<CR>', 'take it' }, { ':w', 'take it' }, { ':q', 'back' } }, columns - 4),
      zindex = 110,
    })
  )
  vim.api.nvim_win_call(self.win, function()
    vim.fn.matchadd('Comment', '^\\s*#.*')
    vim.fn.matchadd('Statement', '^\\s*\\zs\\(create\\|modify\\|delete\\|move\\)\\>')
  end)
  vim.api.nvim_win_set_cursor(self.win, { math.min(3, vim.api.nvim_buf_line_count(self.buf)), 0 })
  self:check()
end

function Editor:hide()
  local window = require('tideate.ui.window')
  window.close(self.win)
  self.win = nil
  if window.visible(self.back) then
    vim.api.nvim_set_current_win(self.back)
  end
end

function Editor:close()
  require('tideate.ui.window').close(self.win)
  if vim.api.nvim_buf_is_valid(self.buf) then
    vim.api.nvim_buf_delete(self.buf, { force = true })
  end
end

return M
