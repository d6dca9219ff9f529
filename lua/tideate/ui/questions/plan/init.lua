--- The review of a plan: the files that a run may change.
local M = {}

local api = vim.api

---@type table<string, { [1]: string, [2]: string }> action → sign and group
M.SIGNS = {
  create = { '+', 'TideateAddSign' },
  modify = { '~', 'TideateChangeSign' },
  delete = { '-', 'TideateDeleteSign' },
  move = { '→', 'TideateMoveSign' },
}

local ns = api.nvim_create_namespace('tideate.plan')
local below = api.nvim_create_namespace('tideate.plan.below')

---@class tideate.ui.Plan
---@field files tideate.PlannedFile[]
---@field out table<tideate.PlannedFile, boolean> left out
---@field question tideate.Question
---@field dialog tideate.Dialog
---@field editor tideate.TextEdit?
---@field respond fun(result: table<string, any>)
---@field on_left fun()
---@field rows table<integer, tideate.PlannedFile> by buffer row, 1-based
---@field first integer first row with a file, 0-based
---@field problems string[] reasons that the plan cannot be carried out
---@field message string?
---@field comments tideate.PlaceComments
local Plan = {}
Plan.__index = Plan

---@param file tideate.PlannedFile
---@return string
local function name(file)
  local named = require('tideate.ui.text').name
  return file.move_to and (named(file.path) .. ' → ' .. named(file.move_to)) or named(file.path)
end

---@return tideate.PlannedFile[]
function Plan:kept()
  return vim.tbl_filter(function(file)
    return not self.out[file]
  end, self.files)
end

