--- State of a review: hunks and the person's decisions about them.
local M = {}

---@class tideate.ReviewFile
---@field path string
---@field action 'create'|'modify'|'delete'|'move'
---@field move_to? string
---@field whole? boolean it is decided about as a whole: binary, a link, of another mode
---@field note? string what its lines do not show: `binary, 3 bytes`, `mode 644 → 755`
---@field buffer? integer
---@field filetype? string
---@field before? string the text that its hunks were made for
---@field hunks tideate.Hunk[]
---@field digest? string of the text before, only with a buffer
---@field decided? { accepted: integer[], rejected: integer[], added?: tideate.Hunk[], edited?: tideate.EditedHunk[] } in an earlier round, by 0-based hunk

--- What is decided at once: one hunk of a modified file, else the whole file.
---@class tideate.ReviewUnit
---@field hunks tideate.Hunk[] as they are shown
---@field proposed tideate.Hunk[] without what the person made of them
---@field edit? tideate.Hunk what the person made of it; `old` are the lines that stood there
---@field state 'open'|'accepted'|'rejected'
---@field stale boolean the person changed its lines
---@field offer? tideate.Hunk a stale one, merged with what the person changed; only of those in sight
---@field comment? tideate.ReviewComment
---@field entry tideate.ReviewEntry
---@field number integer in its file
---@field own? integer 0-based, among the hunks of the file; nil where only another run changes something
---@field variants? tideate.ReviewVariant[] its own hunk and those of other runs of a comparison
---@field variant? integer the one that is shown

---@class tideate.EditedHunk
---@field hunk integer 0-based, among the hunks of the file
---@field old string[] the lines that stand there now
---@field new string[]

--- Kept up to date with each decision: nothing walks through all hunks to know it.
---@class tideate.ReviewCount
---@field open integer
---@field accepted integer
---@field rejected integer
---@field total integer
---@field comments integer

---@class tideate.ReviewEntry
---@field file tideate.ReviewFile
---@field index integer
---@field danger string? why other tools run the file by themselves
---@field units tideate.ReviewUnit[]
---@field own tideate.ReviewUnit[] those of its own hunks, in their order
---@field others table<string, tideate.ReviewUnit> those of what only another run of a comparison changes
---@field whole boolean the file is decided about as a whole
---@field written boolean the change stands in the file already: what is rejected is reverted
---@field count tideate.ReviewCount
---@field sign { [1]: string, [2]: string }

---@class tideate.ReviewModel
---@field entries tideate.ReviewEntry[]
---@field counts tideate.ReviewCount of all files; of comments those on hunks
---@field touched table<tideate.ReviewEntry, boolean> files that something was decided about since they were listed
---@field comment? tideate.ReviewComment on all of it
---@field revision integer
---@field revisable boolean the model can be asked for another revision
---@field written boolean the changes stand in the files already: what is rejected is reverted
---@field compared boolean there are hunks of other models
local Model = {}
Model.__index = Model

--- What decisions are called, by whether the changes are written already.
M.WORDS = {
  [false] = {
    accept = 'accept',
    reject = 'reject',
    accepted = 'accepted',
    rejected = 'rejected',
    finish = 'finish: comments go to the model, else what was accepted is written and what is open left out; '
      .. 'with nothing decided it says so and the review continues',
    decline = 'decline all changes',
  },
  [true] = {
    accept = 'keep',
    reject = 'revert',
    accepted = 'kept',
    rejected = 'to revert',
    finish = 'finish: what you chose to revert is reverted, and what is open stays; with nothing decided it says so '
      .. 'and the review continues',
    decline = 'end the review and change nothing',
  },
}

--- What decisions are called here.
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
  return { hunks = hunks, proposed = hunks, state = 'open', stale = false }
end

--- Repeat what was decided in an earlier round.
---@param units tideate.ReviewUnit[]
---@param decided { accepted: integer[], rejected: integer[] }?
local function repeat_decisions(units, decided)
  for _, state in ipairs(decided and { 'accepted', 'rejected' } or {}) do
    for _, index in ipairs(decided[state]) do
      units[index + 1].state = state
    end
  end
end

--- Show what the person made of a hunk, or the hunk as it was proposed.
---@param one tideate.ReviewUnit
---@param edit tideate.Hunk|false
function M.edit(one, edit)
  one.edit = edit or nil
  one.hunks = edit and { edit } or one.proposed
end

--- Repeat what the person made of hunks in an earlier round.
---@param units tideate.ReviewUnit[] of its own hunks
---@param edited tideate.EditedHunk[]?
local function repeat_edits(units, edited)
  for _, one in ipairs(edited or {}) do
    local about = units[one.hunk + 1]
    M.edit(about, { start = about.proposed[1].start, old = one.old, new = one.new })
  end
end

--- The letter of what a file's lines do not show: binary, a link, another mode.
---@param file tideate.ReviewFile
---@return string?
function M.kind_sign(file)
  return file.note and ({ binary = 'b', link = 'l', mode = 'm' })[file.note:match('^%a+')]
end

--- The sign of a file, and its group.
---@param file tideate.ReviewFile
---@return { [1]: string, [2]: string }
local function sign_of(file)
  local kind = file.action == 'modify' and file.whole and M.kind_sign(file)
  if kind then
    return { kind, 'TideateChangeSign' }
  end
  return require('tideate.ui.plan').SIGNS[file.action]
end

