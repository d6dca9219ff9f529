--- The form of a fork: edit the inputs of the new run as text; `:w` starts it.
local M = {}

local ui_text = require('tideate.ui.text')

-- begins a heading; doubled at the beginning of a text line
local SIGN = '▍'
local MODEL = 'model (empty: the same)'
local SAY = 'say to the model before that turn'

---@class tideate.ui.ForkPart
---@field head string
---@field text string current text
---@field json? boolean the text is JSON
---@field group 'prompt'|'say'|'adapter'|'inputs'|'results'
---@field name? string of the input or the step

---@class tideate.ui.ForkPlan the host's answer to `fork_plan`
---@field run tideate.StoredRun
---@field step string
---@field all boolean no step was named and none failed: rerun the whole run
---@field prompt string
---@field adapter? string
---@field inputs {name: string, text: string, json: boolean}[]
---@field results {name: string, text: string, json: boolean}[]
---@field whole? string turn that cannot be continued: its whole step reruns
---@field not_at_turn? string why it cannot begin at the requested turn
---@field turn? integer first turn to rerun; prompt, inputs and results stay
---@field hears? boolean whether a message to the model fits before that turn
---@field more integer number of results that are too long to show

---@param plan tideate.ui.ForkPlan
---@return tideate.ui.ForkPart[]
local function parts_of(plan)
  local plain = ui_text.plain
  local parts = { { head = MODEL, text = plan.adapter or '', group = 'adapter' } }
  if not plan.turn then
    table.insert(parts, 1, { head = 'prompt', text = plan.prompt, group = 'prompt' })
  elseif plan.hears then
    table.insert(parts, 1, { head = SAY, text = '', group = 'say' })
  end
  for _, group in ipairs({ 'inputs', 'results' }) do
    for _, one in ipairs(plan[group]) do
      local head = (group == 'inputs' and 'input ' or 'result of ') .. plain(one.name) .. (one.json and ' (JSON)' or '')
      table.insert(parts, { head = head, text = one.text, json = one.json, group = group, name = one.name })
    end
  end
  return parts
end

---@param plan tideate.ui.ForkPlan
---@param parts tideate.ui.ForkPart[]
---@return string[]
local function lines_of(plan, parts)
  local more = plan.more > 0 and ('; %d more results: `tideate fork --result` in a shell'):format(plan.more) or ''
  local step = ui_text.plain(plan.step)
  local why = plan.not_at_turn or ''
  why = why == '' and plan.whole and ('no run goes on from its %s'):format(plan.whole) or ui_text.plain(why)
  local whole = why ~= '' and not plan.turn and ', all of it: ' .. why or ''
  local from = plan.turn and ('turn %d of the step %s'):format(plan.turn, step) or ('the step %s'):format(step)
  local where = plan.all and 'all of it anew' or ('anew from %s on'):format(from)
  local lines = { ('%s%s %s%s%s'):format(SIGN, SIGN, where, whole, more) }
  for _, part in ipairs(parts) do
    table.insert(lines, SIGN .. ' ' .. part.head)
    for _, line in ipairs(vim.split(part.text, '\n', { plain = true })) do
      table.insert(lines, vim.startswith(line, SIGN) and SIGN .. line or line)
    end
  end
  return lines
end