---@param file tideate.PlannedFile
---@param widest integer
---@param width integer
---@return tideate.Chunk[][]
function Plan:file_lines(file, widest, width)
  local text = require('tideate.ui.text')
  local sign = M.SIGNS[file.action] or { '?', 'TideateWarning' }
  local out, changed = self.out[file], self.comments.changed[file.path]
  -- a path is never cut: its end may matter most
  local parts = text.pieces(name(file), vim.fn.strdisplaywidth(name(file)) > widest and width - 6 or widest)
  local lines = {} ---@type tideate.Chunk[][]
  for index, part in ipairs(parts) do
    table.insert(lines, {
      changed and { '▌', 'TideateChangeSign' } or { ' ' },
      { index > 1 and '  ' or out and '○ ' or '● ', out and 'TideateOut' or 'TideateDone' },
      { (index > 1 and ' ' or sign[1]) .. ' ', out and 'TideateOut' or sign[2] },
      { text.pad(part, widest) .. '  ', out and 'TideateOut' or 'TideatePath' },
    })
  end
  local line = lines[#lines]
  local why = (file.why or ''):gsub('[ \t\n]+', ' ')
  local used = text.width(line)
  if why ~= '' and width - used >= 16 then
    table.insert(line, { text.fit(why, width - used - 1), out and 'TideateOut' or 'TideateHint' })
  end
  return lines
end

--- Return the problems and the question, with the number of remaining files.
---@return { [1]: string, [2]: string? }[] lines text and highlight group
function Plan:asking()
  local lines = {}
  for _, problem in ipairs(self.problems) do
    table.insert(lines, { problem, 'TideateWarning' })
  end
  local said = vim.split(self.question.message or '', '\n')
  local question = table.remove(said) or ''
  for _, line in ipairs(#self.problems == 0 and said or {}) do
    table.insert(lines, { line })
  end
  table.insert(lines, { (question:gsub('%d+ files?', require('tideate.ui.text').counted(#self:kept(), 'file'), 1)) })
  return lines
end

---@param width integer
---@return tideate.Chunk[][]
function Plan:lines(width)
  local text = require('tideate.ui.text')
  local lines = require('tideate.ui.questions.executed_files').lines(self.question, width)
  table.insert(lines, {})
  for _, said in ipairs(self:asking()) do
    for _, line in ipairs(text.wrap(said[1], width - 2)) do
      table.insert(lines, { { ' ' .. line, said[2] } })
    end
  end
  table.insert(lines, {})
  self.rows, self.first = {}, #lines
  local widest = 0
  for _, file in ipairs(self.files) do
    widest = math.max(widest, vim.fn.strdisplaywidth(name(file)))
  end
  widest = math.min(widest, math.floor(width * 0.55))
  for _, file in ipairs(self.files) do
    local shown = self:file_lines(file, widest, width)
    for _, line in ipairs(vim.list_extend(shown, self.comments:shown(file.path, width))) do
      table.insert(lines, line)
      self.rows[#lines] = file
    end
  end
  vim.list_extend(lines, self.comments:shown(nil, width))
  table.insert(lines, {})
  table.insert(lines, { { ' ' .. self:summary(), self.message and 'TideateWarning' or 'TideateHint' } })
  return lines
end

---@return string
function Plan:summary()
  if self.message then
    return self.message
  end
  local kept = #self:kept()
  local taken_out = #self.files - kept
  local files = require('tideate.ui.text').counted(kept, 'file') .. (next(self.comments.changed) and ' · ▌ changed in this revision' or '')
  return taken_out == 0 and files or ('%s, %d taken out'):format(files, taken_out)
end

--- Leave out the file under the cursor, or include it again.
function Plan:toggle()
  local row = api.nvim_win_get_cursor(0)[1]
  local file = self.rows[row]
  if file then
    self.out[file] = not self.out[file] or nil
    if self.editor and self.editor:unfinished() then
      self:comment_out(file, self.out[file] or false)
    end
    self.comments:keep()
    self:redraw()
    while self.rows[row] == file do
      row = row + 1
    end
    if self.rows[row] then
      api.nvim_win_set_cursor(0, { row, 0 })
    end
  end
end

--- Show the whole reason of the file under the cursor, and the details of the plan.
function Plan:details()
  local file = self.rows[api.nvim_win_get_cursor(0)[1]]
  local parts = {}
  if file then
    table.insert(parts, ('**%s** `%s`\n\n%s'):format(file.action, name(file), file.why or ''))
  end
  if (self.question.details or '') ~= '' then
    table.insert(parts, self.question.details)
  end
  require('tideate.ui.questions.preview').open('plan', table.concat(parts, '\n\n---\n\n'), 'markdown')
end

---@param message string?
function Plan:redraw(message)
  self.message = message
  self.dialog:show()
  self.comments:expire(message, function()
    if self.message == message and not self.dialog.closed then
      self:redraw()
    end
  end)
end

--- Show each error below its line, wrapped.
---@param errors tideate.PlanError[]
function Plan:explain(errors)
  api.nvim_buf_clear_namespace(self.editor.buf, below, 0, -1)
  if not require('tideate.ui.window').visible(self.editor.win) then
    return
  end
  local width = api.nvim_win_get_width(self.editor.win)
  for _, err in ipairs(errors) do
    local lines = vim.tbl_map(function(line)
      return { { '  ' .. line, 'TideateFailed' } }
    end, require('tideate.ui.text').wrap(err.message, width - 3))
    api.nvim_buf_set_extmark(self.editor.buf, below, err.row, 0, { virt_lines = lines })
  end
  self:fit_editor()
end

--- Grow the window to the text and the messages below its lines.
function Plan:fit_editor()
  local window = require('tideate.ui.window')
  local columns, rows = window.room()
  local height = api.nvim_win_text_height(self.editor.win, {}).all + 1
  height = math.min(math.max(height, 8), rows - 2)
  if height > api.nvim_win_get_height(self.editor.win) then
    local place = window.centered(math.min(100, columns - 4), height, { relative = 'editor' })
    api.nvim_win_set_config(self.editor.win, place)
  end
end

---@return tideate.PlannedFile[]? files nil if the text has an error
---@return tideate.PlannedFile[]? out
function Plan:check_text()
  local files, errors, out = require('tideate.ui.questions.plan.text').parse(api.nvim_buf_get_lines(self.editor.buf, 0, -1, true))
  vim.diagnostic.set(
    ns,
    self.editor.buf,
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
function Plan:comment_out(file, out)
  local lines = api.nvim_buf_get_lines(self.editor.buf, 0, -1, true)
  local row, line = require('tideate.ui.questions.plan.text').comment(lines, file.path, out)
  if row then
    api.nvim_buf_set_lines(self.editor.buf, row, row + 1, true, { line })
  end
end

function Plan:accept_text()
  local files, out = self:check_text()
  if not files then
    local first = vim.diagnostic.get(self.editor.buf, { namespace = ns })[1]
    api.nvim_win_set_cursor(self.editor.win, { first.lnum + 1, 0 })
    return
  end
  self.editor:taken()
  self.files, self.out = vim.list_extend(vim.list_extend({}, files), out or {}), {}
  for _, file in ipairs(out or {}) do
    self.out[file] = true
  end
  self.comments:keep()
  self:redraw()
  self.dialog:focus()
end

--- Create the editor of the plan's text.
---@param kept integer? buffer with earlier edits
function Plan:make_editor(kept)
  local text_edit = require('tideate.ui.questions.text_edit')
  local function accept()
    self:accept_text()
  end
  if kept then
    text_edit.attach(kept, accept)
    vim.bo[kept].modified = true
    api.nvim_clear_autocmds({ buffer = kept, event = { 'TextChanged', 'InsertLeave' } })
  end
  local buf = kept or text_edit.buffer('plan', self.question.execution_id, accept)
  self.editor = text_edit.new(buf)
  self.editor.win = kept and vim.fn.win_findbuf(kept)[1]
  vim.bo[buf].commentstring = '# %s'
  -- `explain` shows the messages below the lines
  vim.diagnostic.config({ virtual_text = false, signs = false, underline = true }, ns)
  api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, {
    buffer = buf,
    callback = function()
      if self.editor then
        self:check_text()
      end
    end,
  })
end

--- Edit the plan as text, with unfinished edits.
function Plan:edit()
  if not self.editor then
    self:make_editor()
  end
  local editor, lines = self.editor, require('tideate.ui.questions.plan.text').format(self.files, self.out)
  editor:fill(lines)
  if editor:visible() then
    return api.nvim_set_current_win(editor.win)
  end
  editor:open('edit the plan', #lines + 2)
  api.nvim_win_call(editor.win, function()
    vim.fn.matchadd('Comment', '^\\s*#.*')
    vim.fn.matchadd('Statement', '^\\s*\\zs\\(create\\|modify\\|delete\\|move\\)\\>')
  end)
  api.nvim_win_set_cursor(editor.win, { math.min(3, api.nvim_buf_line_count(editor.buf)), 0 })
  self:check_text()
end

---@return string key of kept edits for the next question about the same plan
function Plan:identity()
  return ('plan %s %s'):format(self.question.execution_id, self.question.step)
end

---@return boolean
function Plan:untaken()
  return self.editor ~= nil and self.editor:unfinished()
end

function Plan:accept()
  local left_out = self.comments:left_out(self:untaken(), 'y', true)
  if left_out and self.message ~= left_out then
    return self:redraw(left_out)
  elseif #self:kept() == 0 then
    return self:redraw('no file is left; n declines the plan')
  end
  local files = self:kept()
  self:close(true)
  self.respond({ accepted = true, value = { files = files } })
end

--- Send comments: the model makes another plan from the remaining files.
---@param comments table[]
function Plan:send(comments)
  local left_out = self.comments:left_out(self:untaken(), 'g<CR>', false)
  if left_out and self.message ~= left_out then
    return self:redraw(left_out)
  end
  local value = { files = self:kept(), comments = comments }
  self:close(true)
  self.respond({ accepted = false, value = value, reason = 'comments were sent to the model' })
end

---@return boolean whether the user edited it, left out files or wrote comments
function Plan:is_changed()
  return next(self.out) ~= nil
    or not vim.deep_equal(self.files, self.question.payload.files)
    or self:untaken()
    or #self.comments:list() > 0
end

--- Decline the plan; a changed one after a confirmation.
function Plan:decline()
  require('tideate.ui.questions.confirm_action').decline({
    about = self:summary(),
    back = 'back to the plan',
    decline = 'decline the plan',
    unchanged = not self:is_changed(),
  }, function()
    return not self.dialog.closed
  end, function(reason)
    self:close()
    self.respond({ accepted = false, reason = reason })
  end)
end

--- Leave the plan: its run waits.
function Plan:leave()
  self:close()
  self.on_left()
end

function Plan:focus()
  if self.editor and require('tideate.ui.window').visible(self.editor.win) then
    api.nvim_set_current_win(self.editor.win)
  else
    self.dialog:focus()
  end
end

---@return boolean
function Plan:focused()
  return self.dialog:focused()
end

---@return boolean
function Plan:ready()
  return self.dialog:ready()
end

--- Close the plan. Unfinished edits are kept in their buffer.
---@param answered boolean? the user answered without the edits
function Plan:close(answered)
  self.comments:close()
  local editor = self.editor
  self.editor = nil
  if editor and editor:unfinished() and not answered then
    editor:say_kept()
    local kept = require('tideate.ui.questions.drafts').keep(self:identity(), editor.buf)
    require('tideate.ui').warn(('what you wrote is kept in the buffer %s'):format(kept))
  elseif editor then
    editor:close()
  end
  self.dialog:close()
end

--- Return the state for the draft file. `out` has indexes of files.
---@return { files: tideate.PlannedFile[], out: integer[]? }
function Plan:state()
  local out = {} ---@type integer[]
  for index, file in ipairs(self.files) do
    if self.out[file] then
      table.insert(out, index)
    end
  end
  return { files = self.files, out = #out > 0 and out or nil }
end

--- Restore the files from the draft file.
---@param found table?
function Plan:restore(found)
  local files = found and found.files
  local whole = vim.islist(files)
    and vim.iter(files):all(function(file)
      return type(file) == 'table' and type(file.path) == 'string' and type(file.action) == 'string'
    end)
  if not whole then
    return
  end
  self.files = files
  for _, index in ipairs(vim.islist(found.out) and found.out or {}) do
    if files[index] then
      self.out[files[index]] = true
    end
  end
end

---@return tideate.Key[]
function Plan:keys()
  local keys = require('tideate.ui.keys').of_methods(self, 'plan', {
    { { 'y', '<CR>' }, 'yes', 'continue with these files', 'accept' },
    { 'n', 'no', 'decline the plan; a changed one after a question', 'decline' },
    { { 'x', '<Space>', 'dd' }, 'leave out', 'leave a file out, or include it again', 'toggle' },
    { 'e', 'edit', 'edit the plan as text', 'edit' },
    { { 'd', 'K' }, 'details', 'the whole reason, and the details', 'details' },
    { 'q', 'leave', 'leave it: the run waits', 'leave' },
  })
  keys[5].begins = true -- dd
  return self.comments:add_keys(keys, function(problem)
    self:redraw(problem)
  end)
end

--- Open the review of a plan.
---@param question tideate.Question payload: { files: tideate.PlannedFile[] }
---@param respond fun(result: table<string, any>) called once, unless `on_left` is called
---@param on_left fun() the user left it or closed its window: the run waits
---@return tideate.Asked
function M.open(question, respond, on_left)
  local self = setmetatable({
    files = question.payload.files,
    problems = question.payload.problems or {},
    out = {},
    question = question,
    respond = respond,
    on_left = on_left,
    rows = {},
    first = 0,
  }, Plan)
  self.comments = require('tideate.ui.questions.place_comments').new(question, 'path', {
    at_cursor = function()
      local file = self.rows[api.nvim_win_get_cursor(self.dialog.win)[1]]
      return file and file.path
    end,
    on_changed = function()
      self:redraw()
    end,
    state = function()
      return self:state()
    end,
    respond = function(comments)
      self:send(comments)
    end,
  })
  self:restore(self.comments.found)
  local kept = require('tideate.ui.questions.drafts').take(self:identity())
  if kept then
    self:make_editor(kept)
    self.message = 'your earlier text is kept: e shows it'
  end
  local columns = require('tideate.ui.window').room()
  self:lines(80) -- sets the first row with a file
  self.dialog = require('tideate.ui.questions.dialog').open({
    title = require('tideate.ui.questions.confirm').title(question),
    keys = self:keys(),
    width = math.min(100, columns - 4),
    cursor_from = self.first,
    lines = function(width)
      return self:lines(width)
    end,
    on_closed = function()
      self:leave()
    end,
  })
  return self
end

return M
