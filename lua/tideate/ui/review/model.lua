--- Data of a review: files, hunks, the decision on each, counts, and the result for the engine.
local M = {}

local alternatives = require('tideate.ui.review.alternatives')
local text = require('tideate.ui.text')

---@class tideate.ReviewFile
---@field path string
---@field action 'create'|'modify'|'delete'|'move'
---@field move_to? string
---@field whole? boolean decided as a whole: binary, link or mode change
---@field note? string change without lines: `binary, 3 bytes`, `mode 644 → 755`
---@field marks? string[] reasons to look at the file: `1 conflict`, `2 fewer assertions`
---@field folded? 'moved'|'formatting' kind of a change of form only
---@field conflict? boolean a whole file that the user changed as well
---@field checked? string last check of the file and its result
---@field buffer? integer
---@field filetype? string
---@field before? string base text of the hunks
---@field hunks tideate.Hunk[]
---@field digest? string of the base text, only with a buffer
---@field decided? { accepted: integer[], rejected: integer[], added?: tideate.Hunk[], edited?: tideate.EditedHunk[] } in an earlier round, by 0-based hunk

--- One decision: a hunk of a modified file, else the whole file.
---@class tideate.ReviewUnit
---@field hunks tideate.Hunk[] as shown
---@field proposed tideate.Hunk[] as proposed
---@field edit? tideate.Hunk the user's version; `old` are the replaced lines
---@field state 'open'|'accepted'|'rejected'
---@field stale boolean the user changed its lines
---@field conflict boolean the user changed its lines before the review: only a decision of its own accepts it
---@field offer? tideate.Hunk merged with the user's edits; only for visible stale units
---@field comment? tideate.ReviewComment
---@field entry tideate.ReviewEntry
---@field number integer in its file
---@field own? integer 0-based hunk of the file; nil if only another run changes the place
---@field variants? tideate.ReviewVariant[] own hunk and those of other runs
---@field variant? integer shown variant

---@class tideate.EditedHunk
---@field hunk integer 0-based, among the hunks of the file
---@field old string[] current lines
---@field new string[]

--- Counts, updated with each decision.
---@class tideate.ReviewCount
---@field open integer
---@field accepted integer
---@field rejected integer
---@field total integer
---@field comments integer

---@class tideate.ReviewEntry
---@field file tideate.ReviewFile
---@field index integer
---@field danger string? why other tools execute the file
---@field units tideate.ReviewUnit[]
---@field own tideate.ReviewUnit[] units of its own hunks, in order
---@field others table<string, tideate.ReviewUnit> units that only other runs change
---@field whole boolean the file is decided as a whole
---@field written boolean the change is in the file already: rejecting reverts it
---@field count tideate.ReviewCount
---@field sign { [1]: string, [2]: string }

---@class tideate.ReviewModel
---@field entries tideate.ReviewEntry[]
---@field counts tideate.ReviewCount of all files; comments on hunks only
---@field touched table<tideate.ReviewEntry, boolean> files with decisions since the list was drawn
---@field comment? tideate.ReviewComment on the whole change
---@field revision integer
---@field revisable boolean the model can be asked for another revision
---@field collects boolean comments are for an agent that gets them after the review
---@field written boolean the changes are in the files already: rejecting reverts them
---@field compared boolean there are hunks of other models
local Model = {}
Model.__index = Model

--- Words for decisions, by `written`.
M.WORDS = {
  [false] = {
    accept = 'accept',
    reject = 'reject',
    accepted = 'accepted',
    rejected = 'rejected',
    finish = 'finish: send comments to the model, else write the accepted hunks and leave out the open ones; '
      .. 'with nothing decided it says so and the review continues',
    decline = 'decline all changes',
  },
  [true] = {
    accept = 'keep',
    reject = 'revert',
    accepted = 'kept',
    rejected = 'to revert',
    finish = 'finish: revert the chosen hunks and keep the open ones; without a decision, show a notice '
      .. 'and the review continues',
    decline = 'end the review and change nothing',
  },
}

--- Return the words for decisions.
---@return table<string, string>
function Model:words()
  return M.WORDS[self.written]
end

---@return tideate.ReviewCount
local function zero()
  return { open = 0, accepted = 0, rejected = 0, total = 0, comments = 0 }
end

---@param hunks tideate.Hunk[]
---@return tideate.ReviewUnit
local function unit(hunks)
  local conflict = hunks[1] ~= nil and hunks[1].conflict == true
  return { hunks = hunks, proposed = hunks, state = 'open', stale = false, conflict = conflict }
