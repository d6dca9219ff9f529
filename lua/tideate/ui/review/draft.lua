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
    local file, hunk, taken = 0, 0, nil -- all of it
    if unit ~= self.model then
      file, hunk = unit.entry.index, (unit.own or -1) + 1
      taken = require('tideate.ui.review.alternatives').adapter(unit) and unit.hunks[1]
    end
    table.insert(made, { file, hunk, (one.state or ''):sub(1, 1), packed(one.comment), taken })
  end
  self:write_down({ decided = made })
end

--- Read a step's decisions. A hunk that was taken of another run is named by its lines: the other runs of the
--- comparison may have ended meanwhile, and then its place is undecided.
---@param made any
---@return tideate.ReviewDecision[]
function Draft:read_decisions(made)
  local decisions = {} ---@type tideate.ReviewDecision[]
  for _, one in ipairs(type(made) == 'table' and made or {}) do
    local file, hunk, state, comment, taken = one[1], one[2], STATES[one[3] or ''], one[4], one[5]
    local entry = self.model.entries[file]
    if file == 0 then
      table.insert(decisions, { unit = self.model, comment = comment })
    elseif entry and state then
      local unit, variant = require('tideate.ui.review.alternatives').find(entry, hunk - 1, taken)
      if unit then
        local found = variant or not (taken or unit.variants)
        table.insert(decisions, { unit = unit, state = found and state or 'open', comment = comment, variant = variant })
      end
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
    if step and step.decided then
      self:make(self:read_decisions(step.decided))
    elseif step and (step.again == 'past' or step.again == 'future') then
      self:move(step.again)
    end
  end
  file:close()
  local function remains(decisions)
    return #decisions > 0
  end
  self.past, self.future = vim.tbl_filter(remains, self.past), vim.tbl_filter(remains, self.future)
  if cut then
    self:write_down({}) -- ends the line
  end
end

return Draft