---@param question tideate.Question
---@param file tideate.ReviewFile
---@param index integer
---@return tideate.ReviewEntry
local function entry_of(question, file, index)
  local hunks = file.hunks or {}
  local whole = file.action ~= 'modify' or file.whole == true or #hunks == 0
  local own = whole and { unit(hunks) } or vim.tbl_map(function(hunk)
    return unit({ hunk })
  end, hunks)
  for number, one in ipairs(own) do
    one.own = number - 1
  end
  repeat_decisions(own, file.decided)
  local others = question.payload.alternatives or {}
  local units, only_others = own, {}
  if #others > 0 and not whole then
    units, only_others = require('tideate.ui.review.alternatives').add(file, own, others)
  end
  repeat_edits(own, file.decided and file.decided.edited)
  local entry = {
    file = file,
    index = index,
    units = units,
    own = own,
    others = only_others,
    whole = whole,
    written = question.payload.written == true,
    count = zero(),
    sign = sign_of(file),
    danger = require('tideate.ui.executed_files').reason(question, file),
  }
  entry.count.total = #units
  for number, one in ipairs(units) do
    one.entry, one.number = entry, number
    entry.count[one.state] = entry.count[one.state] + 1
  end
  return entry
end

--- A comment below an earlier one about the same.
---@param before tideate.ReviewComment?
---@param text string
---@return string
local function joined(before, text)
  return before and before.text .. '\n' .. text or text
end

--- Repeat comments that the model could not be asked about.
---@param model tideate.ReviewModel
---@param comments { path: string?, hunk: integer?, text: string }[]
local function repeat_comments(model, comments)
  local by_path = {} ---@type table<string, tideate.ReviewEntry>
  for _, entry in ipairs(model.entries) do
    by_path[entry.file.path] = by_path[entry.file.path] or entry
  end
  for _, one in ipairs(comments) do
    local entry = one.path and by_path[one.path]
    local about = entry and entry.own[(one.hunk or 0) + 1]
    if about then
      model:set(about, about.state, { text = joined(about.comment, one.text), because = about.state == 'rejected' })
    else
      model.comment = { text = joined(model.comment, one.text) }
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
    written = payload.written == true,
    compared = #(payload.alternatives or {}) > 0,
  }, Model)
  repeat_comments(model, payload.comments or {})
  return model
end

--- Decide about a unit; no other function does.
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

---@param visit fun(unit: tideate.ReviewUnit, entry: tideate.ReviewEntry)
function Model:each(visit)
  for _, entry in ipairs(self.entries) do
    for _, one in ipairs(entry.units) do
      visit(one, entry)
    end
  end
end

---@return tideate.ReviewCount not to be changed
function Model:count()
  return self.counts
end

--- How many comments the model is sent.
---@return integer
function Model:said()
  return self.revisable and self.counts.comments + (self.comment and 1 or 0) or 0
end

--- `3 hunks: 2 accepted, 1 open`
---@return string
function Model:summary()
  local count = self:count()
  local parts = {}
  for _, state in ipairs({ 'accepted', 'rejected', 'open' }) do
    if count[state] > 0 then
      table.insert(parts, ('%d %s'):format(count[state], self:words()[state] or state))
    end
  end
  local said = self:said()
  local words = said > 0 and (' · %d %s'):format(said, said == 1 and 'comment' or 'comments') or ''
  return ('%s: %s%s'):format(self:counted(), table.concat(parts, ', '), words)
end

---@return string
function Model:counted()
  local total = self:count().total
  return ('%d %s'):format(total, total == 1 and 'hunk' or 'hunks')
end

--- The first file that has something open, from an index on and around.
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

--- The comments for the model; those that it cannot be asked about are only shown.
---@return { path: string?, hunk: integer?, text: string }[]
function Model:comments()
  if not self.revisable then
    return {}
  end
  local comments = self.comment and { { text = self.comment.text } } or {}
  for _, entry in ipairs(self.entries) do
    for _, one in ipairs(entry.units) do
      if one.comment then
        table.insert(comments, { path = entry.file.path, hunk = one.own, text = one.comment.text })
      end
    end
  end
  return comments
end

---@class tideate.ReviewVerdict
---@field path string
---@field accepted integer[]
---@field rejected integer[]
---@field added? tideate.Hunk[] of other runs
---@field edited? tideate.EditedHunk[] what the person made of accepted and of open ones

--- The decisions on a file.
---@param entry tideate.ReviewEntry
---@return tideate.ReviewVerdict
local function verdict(entry)
  local file = { path = entry.file.path, accepted = {}, rejected = {} }
  local adapter = require('tideate.ui.review.alternatives').adapter
  for _, one in ipairs(entry.units) do
    local accepted = one.state == 'accepted' and not one.stale
    if accepted and adapter(one) then
      file.added = vim.list_extend(file.added or {}, one.hunks)
    end
    if accepted and not adapter(one) then
      table.insert(file.accepted, one.own)
    elseif one.own and (accepted or one.state == 'rejected') then
      table.insert(file.rejected, one.own)
    end
    if one.own and one.edit and not adapter(one) and one.state ~= 'rejected' then
      file.edited = file.edited or {}
      table.insert(file.edited, { hunk = one.own, old = one.edit.old, new = one.edit.new })
    end
  end
  return file
end

--- The answer: what is open or was changed meanwhile is left out. With comments nothing is written yet: the model
--- is asked for a revision.
---@return { accepted: boolean, reason: string?, value: { files: tideate.ReviewVerdict[], comments: table[] } }
function Model:result()
  local any = false
  local files = vim.tbl_map(function(entry)
    local file = verdict(entry)
    any = any or #file.accepted > 0 or file.added ~= nil
    return file
  end, self.entries)
  local comments = self:comments()
  return {
    accepted = (any or self.written) and #comments == 0,
    reason = #comments > 0 and 'comments were sent to the model' or nil,
    value = { files = files, comments = comments },
  }
end

return M