end

--- Return a file's name, and its new name if it is moved.
---@param file tideate.ReviewFile
---@return string
function M.name(file)
  local name = file.path ~= '' and text.name(file.path) or file.action == 'create' and 'new buffer' or 'buffer'
  return file.move_to and name .. ' → ' .. text.name(file.move_to) or name
end

--- Shorten a name; its end stays readable.
---@param name string
---@param width integer
---@return string
function M.short(name, width)
  width = math.max(width, 8)
  return text.width({ { name } }) <= width and name or '…' .. text.ending(name, width - 1)
end

--- Return the letter of a change without lines: binary, link, mode.
---@param file tideate.ReviewFile
---@return string?
function M.kind_sign(file)
  return file.note and ({ binary = 'b', link = 'l', mode = 'm' })[file.note:match('^%a+')]
end

--- Return the sign of a file and its highlight group.
---@param file tideate.ReviewFile
---@return { [1]: string, [2]: string }
local function sign_of(file)
  local kind = file.action == 'modify' and file.whole and M.kind_sign(file)
  if kind then
    return { kind, 'TideateChangeSign' }
  end
  return require('tideate.ui.questions.plan').SIGNS[file.action]
end

---@param question tideate.Question
---@param file tideate.ReviewFile
---@param index integer
---@return tideate.ReviewEntry
local function entry_of(question, file, index)
  local hunks, decided = file.hunks or {}, file.decided
  local whole = file.action ~= 'modify' or file.whole == true or #hunks == 0
  local own = whole and { unit(hunks) } or vim.tbl_map(function(hunk)
    return unit({ hunk })
  end, hunks)
  for number, one in ipairs(own) do
    one.own = number - 1
    one.conflict = one.conflict or whole and file.conflict == true
  end
  for _, state in ipairs(decided and { 'accepted', 'rejected' } or {}) do
    for _, hunk in ipairs(decided[state]) do
      own[hunk + 1].state = state
    end
  end
  local runs, units, others = question.payload.alternatives or {}, own, {}
  if #runs > 0 and not whole then
    units, others = alternatives.add(file, own, runs)
  end
  for _, edited in ipairs(decided and decided.edited or {}) do
    local one = own[edited.hunk + 1]
    alternatives.set_edit(one, { start = one.proposed[1].start, old = edited.old, new = edited.new })
  end
  local entry = {
    file = file,
    index = index,
    units = units,
    own = own,
    others = others,
    whole = whole,
    written = question.payload.written == true,
    count = zero(),
    sign = sign_of(file),
    danger = require('tideate.ui.questions.executed_files').reason(question, file),
  }
  entry.count.total = #units
  for number, one in ipairs(units) do
    one.entry, one.number = entry, number
    entry.count[one.state] = entry.count[one.state] + 1
  end
  return entry
end

--- Repeat comments that could not be sent to the model.
---@param model tideate.ReviewModel
---@param comments { path: string?, hunk: integer?, text: string }[]
local function repeat_comments(model, comments)
  local by_path = {} ---@type table<string, tideate.ReviewEntry>
  for _, entry in ipairs(model.entries) do
    by_path[entry.file.path] = by_path[entry.file.path] or entry
  end
  for _, one in ipairs(comments) do
    local entry = by_path[one.path]
    local about = entry and entry.own[(one.hunk or 0) + 1] or model
    local before = about.comment and about.comment.text .. '\n' or ''
    local comment = { text = before .. one.text, because = about.state == 'rejected' }
    if about == model then
      model.comment = comment
    else
      model:set(about, about.state, comment)
    end
  end
end

---@param question tideate.Question
---@return tideate.ReviewModel
function M.new(question)
  local payload, counts = question.payload, zero()
  local entries = {} ---@type tideate.ReviewEntry[]
  for index, file in ipairs(payload.files) do
    entries[index] = entry_of(question, file, index)
    for name, value in pairs(entries[index].count) do
      counts[name] = counts[name] + value
    end
  end
  local model = setmetatable({
    entries = entries,
    counts = counts,
    touched = {},
    revision = payload.revision or 1,
    revisable = payload.revisable == true,
    collects = payload.collects == true,
    written = payload.written == true,
    compared = #(payload.alternatives or {}) > 0,
  }, Model)
  repeat_comments(model, payload.comments or {})
  return model
end

