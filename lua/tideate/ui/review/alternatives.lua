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

--- What equal hunks have in common.
---@param hunk tideate.Hunk
---@return string
local function key(hunk)
  return vim.mpack.encode({ hunk.start, hunk.old, hunk.new })
end

--- The places that a hunk takes, from and to: odd numbers are lines, even ones the places between them. Two hunks
--- have one in common where they clash, and only there.
---@param hunk tideate.Hunk
---@return integer first
---@return integer last
local function places(hunk)
  local first = 2 * hunk.start
  return #hunk.old > 0 and first + 1 or first, math.max(first, first + 2 * #hunk.old - 1)
end

--- What finds the units whose own hunks clash with another one.
---@param units tideate.ReviewUnit[] of all hunks of a file
---@return fun(hunk: tideate.Hunk): tideate.ReviewUnit[]
local function by_place(units)
  local owners = vim.defaulttable(function()
    return {}
  end) ---@type table<integer, tideate.ReviewUnit[]>
  for _, unit in ipairs(units) do
    local first, last = places(unit.hunks[1])
    for place = first, last do
      table.insert(owners[place], unit)
    end
  end
  return function(hunk)
    local found, known = {}, {} ---@type tideate.ReviewUnit[], table<tideate.ReviewUnit, boolean>
    local first, last = places(hunk)
    for place = first, last do
      for _, unit in ipairs(rawget(owners, place) or {}) do
        if not known[unit] then
          known[unit] = true
          table.insert(found, unit)
        end
      end
    end
    return found
  end
end

--- The hunks that other runs make of the same text, each once, without those that the reviewed one makes, too.
---@param file tideate.ReviewFile
---@param runs { adapter: string, files: tideate.ReviewFile[] }[]
---@return tideate.ReviewVariant[]
local function others(file, runs)
  local found, known = {}, {} ---@type tideate.ReviewVariant[], table<string, boolean>
  for _, hunk in ipairs(file.hunks) do
    known[key(hunk)] = true
  end
  for _, run in ipairs(runs) do
    for _, other in ipairs(run.files) do
      local same = other.path == file.path and other.action == 'modify'
      if same and other.digest == file.digest and other.before == file.before then
        for _, hunk in ipairs(other.hunks) do
          local name = key(hunk)
          if not known[name] then
            known[name] = true
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
  local unit = entry.own[own + 1] or own < 0 and entry.others[key(taken or {})] or nil
  for variant, one in ipairs(unit and unit.variants or {}) do
    if vim.deep_equal(one.hunk, taken or unit.variants[1].hunk) then
      return unit, variant
    end
  end
  return unit
end

--- Accept the hunks that were taken of others in an earlier round.
---@param units tideate.ReviewUnit[]
---@param added tideate.Hunk[]
local function repeat_added(units, added)
  local wanted = {} ---@type table<string, integer>
  for index, hunk in ipairs(added) do
    wanted[key(hunk)] = index
  end
  for _, unit in ipairs(#added > 0 and units or {}) do
    local last, taken = 0, nil
    for variant, one in ipairs(unit.variants or {}) do
      local index = wanted[key(one.hunk)] or 0
      if index > last then
        last, taken = index, variant
      end
    end
    if taken then
      M.show(unit, taken)
      unit.state = 'accepted'
    end
  end
end

--- Give units the hunks of other runs at their place. What only others change becomes a unit that is rejected
--- until the person accepts it.
---@param file tideate.ReviewFile
---@param units tideate.ReviewUnit[] of all hunks of the file
---@param runs { adapter: string, files: tideate.ReviewFile[] }[]
---@return tideate.ReviewUnit[] all in the order of their places
---@return table<string, tideate.ReviewUnit> only what others change, by what `find` knows it by
function M.add(file, units, runs)
  local all, alone, clashing = vim.list_slice(units), {}, by_place(units)
  for _, other in ipairs(others(file, runs)) do
    local here = clashing(other.hunk)
    for _, unit in ipairs(here) do
      unit.variants = unit.variants or { { hunk = unit.hunks[1] } }
      unit.variant = unit.variant or 1
      table.insert(unit.variants, other)
    end
    if #here == 0 then
      local unit = { hunks = { other.hunk }, proposed = { other.hunk }, state = 'rejected', stale = false, variants = { other }, variant = 1 }
      table.insert(all, unit)
      alone[key(other.hunk)] = unit
    end
  end
  table.sort(all, function(one, other)
    local a, b = one.hunks[1], other.hunks[1]
    return a.start < b.start or a.start == b.start and #a.old < #b.old
  end)
  repeat_added(all, file.decided and file.decided.added or {})
  return all, alone
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
