--- Hunks of the other runs of a comparison, beside those of the run that is reviewed.
local M = {}

---@class tideate.ReviewVariant
---@field hunk tideate.Hunk
---@field adapter? string whose it is; nil: the reviewed run's own

---@param one tideate.Hunk
---@param other tideate.Hunk
---@return boolean
local function clashes(one, other)
  local one_end, other_end = one.start + #one.old, other.start + #other.old
  local both_insert = one.start == one_end and other.start == other_end and one.start == other.start
  return both_insert or (one.start < other_end and other.start < one_end)
end

--- The hunks that other runs make of the same text, each once, without those that the reviewed one makes, too.
---@param file tideate.ReviewFile
---@param runs { adapter: string, files: tideate.ReviewFile[] }[]
---@return tideate.ReviewVariant[]
local function others(file, runs)
  local found, known = {}, vim.deepcopy(file.hunks)
  for _, run in ipairs(runs) do
    for _, other in ipairs(run.files) do
      local same = other.path == file.path and other.action == 'modify'
      if same and other.digest == file.digest and other.before == file.before then
        for _, hunk in ipairs(other.hunks) do
          local twice = vim.iter(known):any(function(one)
            return vim.deep_equal(one, hunk)
          end)
          if not twice then
            table.insert(known, hunk)
            table.insert(found, { hunk = hunk, adapter = run.adapter })
          end
        end
      end
    end
  end
  return found
end

--- Show a unit as one of its variants.
---@param unit tideate.ReviewUnit
---@param variant integer
function M.show(unit, variant)
  unit.variant = variant
  unit.proposed = { unit.variants[variant].hunk }
  require('tideate.ui.review.model').edit(unit, false)
end

--- Whose hunk a unit shows; nil: the reviewed run's own.
---@param unit tideate.ReviewUnit
---@return string?
function M.adapter(unit)
  return unit.variants and unit.variants[unit.variant].adapter
end

--- Find a unit again by its hunk, and by the one it showed.
---@param entry tideate.ReviewEntry
---@param own integer 0-based, among the hunks of the file; -1 where only another run changes something
---@param taken? tideate.Hunk of another run; nil: the own one
---@return tideate.ReviewUnit? unit
---@return integer? variant nil where it has none such
function M.find(entry, own, taken)
  for _, unit in ipairs(entry.units) do
    if unit.own == own or own < 0 and not unit.own and vim.deep_equal(unit.hunks[1], taken) then
      for variant, one in ipairs(unit.variants or {}) do
        if vim.deep_equal(one.hunk, taken or unit.variants[1].hunk) then
          return unit, variant
        end
      end
      return unit
    end
  end
end

--- Accept the hunks that were taken of others in an earlier round.
---@param units tideate.ReviewUnit[]
---@param added tideate.Hunk[]
local function repeat_added(units, added)
  for _, hunk in ipairs(added) do
    for _, unit in ipairs(units) do
      for variant, one in ipairs(unit.variants or {}) do
        if vim.deep_equal(one.hunk, hunk) then
          M.show(unit, variant)
          unit.state = 'accepted'
        end
      end
    end
  end
end

--- Give units the hunks of other runs at their place. What only others change becomes a unit that is rejected
--- until the person accepts it.
---@param file tideate.ReviewFile
---@param units tideate.ReviewUnit[] of all hunks of the file
---@param runs { adapter: string, files: tideate.ReviewFile[] }[]
---@return tideate.ReviewUnit[] in the order of their places
function M.add(file, units, runs)
  local all = vim.list_slice(units)
  for _, other in ipairs(others(file, runs)) do
    local here = vim.tbl_filter(function(unit)
      return unit.own ~= nil and clashes(unit.variants and unit.variants[1].hunk or unit.hunks[1], other.hunk)
    end, units)
    for _, unit in ipairs(here) do
      unit.variants = unit.variants or { { hunk = unit.hunks[1] } }
      unit.variant = unit.variant or 1
      table.insert(unit.variants, other)
    end
    if #here == 0 then
      table.insert(all, { hunks = { other.hunk }, proposed = { other.hunk }, state = 'rejected', stale = false, variants = { other }, variant = 1 })
    end
  end
  table.sort(all, function(one, other)
    local a, b = one.hunks[1], other.hunks[1]
    return a.start < b.start or a.start == b.start and #a.old < #b.old
  end)
  repeat_added(all, file.decided and file.decided.added or {})
  return all
end

--- The accepted hunks of a file in the order of their places, and of each the last line that it or one before reaches.
---@param entry tideate.ReviewEntry
---@return tideate.ReviewUnit[] accepted
---@return integer[] reach
local function accepted_by_place(entry)
  local accepted = vim.tbl_filter(function(one)
    return one.state == 'accepted'
  end, entry.units)
  table.sort(accepted, function(one, other)
    return one.proposed[1].start < other.proposed[1].start
  end)
  local reach, last = {}, 0 ---@type integer[], integer
  for index, one in ipairs(accepted) do
    last = math.max(last, one.proposed[1].start + #one.proposed[1].old)
    reach[index] = last
  end
  return accepted, reach
end

--- What tells whether an accepted unit of a file changes the lines of another one, too, as things are now.
---@param entry tideate.ReviewEntry
---@return fun(unit: tideate.ReviewUnit): boolean
function M.conflicts(entry)
  local mixed = vim.iter(entry.units):any(function(one)
    return one.variants ~= nil
  end)
  if not mixed then -- hunks of one run never clash
    return function()
      return false
    end
  end
  local accepted, reach = accepted_by_place(entry)
  return function(unit)
    local hunk = unit.proposed[1]
    local low, high = 0, #accepted
    while low < high do
      local middle = math.ceil((low + high) / 2)
      if accepted[middle].proposed[1].start <= hunk.start + #hunk.old then
        low = middle
      else
        high = middle - 1
      end
    end
    while low > 0 and reach[low] >= hunk.start do
      local one = accepted[low]
      if one ~= unit and (one.variants or unit.variants) and clashes(one.proposed[1], hunk) then
        return true
      end
      low = low - 1
    end
    return false
  end
end

return M