--- Parse the texts of a form by heading.
---@param lines string[]
---@param parts tideate.ui.ForkPart[]
---@return table<string, string>? texts, string? err
function M.read(lines, parts)
  local known, found, current = {}, {}, nil
  for _, part in ipairs(parts) do
    known[part.head] = true
  end
  for index, line in ipairs(lines) do
    local head = line:match('^' .. SIGN .. ' (.*)$')
    if head and (not known[head] or found[head]) then
      return nil, ('line %d: %s'):format(index, known[head] and 'this heading stands there twice' or 'there is no part with this heading')
    elseif head then
      current = {}
      found[head] = current
    elseif current then
      table.insert(current, vim.startswith(line, SIGN) and line:sub(#SIGN + 1) or line)
    end
  end
  return vim.tbl_map(function(said)
    return table.concat(said, '\n')
  end, found)
end

--- Return the parameters of a fork: only changed parts.
---@param parts tideate.ui.ForkPart[]
---@param texts table<string, string>
---@return table<string, any> params
local function changes(parts, texts)
  local params = {}
  for _, part in ipairs(parts) do
    local text = texts[part.head]
    if text and text ~= part.text then
      if part.name then
        local group = part.group .. (part.json and '_json' or '')
        params[group] = params[group] or {}
        params[group][part.name] = text
      else
        params[part.group] = part.group == 'adapter' and vim.trim(text) or text
      end
    end
  end
  params.prompt = params.prompt and vim.trim(params.prompt) ~= '' and params.prompt or nil
  return params
end

---@param text string
---@param level integer
local function say(text, level)
  -- later: a `:w` is still running, and two messages would need a key
  vim.schedule(function()
    require('tideate.ui').notify(text, level)
  end)
end

---@param plan tideate.ui.ForkPlan
---@param folder string
---@param lines? string[] earlier edits
local function open(plan, folder, lines)
  local parts, id = parts_of(plan), plan.run.execution_id
  local form ---@type tideate.TextEdit
  form = require('tideate.ui.questions.text_edit').new('fork', id, function()
    local written = form:lines()
    local texts, err = M.read(written, parts)
    if not texts then
      return say(err --[[@as string]], vim.log.levels.ERROR)
    end
    local params = changes(parts, texts)
    params.execution_id, params.step, params.folder, params.turn = id, plan.step, folder, plan.turn
    if plan.all then
      params.step, params.prompt = nil, params.prompt or plan.prompt -- without an edit it would be a retry
    end
    form:taken()
    form:close()
    local fork ---@type string
    fork = require('tideate.run').fork_stored(params, function(result)
      -- refused before its start: keep the edits
      if not result.ok and not result.cancelled and not require('tideate.state').get_status(fork) then
        open(plan, folder, written)
      end
    end)
  end)
  form:fill(lines or lines_of(plan, parts))
  vim.bo[form.buf].bufhidden = 'wipe'
  vim.bo[form.buf].filetype = 'tideate-fork'
  local short = require('tideate.stored_runs').short(id)
  form:open(('fork of %s %s'):format(plan.run.workflow, short), math.max(12, #form:lines()))
  local ns = vim.api.nvim_create_namespace('tideate.fork')
  for row, line in ipairs(form:lines()) do
    if vim.startswith(line, SIGN .. ' ') or row == 1 then
      local group = row == 1 and 'TideateHint' or 'TideateTitle'
      vim.api.nvim_buf_set_extmark(form.buf, ns, row - 1, 0, { line_hl_group = group })
    end
  end
  vim.api.nvim_win_set_cursor(form.win, { 3, 0 })
end

--- Return a function that checks whether the user still waits in this window, and otherwise notifies them.
---@param name string of the run
---@param how string to open the form then
---@return fun(): boolean
function M.still_here(name, how)
  local win = vim.api.nvim_get_current_win()
  return function()
    local here = vim.api.nvim_get_current_win() == win and require('tideate.ui.typing').plain_normal()
    if not here then
      require('tideate.ui').notify(('the fork of %s is ready: %s'):format(name, how))
    end
    return here
  end
end

--- Run `:Workflow fork`.
---@param rest string `[id[.step]]`
function M.command(rest)
  local folder = require('tideate.context').folder()
  local function form(id, step)
    local may_open = M.still_here(id, '`:Workflow fork` again')
    M.open({ execution_id = id, step = step, folder = folder, may_open = may_open })
  end
  local id, step = rest:match('^([^.%s]+)%.?(%S*)$')
  if id then
    return form(id, step ~= '' and step or nil)
  elseif rest ~= '' then
    return require('tideate.ui').fail('name only a run and a step, as in `:Workflow fork id.step`; type the new prompt in the form')
  end
  require('tideate.pick').choose_run(function(run)
    return not (run.state == 'running' or run.state == 'paused' or run.state == 'interrupted')
  end, function(runs)
    return #runs == 1
  end, function(run)
    form(run.execution_id:sub(1, 8))
  end, 'no run of this project has ended yet')
end

--- Open the form of a fork.
---@param place {execution_id: string, step?: string, turn?: integer, folder: string, whole?: string, may_open?: fun(): boolean}
--- `turn` and `whole` as in the plan; `may_open` is called after the host's answer, and notifies the user if it returns false
function M.open(place)
  local params = { execution_id = place.execution_id, step = place.step, turn = place.turn, folder = place.folder }
  require('tideate.stored_runs').ask('fork_plan', params, function(result)
    result.whole = place.whole
    if not place.may_open or place.may_open() then
      open(result --[[@as tideate.ui.ForkPlan]], place.folder)
    end
  end)
end

return M
