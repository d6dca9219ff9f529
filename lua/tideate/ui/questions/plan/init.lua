--- Dialog in which the user reviews and edits a plan: the files that a run may change.
local M = {}

local api = vim.api
local plan_text = require('tideate.ui.questions.plan.text')
local preview = require('tideate.ui.questions.preview')
local text = require('tideate.ui.text')
local text_edit = require('tideate.ui.questions.text_edit')
local ui_keys = require('tideate.ui.keys')
local window = require('tideate.ui.window')

---@type table<string, { [1]: string, [2]: string }> action → sign and group
M.SIGNS = {
  create = { '+', 'TideateAddSign' },
  modify = { '~', 'TideateChangeSign' },
  delete = { '-', 'TideateDeleteSign' },
  move = { '→', 'TideateMoveSign' },
}

local ns = api.nvim_create_namespace('tideate.plan')
local below = api.nvim_create_namespace('tideate.plan.below')

---@class tideate.ui.Plan: tideate.ProposalSubject
---@field files tideate.PlannedFile[]
---@field out table<tideate.PlannedFile, boolean> left out
---@field question tideate.Question
---@field proposal tideate.Proposal
---@field rows table<integer, tideate.PlannedFile> by buffer row, 1-based
---@field first integer first row with a file, 0-based
local Plan = {
  kind = 'plan',
  unit = 'path',
  noun = 'file',
  answers = {
    yes = 'continue with these files',
    no = 'decline the plan; a changed one after a question',
    back = 'back to the plan',
    decline = 'decline the plan',
  },
}
Plan.__index = Plan

