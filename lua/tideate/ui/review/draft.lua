--- Decisions of a review, written down as they are made: they outlive Neovim and its host.
---
--- A line of the file is a step: decisions that were made together, or that one was reverted or made again. The
--- engine names the file, which is of this question alone, and removes it once it has the answer.

---@class tideate.ReviewDraft: tideate.ReviewComments
local Draft = setmetatable({}, { __index = require('tideate.ui.review.comments') })

local STATES = { o = 'open', a = 'accepted', r = 'rejected' }

---@param text string
---@return any value nil of what is no JSON, as a line that was cut
local function decode(text)
  local ok, value = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  return ok and value or nil
end

---@param comment tideate.ReviewComment?
---@return { text: string, because: boolean? }|userdata
local function packed(comment)
  return comment and { text = comment.text, because = comment.because } or vim.NIL
end

--- Append a step. What cannot be written down is told once: the review goes on without it.
---@param step table
function Draft:write_down(step)
  local path = self.question.draft
  if not path or path == '' or self.unwritten then
    return
  end
  local file, err = io.open(path, 'a')
  local ok = file and file:write(vim.json.encode(step), '\n')
  if not (file and file:close() and ok) then
    self.unwritten = true
    local words = 'the decisions of this review would not outlive Neovim: %s'
    require('tideate.ui').notify(words:format(err or 'they cannot be written'), vim.log.levels.WARN)
  end
end

--- Write decisions down that were made in one step.
---@param decisions tideate.ReviewDecision[]
function Draft:write_decisions(decisions)
  local made = {}
  for _, one in ipairs(decisions) do
    local unit = one.unit
    local file, hunk = 0, 0 -- all of it
    if unit ~= self.model then
      file, hunk = unit.entry.index, unit.number
    end
    table.insert(made, { file, hunk, (one.state or ''):sub(1, 1), packed(one.comment) })
  end
  self:write_down({ decided = made })
end

--- Read a step's decisions.
---@param made any
---@return tideate.ReviewDecision[]
function Draft:read_decisions(made)
  local decisions = {} ---@type tideate.ReviewDecision[]
  for _, one in ipairs(type(made) == 'table' and made or {}) do
    local file, hunk, state, comment = one[1], one[2], STATES[one[3] or ''], one[4]
    local entry = self.model.entries[file]
    local unit = file == 0 and self.model or entry and entry.units[hunk]
    if unit and (state or unit == self.model) then
      table.insert(decisions, { unit = unit, state = state, comment = comment })
    end
  end
  return decisions
end

--- Make the decisions again that an earlier Neovim, or this one before its host died, had written down.
function Draft:restore()
  local path = self.question.draft
  local file = path and path ~= '' and io.open(path, 'r')
  if not file then
    return
  end
  local cut = false
  for line in file:lines('*L') do
    cut = line:sub(-1) ~= '\n'
    local step = decode(line)
    local decisions = step and step.decided and self:read_decisions(step.decided) or {}
    if #decisions > 0 then
      self:make(decisions)
    elseif step and (step.again == 'past' or step.again == 'future') then
      self:move(step.again)
    end
  end
  file:close()
  if cut then
    self:write_down({}) -- ends the line
  end
end

return Draft
