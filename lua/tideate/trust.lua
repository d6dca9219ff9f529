--- Trusting a project's files as they are now; before a database of runs that was made elsewhere a person is asked.
local M = {}

---@class tideate.Holdings what a database holds
---@field path string
---@field states { state: string, count: integer }[]
---@field first? integer milliseconds since the epoch
---@field last? integer
---@field unfinished { execution_id: string, name: string, parent?: string, state: string, completed_steps: integer, total_steps: integer, answers: integer, prompt: string }[]
---@field more integer unfinished ones beside these

---@param at integer milliseconds since the epoch
---@return string
local function day(at)
  return os.date('%Y-%m-%d %H:%M', math.floor(at / 1000)) --[[@as string]]
end

---@param held tideate.Holdings
---@return string
local function summary(held)
  if #held.states == 0 then
    return 'It holds no runs.'
  end
  local counted = vim.tbl_map(function(one)
    return ('%d %s'):format(one.count, one.state)
  end, held.states)
  return ('It holds the runs of %s to %s: %s.'):format(day(held.first), day(held.last), table.concat(counted, ', '))
end

--- The runs that could go on, a Markdown list.
---@param held tideate.Holdings
---@return string
function M.details(held)
  if #held.unfinished == 0 then
    return ''
  end
  local lines = { 'These can go on once it is trusted, with the results and answers that are kept in it:', '' }
  for _, run in ipairs(held.unfinished) do
    local steps = run.total_steps > 0 and ('%d/%d'):format(run.completed_steps, run.total_steps) or run.completed_steps
    local words = ('- `%s` %s%s, %s, steps done: %s, answers kept: %d%s'):format(
      run.execution_id:sub(1, 8),
      run.name,
      run.parent and (', a step of `%s`'):format(run.parent:sub(1, 8)) or '',
      run.state,
      steps,
      run.answers,
      run.prompt ~= '' and (', “%s”'):format(require('tideate.ui.text').fit(run.prompt, 60)) or ''
    )
    table.insert(lines, words)
  end
  if held.more > 0 then
    table.insert(lines, ('- and %d more'):format(held.more))
  end
  return table.concat(lines, '\n')
end

local request

---@param held tideate.Holdings
---@param params table<string, any>
local function ask(held, params)
  require('tideate.ui.asking').yes({
    about = 'trust',
    doing = vim.fs.basename(held.path),
    message = ('%s came from elsewhere. %s Trust it? Its runs can go on then as if they were yours.'):format(
      vim.fn.fnamemodify(held.path, ':~:.'),
      summary(held)
    ),
    details = M.details(held),
    cautious = true,
  }, function()
    request(vim.tbl_extend('force', params, { confirmed = true }))
  end)
end

---@param params table<string, any>
function request(params)
  require('tideate.stored').request('trust', params, function(result)
    if result.holds then
      return ask(result.holds, params)
    end
    local paths = result.paths ---@type string[]
    local database = params.confirmed and ('trusted: %s; :Workflow resume goes on with its runs'):format(paths[1])
    require('tideate.ui').notify(database or 'trusted as it is now: ' .. table.concat(paths, ', '))
  end)
end

--- Trust a file, or what of the project can run something.
---@param path string may be empty: the project
function M.trust(path)
  request(path ~= '' and { path = vim.fn.fnamemodify(vim.fs.normalize(path), ':p') } or {})
end

return M
