--- Undo history and draft file of a review's decisions, stored as they are made.
--- They survive Neovim and its host.
---
--- A step is a list of decisions made together, an undo or a redo. The first line of the file names files and hunks by
--- number; if the numbering changed, the engine has renumbered the steps.
local M = {}

local alternatives = require('tideate.ui.review.alternatives')

---@class tideate.ReviewDecision
---@field unit tideate.ReviewUnit|tideate.ReviewModel the model: a comment on the whole change
---@field state? 'open'|'accepted'|'rejected' of a hunk
---@field comment? tideate.ReviewComment
---@field variant? integer shown variant
---@field edit? tideate.Hunk|false the user's version of the hunk; false: as proposed

---@class tideate.ReviewHistory
---@field model tideate.ReviewModel
---@field past tideate.ReviewDecision[][] inverse steps for undo, the newest last
---@field future tideate.ReviewDecision[][]
---@field draft tideate.DraftFile
local History = {}
History.__index = History

---@param question tideate.Question
---@param model tideate.ReviewModel
---@return tideate.ReviewHistory
function M.new(question, model)
  local draft = require('tideate.ui.questions.draft_file').new(question)
  return setmetatable({ model = model, past = {}, future = {}, draft = draft }, History)
end

---@param model tideate.ReviewModel
---@param decisions tideate.ReviewDecision[]
---@return tideate.ReviewDecision[] before
local function carry_out(model, decisions)
  return vim.tbl_map(function(one)
    local unit = one.unit
    local before = { unit = unit, state = unit.state, comment = unit.comment }
    local variant = one.variant ~= unit.variant and one.variant or nil
    if variant then
      before.variant = unit.variant
    end
    if variant or one.edit ~= nil then
      before.edit = unit.edit or false
    end
    if unit == model then
      model.comment = one.comment
    else
      model:set(unit --[[@as tideate.ReviewUnit]], one.state, one.comment)
    end
    if variant then
      alternatives.show(unit --[[@as tideate.ReviewUnit]], variant)
    end
    if one.edit ~= nil then
      alternatives.set_edit(unit --[[@as tideate.ReviewUnit]], one.edit)
    end
    return before
  end, decisions)
end

--- Make decisions as one step that `gu` undoes.
---@param decisions tideate.ReviewDecision[]
function History:make(decisions)
  table.insert(self.past, carry_out(self.model, decisions))
  self.future = {}
end

--- Undo or redo a step.
---@param from 'past'|'future'
---@return tideate.ReviewDecision[]? decisions nil without such a step
function History:move(from)
  local decisions = table.remove(self[from])
  if decisions then
    table.insert(from == 'past' and self.future or self.past, carry_out(self.model, decisions))
  end
  return decisions
end

--- Make decisions and store them.
---@param decisions tideate.ReviewDecision[]
function History:change(decisions)
  self:make(decisions)
  self:write_decisions(decisions)
end

local STATES = { o = 'open', a = 'accepted', r = 'rejected' }

--- Append a step.
---@param step table
function History:write(step)
  self.draft:write(step)
end

--- Append the decisions of one step.
---@param decisions tideate.ReviewDecision[]
function History:write_decisions(decisions)
  self:write({ decided = vim.tbl_map(function(one)
    local unit = one.unit
    local file, hunk, taken = 0, 0, nil -- the whole change
    if unit ~= self.model then
      file, hunk = unit.entry.index, (unit.own or -1) + 1
      taken = alternatives.adapter(unit) and unit.hunks[1]
    end
    local comment = one.comment and { text = one.comment.text, because = one.comment.because } or vim.NIL
    local row = { file, hunk, (one.state or ''):sub(1, 1), comment, taken }
    if one.edit ~= nil then
      row[5], row[6] = taken or vim.NIL, one.edit and { old = one.edit.old, new = one.edit.new }
    end
    return row
  end, decisions) })
end

---@param lines any
---@return boolean
local function are_lines(lines)
  return vim.islist(lines)
    and vim.iter(lines):all(function(line)
      return type(line) == 'string' and not line:find('[\n%z]')
    end)
end

--- Read the user's version of a hunk. It is at the place of the hunk.
---@param unit tideate.ReviewUnit
---@param edit any
---@return tideate.Hunk|false? edit
---@return boolean ok whether it is valid or nil
local function read_edit(unit, edit)
  if edit == nil or edit == false then
    return edit, true
  end
  local ok = type(edit) == 'table' and are_lines(edit.old) and are_lines(edit.new)
  if not ok or require('tideate.ui.review.model').obstacle_to_edit(unit) then
    return nil, false
  end
  return { start = unit.proposed[1].start, old = edit.old, new = edit.new }, true
end

--- Read a decision. A hunk of another run is identified by its lines; if that run ended meanwhile, the place is
--- undecided.
---@param one any
---@return tideate.ReviewDecision?
---@return boolean ok whether it is valid
function History:read_decision(one)
  one = type(one) == 'table' and one or {}
  local file, hunk, state, comment, taken = one[1], one[2], STATES[one[3]], one[4], one[5]
  local is_comment = comment == nil or type(comment) == 'table' and type(comment.text) == 'string'
  if not is_comment or (taken ~= nil and type(taken) ~= 'table') then
    return nil, false
  end
  comment = comment and { text = comment.text, because = comment.because == true or nil }
  if file == 0 then
    return { unit = self.model, comment = comment }, true
  end
  local entry = self.model.entries[file]
  if not (entry and state and type(hunk) == 'number') then
    return nil, false
  end
  local unit, variant = alternatives.find(entry, hunk - 1, taken)
  if not unit then
    return nil, taken ~= nil
  end
  local edit, readable = read_edit(unit, one[6])
  if not readable then
    return nil, false
  end
  local found = variant or not (taken or unit.variants)
  if variant == unit.variant then
    variant = nil -- it is shown already: an edit of it stays
  end
  return { unit = unit, state = found and state or 'open', comment = comment, variant = variant, edit = edit }, true
end

--- Repeat a step.
---@param step table?
---@return boolean ok whether it is valid
function History:repeat_step(step)
  if not step then
    return false
  elseif vim.islist(step.decided) then
    local decisions, ok = {}, true ---@type tideate.ReviewDecision[], boolean
    for _, one in ipairs(step.decided) do
      local decision, valid = self:read_decision(one)
      table.insert(decisions, decision)
      ok = ok and valid
    end
    self:make(decisions) -- even without decisions: later undo steps count it
    return ok
  elseif step.again == 'past' or step.again == 'future' then
    self:move(step.again)
    return true
  end
  return step.decided == nil and step.again == nil and not vim.islist(step) or vim.tbl_isempty(step)
end

--- Restore the decisions of an earlier Neovim or host. From now on only this Neovim writes.
function History:restore()
  local damaged = self.draft:read(function(step)
    return self:repeat_step(step)
  end)
  if damaged > 0 then
    local words = require('tideate.ui.text').counted(damaged, 'step')
    local message = '%s of earlier decisions could not be read and is left out: check the decisions'
    require('tideate.ui').warn(message:format(words))
  end
end

return M