--- Decide about a unit; the only function that does.
---@param one tideate.ReviewUnit
---@param state 'open'|'accepted'|'rejected'
---@param comment tideate.ReviewComment?
function Model:set(one, state, comment)
  local said = (comment and 1 or 0) - (one.comment and 1 or 0)
  for _, count in ipairs({ one.entry.count, self.counts }) do
    count[one.state] = count[one.state] - 1
    count[state] = count[state] + 1
    count.comments = count.comments + said
  end
  one.state, one.comment = state, comment
  self.touched[one.entry] = true
end

--- Return the units of all files.
---@return tideate.ReviewUnit[]
function Model:units()
  return vim.iter(self.entries):map(function(entry)
    return entry.units
  end):flatten():totable()
end

--- Return whether comments reach a model or an agent.
---@return boolean
function Model:hears()
  return self.revisable or self.collects
end

--- Return the number of comments for the model.
---@return integer
function Model:said()
  return self:hears() and self.counts.comments + (self.comment and 1 or 0) or 0
end

--- Return a summary like `3 hunks: 2 accepted, 1 open`.
---@return string
function Model:summary()
  local parts, said = {}, self:said()
  for _, state in ipairs({ 'accepted', 'rejected', 'open' }) do
    if self.counts[state] > 0 then
      table.insert(parts, ('%d %s'):format(self.counts[state], self:words()[state] or state))
    end
  end
  local words = said > 0 and ' · ' .. text.counted(said, 'comment') or ''
  return ('%s: %s%s'):format(self:counted(), table.concat(parts, ', '), words)
end

---@return string
function Model:counted()
  return text.counted(self.counts.total, 'hunk')
end

--- Return the first file with an open hunk, from an index on and around.
---@param from integer
---@return integer?
function Model:next_open(from)
  for step = 0, #self.entries - 1 do
    local index = (from - 1 + step) % #self.entries + 1
    if self.entries[index].count.open > 0 then
      return index
    end
  end
end

--- Return the comments for the model; empty if it cannot revise.
---@return { path: string?, hunk: integer?, text: string }[]
function Model:comments()
  if not self:hears() then
    return {}
  end
  local comments = self.comment and { { text = self.comment.text } } or {}
  for _, one in ipairs(self:units()) do
    if one.comment then
      table.insert(comments, { path = one.entry.file.path, hunk = one.own, text = one.comment.text })
    end
  end
  return comments
end

---@class tideate.ReviewVerdict
---@field path string
---@field accepted integer[]
---@field rejected integer[]
---@field added? tideate.Hunk[] accepted hunks of other runs
---@field edited? tideate.EditedHunk[] the user's versions of accepted and open hunks

--- Return the decisions on a file.
---@param entry tideate.ReviewEntry
---@return tideate.ReviewVerdict
local function verdict(entry)
  local file = { path = entry.file.path, accepted = {}, rejected = {} }
  for _, one in ipairs(entry.units) do
    local accepted = one.state == 'accepted' and not one.stale
    local foreign = alternatives.adapter(one) ~= nil
    if accepted and foreign then
      file.added = vim.list_extend(file.added or {}, one.hunks)
    end
    if accepted and not foreign then
      table.insert(file.accepted, one.own)
    elseif one.own and (accepted or one.state == 'rejected') then
      table.insert(file.rejected, one.own)
    end
    if one.own and one.edit and not foreign and one.state ~= 'rejected' then
      file.edited = file.edited or {}
      table.insert(file.edited, { hunk = one.own, old = one.edit.old, new = one.edit.new })
    end
  end
  return file
end

--- Return the answer; open and stale hunks are left out. With comments a model revises first, and nothing is
--- written; an agent gets them afterwards.
---@return { accepted: boolean, reason: string?, value: { files: tideate.ReviewVerdict[], comments: table[] } }
function Model:result()
  local any = false
  local files = vim.tbl_map(function(entry)
    local file = verdict(entry)
    any = any or #file.accepted > 0 or file.added ~= nil
    return file
  end, self.entries)
  local comments = self:comments()
  local revises = #comments > 0 and not self.collects
  return {
    accepted = (any or self.written) and not revises,
    reason = revises and 'comments were sent to the model' or nil,
    value = { files = files, comments = comments },
  }
end

--- Return the reason that a hunk cannot be edited.
---@param one tideate.ReviewUnit
---@return string?
function M.obstacle_to_edit(one)
  local file = one.entry.file
  if one.entry.whole and (file.action ~= 'create' or file.whole) or #one.proposed ~= 1 then
    return 'you accept or reject this file as a whole: its lines cannot be edited'
  elseif not one.own or alternatives.adapter(one) then
    return 'this is the hunk of another model: gm leads back to the one that can be edited'
  end
end

return M