---@param file tideate.PlannedFile
---@return string
local function name(file)
  return file.move_to and (text.name(file.path) .. ' → ' .. text.name(file.move_to)) or text.name(file.path)
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
  local sign = M.SIGNS[file.action] or { '?', 'TideateWarning' }
  local out, changed = self.out[file], self.proposal.changed[file.path]
  local function group(usual)
    return out and 'TideateOut' or usual
  end
  -- a path is never cut: its end may matter most
  local parts = text.pieces(name(file), vim.fn.strdisplaywidth(name(file)) > widest and width - 6 or widest)
  local lines = {} ---@type tideate.Chunk[][]
  for index, part in ipairs(parts) do
    local first = index == 1
    table.insert(lines, {
      changed and { '▌', 'TideateChangeSign' } or { ' ' },
      { not first and '  ' or out and '○ ' or '● ', group('TideateDone') },
      { (first and sign[1] or ' ') .. ' ', group(sign[2]) },
      { text.pad(part, widest) .. '  ', group('TideatePath') },
    })
  end
  local line = lines[#lines]
  local why, room = (file.why or ''):gsub('[ \t\n]+', ' '), width - text.width(line)
  if why ~= '' and room >= 16 then
    table.insert(line, { text.fit(why, room - 1), group('TideateHint') })
  end
  return lines
end

--- Return the problems, or the message, and the question with the number of remaining files.
---@return { [1]: string, [2]: string? }[] lines text and highlight group
function Plan:asking()
  local problems = self.question.payload.problems or {}
  local lines = vim.tbl_map(function(problem)
    return { problem, 'TideateWarning' }
  end, problems)
  local said = vim.split(self.question.message or '', '\n')
  local question = table.remove(said) or ''
  for _, line in ipairs(#problems == 0 and said or {}) do
    table.insert(lines, { line })
  end
  table.insert(lines, { (question:gsub('%d+ files?', text.counted(#self:kept(), 'file'), 1)) })
  return lines
end

---@param width integer
---@return tideate.Chunk[][]
function Plan:lines(width)
  local proposal = self.proposal
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
    for _, line in ipairs(vim.list_extend(shown, proposal:comment_lines(file.path, width))) do
      table.insert(lines, line)
      self.rows[#lines] = file
    end
  end
  vim.list_extend(lines, proposal:comment_lines(nil, width))
  table.insert(lines, {})
  local words, group = proposal.message, 'TideateWarning'
  if not words then
    words, group = self:summary(), 'TideateHint'
  end
  table.insert(lines, { { ' ' .. words, group } })
  return lines
end

---@return string
function Plan:summary()
  local kept = #self:kept()
  local taken_out = #self.files - kept
  local files = text.counted(kept, 'file') .. (next(self.proposal.changed) and ' · ▌ changed in this revision' or '')
  return taken_out == 0 and files or ('%s, %d taken out'):format(files, taken_out)
end

---@param row integer
---@return string? path
function Plan:place_at(row)
  return self.rows[row] and self.rows[row].path
end

--- Leave out the file under the cursor, or include it again.
function Plan:toggle()
  local row = api.nvim_win_get_cursor(0)[1]
  local file, proposal = self.rows[row], self.proposal
  if not file then
    return
  end
  self.out[file] = not self.out[file] or nil
  if proposal.editor:unfinished() then
    local buf = proposal.editor.buf
    local line_row, line = plan_text.comment(proposal.editor:lines(), file.path, self.out[file] or false)
    if line_row then
      api.nvim_buf_set_lines(buf, line_row, line_row + 1, true, { line })
    end
  end
  proposal:keep()
  proposal:redraw()
  while self.rows[row] == file do
    row = row + 1
  end
  if self.rows[row] then
    api.nvim_win_set_cursor(0, { row, 0 })
  end
end

--- Show the whole reason of the file under the cursor, and the details of the plan.
function Plan:details()
  local file, parts = self.rows[api.nvim_win_get_cursor(0)[1]], {}
  if file then
    table.insert(parts, ('**%s** `%s`\n\n%s'):format(file.action, name(file), file.why or ''))
  end
  if (self.question.details or '') ~= '' then
    table.insert(parts, self.question.details)
  end
  preview.open('plan', table.concat(parts, '\n\n---\n\n'), 'markdown')
end

--- Show each error below its line, wrapped; grow the window for them.
---@param errors tideate.PlanError[]
function Plan:explain(errors)
  local buf, win = self.proposal.editor.buf, self.proposal.editor.win
  api.nvim_buf_clear_namespace(buf, below, 0, -1)
  if not window.visible(win) then
    return
  end
  local width = api.nvim_win_get_width(win)
  for _, err in ipairs(errors) do
    local lines = vim.tbl_map(function(line)
      return { { '  ' .. line, 'TideateFailed' } }
    end, text.wrap(err.message, width - 3))
    api.nvim_buf_set_extmark(buf, below, err.row, 0, { virt_lines = lines })
  end
  local columns, rows = window.room()
  local height = math.min(math.max(api.nvim_win_text_height(win, {}).all + 1, 8), rows - 2)
  if height > api.nvim_win_get_height(win) then
    api.nvim_win_set_config(win, window.centered(math.min(100, columns - 4), height, { relative = 'editor' }))
  end
end

---@return tideate.PlannedFile[]? files nil if the text has an error
---@return tideate.PlannedFile[] out
function Plan:check_text()
  local editor = self.proposal.editor
  local files, errors, out = plan_text.parse(editor:lines())
  vim.diagnostic.set(
    ns,
    editor.buf,
    vim.tbl_map(function(err)
      local severity = vim.diagnostic.severity.ERROR
      return { lnum = err.row, col = 0, message = err.message, severity = severity, source = 'tideate' }
    end, errors)
  )
  self:explain(errors)
  return #errors == 0 and files or nil, out
end

--- Accept the text of the editor.
function Plan:take()
  local editor, proposal = self.proposal.editor, self.proposal
  local files, out = self:check_text()
  if not files then
    local first = vim.diagnostic.get(editor.buf, { namespace = ns })[1]
    return api.nvim_win_set_cursor(editor.win, { first.lnum + 1, 0 })
  end
  editor:taken()
  self.files, self.out = vim.list_extend(vim.list_slice(files), out), {}
  for _, file in ipairs(out) do
    self.out[file] = true
  end
  proposal:keep()
  proposal:redraw()
  proposal.dialog:focus()
end

--- Edit the plan as text, with unfinished edits.
function Plan:edit()
  local editor, lines = self.proposal.editor, plan_text.format(self.files, self.out)
  editor:fill(lines)
  if not editor:open('edit the plan', #lines + 2) then
    return
  end
  api.nvim_win_call(editor.win, function()
    vim.fn.matchadd('Comment', '^\\s*#.*')
    vim.fn.matchadd('Statement', '^\\s*\\zs\\(create\\|modify\\|delete\\|move\\)\\>')
  end)
  api.nvim_win_set_cursor(editor.win, { math.min(3, api.nvim_buf_line_count(editor.buf)), 0 })
  self:check_text()
end

---@return { files: tideate.PlannedFile[] } value, string? refusal
function Plan:value()
  local files = self:kept()
  return { files = files }, #files == 0 and 'no file is left; n declines the plan' or nil
end

---@return boolean whether the user edited it or left out files
function Plan:is_changed()
  return next(self.out) ~= nil or not vim.deep_equal(self.files, self.question.payload.files)
end

--- Return the state for the draft file. `out` has indexes of files.
---@return { files: tideate.PlannedFile[], out: integer[]? }
function Plan:state()
  local out = {} ---@type integer[]
  for index, file in ipairs(self.files) do
    table.insert(out, self.out[file] and index or nil)
  end
  return { files = self.files, out = #out > 0 and out or nil }
end

--- Restore the files from the draft file.
---@param found table
function Plan:restore(found)
  local files = found.files
  local valid = vim.islist(files)
    and vim.iter(files):all(function(file)
      return type(file) == 'table' and type(file.path) == 'string' and type(file.action) == 'string'
    end)
  self.files = valid and files or self.files
  for _, index in ipairs(valid and vim.islist(found.out) and found.out or {}) do
    if files[index] then
      self.out[files[index]] = true
    end
  end
end

---@return tideate.Key[]
function Plan:keys()
  local function call(method)
    return function()
      self[method](self)
    end
  end
  local toggle = ui_keys.key({ 'x', '<Space>', 'dd' }, 'leave out', 'leave a file out, or include it again', call('toggle'))
  local details = ui_keys.key({ 'd', 'K' }, 'details', 'the whole reason, and the details', call('details'))
  details.begins = true -- dd
  return { toggle, ui_keys.key('e', 'edit', 'edit the plan as text', call('edit')), details }
end

---@param buf integer
function Plan:prepare_editor(buf)
  vim.bo[buf].commentstring = '# %s'
  -- `explain` shows the messages below the lines
  vim.diagnostic.config({ virtual_text = false, signs = false, underline = true }, ns)
  api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, {
    group = text_edit.group,
    buffer = buf,
    callback = function()
      self:check_text()
    end,
  })
end

--- Open the review of a plan.
---@param question tideate.Question payload: { files: tideate.PlannedFile[] }
---@param respond fun(result: table<string, any>) called once, unless `on_left` is called
---@param on_left fun() the user left it or closed its window: the run waits
---@return tideate.Asked
function M.open(question, respond, on_left)
  local self = setmetatable({ files = question.payload.files, out = {}, question = question, rows = {}, first = 0 }, Plan)
  self.proposal = require('tideate.ui.questions.proposal').new(self, question, respond, on_left)
  self:prepare_editor(self.proposal.editor.buf)
  if self.proposal.found then
    self:restore(self.proposal.found)
  end
  self:lines(80) -- sets the first row with a file
  return self.proposal:open({ cursor_from = self.first })
end

return M
