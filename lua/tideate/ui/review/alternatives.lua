--- Hunks of the other runs of a comparison, offered at the hunks of the reviewed run.
local M = {}

---@class tideate.ReviewVariant
---@field hunk tideate.Hunk
---@field adapter? string its model; nil: the reviewed run

--- Return the key of equal hunks.
---@param hunk tideate.Hunk
---@return string
local function key(hunk)
  return vim.mpack.encode({ hunk.start, hunk.old, hunk.new })
end

--- Return the places of a hunk: odd numbers are lines, even ones gaps between lines. Two hunks clash exactly if they
--- share a place.
---@param hunk tideate.Hunk
---@return integer first
---@return integer last
local function places(hunk)
  local first = 2 * hunk.start
  return #hunk.old > 0 and first + 1 or first, math.max(first, first + 2 * #hunk.old - 1)
end

--- Return a lookup of the units whose hunks clash with a hunk.
---@param units tideate.ReviewUnit[] of a file
---@return fun(hunk: tideate.Hunk): tideate.ReviewUnit[]
local function by_place(units)
  local owners = {} ---@type table<integer, tideate.ReviewUnit[]>
  for _, unit in ipairs(units) do
    local first, last = places(unit.proposed[1])
    for place = first, last do
      owners[place] = owners[place] or {}
      table.insert(owners[place], unit)
    end
  end
  return function(hunk)
    local found, known = {}, {} ---@type tideate.ReviewUnit[], table<tideate.ReviewUnit, boolean>
    local first, last = places(hunk)
    for place = first, last do
      for _, unit in ipairs(owners[place] or {}) do
        if not known[unit] then
          known[unit] = true
          table.insert(found, unit)
        end
      end
    end
    return found
  end
end

--- Return the distinct hunks that only other runs have for the same text.
---@param file tideate.ReviewFile
---@param runs { adapter: string, files: tideate.ReviewFile[] }[]
---@return tideate.ReviewVariant[]
local function others(file, runs)
  local found, known = {}, {} ---@type tideate.ReviewVariant[], table<string, boolean>
  for _, hunk in ipairs(file.hunks) do
    known[key(hunk)] = true
  end
  local function add(hunk, adapter)
    local name = key(hunk)
    if not known[name] then
      known[name] = true
      table.insert(found, { hunk = hunk, adapter = adapter })
    end
  end
  for _, run in ipairs(runs) do
    for _, other in ipairs(run.files) do
      local same = other.path == file.path and other.action == 'modify'
      same = same and other.digest == file.digest and other.before == file.before
      for _, hunk in ipairs(same and other.hunks or {}) do
        add(hunk, run.adapter)
      end
    end
  end
  return found
end

--- Show the user's version of a hunk, or the proposal.
---@param unit tideate.ReviewUnit
---@param edit tideate.Hunk|false
function M.set_edit(unit, edit)
  unit.edit = edit or nil
  unit.hunks = edit and { edit } or unit.proposed
end

--- Show a variant of a unit.
---@param unit tideate.ReviewUnit
---@param variant integer
function M.show(unit, variant)
  unit.variant = variant
  unit.proposed = { unit.variants[variant].hunk }
  M.set_edit(unit, false)
end

--- Return the model of a unit's shown hunk; nil: the reviewed run.
---@param unit tideate.ReviewUnit
---@return string?
function M.adapter(unit)
  return unit.variants and unit.variants[unit.variant].adapter
end

--- Find a unit by its own hunk, and the variant by its lines.
---@param entry tideate.ReviewEntry
---@param own integer 0-based hunk of the file; -1 if only another run changes the place
---@param taken? tideate.Hunk shown hunk of another run; nil: the own one
---@return tideate.ReviewUnit? unit
---@return integer? variant nil if it has no such variant
function M.find(entry, own, taken)
  local unit = entry.own[own + 1] or own < 0 and entry.others[key(taken or {})] or nil
  for variant, one in ipairs(unit and unit.variants or {}) do
    if vim.deep_equal(one.hunk, taken or unit.variants[1].hunk) then
      return unit, variant
    end
  end
  return unit
end

--- Accept the hunks of other runs that were accepted in an earlier round.
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

--- Add hunks of other runs to the units at their places. A place that only others change becomes a rejected unit.
---@param file tideate.ReviewFile
---@param units tideate.ReviewUnit[] of the file
---@param runs { adapter: string, files: tideate.ReviewFile[] }[]
---@return tideate.ReviewUnit[] all sorted by place
---@return table<string, tideate.ReviewUnit> units that only others change, by `key`
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

--- Return a check whether another accepted unit changes the lines of a unit.
---@param entry tideate.ReviewEntry
---@return fun(unit: tideate.ReviewUnit): boolean
function M.conflicts(entry)
  local function is_mixed(one)
    return one.variants ~= nil
  end
  if not vim.iter(entry.units):any(is_mixed) then -- hunks of one run never clash
    return function()
      return false
    end
  end
  local clashing = by_place(vim.tbl_filter(function(one)
    return one.state == 'accepted'
  end, entry.units))
  return function(unit)
    return vim.iter(clashing(unit.proposed[1])):any(function(one)
      return one ~= unit and (is_mixed(one) or is_mixed(unit))
    end)
  end
end

return M
