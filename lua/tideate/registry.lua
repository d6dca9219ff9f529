--- Registry of workflows: built in, registered in Lua, or sent by the host.
local M = {}

---@class tideate.WorkflowInfo
---@field name string
---@field description string
---@field steps string[] empty for a machine
---@field source string 'builtin', 'editor', 'package', 'user' or 'project'
---@field kind? 'graph'|'machine'
---@field states? string[] of a machine, once the host has sent them
---@field needs_prompt? boolean
---@field inputs? tideate.Input[] declared inputs, once the host has sent them

---@alias tideate.Done fun(outcome: any) a value, `{requires_confirmation = true, message = …}` or `{error = …}`

---@class tideate.HandlerState
---@field prompt string
---@field context table<string, any>
---@field options table<string, any>
---@field results table<string, any> results of earlier steps by name

---@alias tideate.Handler fun(state: tideate.HandlerState, adapter: tideate.HandlerAdapter, done: tideate.Done)

---@class tideate.WorkflowSpec
---@field description? string
---@field steps string[] run one after another
---@field handlers table<string, tideate.Handler> by step
---@field require_confirmation? boolean ask if a step wants a confirmation; default: true

--- Built-in workflows, listed here for completion and menu before the host has started.
---@type tideate.WorkflowInfo[]
M.builtin = {
  { name = 'ask', description = 'Ask a question, about the selection if any', steps = { 'query' }, needs_prompt = true },
  { name = 'chat', description = 'Answer a message of a conversation, with edits if needed', steps = { 'reply' }, needs_prompt = true },
  { name = 'apply', description = 'Put a code block into a file, after a review', steps = { 'place' } },
  { name = 'summarize', description = 'Summarize the selection or the buffer', steps = { 'summarize' } },
  { name = 'edit', description = "Change the selected lines, or the cursor's line, with one request", steps = { 'edit' }, needs_prompt = true },
  { name = 'refactor', description = 'Analyze the selected code, then change it', steps = { 'analyze', 'refactor' }, needs_prompt = true },
  { name = 'generate', description = 'Write new code at the cursor', steps = { 'generate' }, needs_prompt = true },
  { name = 'multi_file', description = 'Plan and make changes in several files', steps = { 'plan', 'confirm', 'execute' }, needs_prompt = true },
  { name = 'agent', description = 'Let an agent do a task in a private copy, and review its changes', steps = { 'work' }, needs_prompt = true },
  { name = 'review_changes', description = 'Review changes by other tools, or a patch', steps = { 'find', 'review' } },
  { name = 'land', description = 'Review and land the changes of a guarded program', steps = { 'land', 'update' } },
  { name = 'answer', description = "Answer the question of a run that waits in a remote's inbox", steps = { 'ask', 'send' } },
  { name = 'handoff', description = 'Carry out a plan from a file, commit it on a branch of its own, test it', steps = { 'plan', 'status', 'edit', 'commit', 'manifest', 'tests', 'report' } },
  { name = 'task', description = 'Plan, audit, make, document and verify a change, or leave everything as it was', steps = {}, kind = 'machine', needs_prompt = true },
  { name = 'PLANNER', description = 'Plan a piece of work, then write out how each task is done, each one checked before the next', steps = {}, kind = 'machine', needs_prompt = true },
}

---@type table<string, tideate.WorkflowInfo>
local known = {}
for _, workflow in ipairs(M.builtin) do
  workflow.source = 'builtin'
  known[workflow.name] = workflow
end

---@type table<string, tideate.WorkflowSpec>
local registered = {}

---@param name string
---@param spec tideate.WorkflowSpec
---@return string? err
local function check(name, spec)
  if type(name) ~= 'string' or not name:find('^[%a_][%w_.-]*$') then
    return ('a workflow name is letters, digits, `_`, `.` and `-`, got %s'):format(vim.inspect(name))
  elseif require('tideate.command').reserved(name) then
    return ("'%s' is a subcommand of :Workflow; choose another name"):format(name)
  elseif known[name] and known[name].source == 'builtin' then
    return ("workflow '%s' is built in; choose another name"):format(name)
  elseif type(spec) ~= 'table' or not vim.islist(spec.steps or {}) or #(spec.steps or {}) == 0 then
    return ("workflow '%s' needs `steps`, a list of names"):format(name)
  end
  for _, step in ipairs(spec.steps) do
    if type(step) ~= 'string' then
      return ("workflow '%s': a step is a name, got %s"):format(name, vim.inspect(step))
    end
  end
  for step, handler in pairs(spec.handlers or {}) do
    if not vim.list_contains(spec.steps, step) then
      local hint = require('tideate.did_you_mean').hint(tostring(step), spec.steps)
      return ("workflow '%s' has a handler for '%s', which is none of its steps%s"):format(name, step, hint)
    elseif type(handler) ~= 'function' then
      return ("workflow '%s': the handler of '%s' is not a function"):format(name, step)
    end
  end
end

---@param name string
---@return table<string, any> params of `register`
local function registration(name)
  local spec = registered[name]
  return {
    name = name,
    description = spec.description or '',
    steps = spec.steps,
    handlers = vim.tbl_keys(spec.handlers or {}),
    require_confirmation = spec.require_confirmation ~= false,
  }
end

--- Register a workflow with Lua functions as steps.
---@param name string
---@param spec tideate.WorkflowSpec
---@return boolean ok, string? err
function M.register(name, spec)
  local err = check(name, spec)
  if err then
    return false, 'tideate: register(): ' .. err
  end
  registered[name] = spec
  known[name] = {
    name = name,
    description = spec.description or '',
    steps = vim.deepcopy(spec.steps),
    source = 'editor',
  }
  -- a host that starts later gets all registrations
  if require('tideate.host').state() == 'ready' then
    require('tideate.client').request('register', registration(name), require('tideate.client').report)
  end
  return true
end

--- Return the registrations for a new host.
---@return table<string, any>[]
function M.registrations()
  local names = vim.tbl_keys(registered)
  table.sort(names)
  return vim.tbl_map(registration, names)
end

---@param name string
---@return tideate.WorkflowInfo?
function M.get(name)
  return known[name]
end

--- Return all known workflows, sorted by name.
---@return tideate.WorkflowInfo[]
function M.list()
  local workflows = vim.tbl_values(known)
  table.sort(workflows, function(a, b)
    return a.name < b.name
  end)
  return workflows
end

--- Store the host's list, which includes those of packages, the user and the project.
---@param workflows tideate.WorkflowInfo[]
function M.set_host_workflows(workflows)
  for name, workflow in pairs(known) do
    -- those of another project do not apply here
    if workflow.source == 'project' or workflow.source == 'user' then
      known[name] = nil
    end
  end
  for _, workflow in ipairs(workflows) do
    local before = known[workflow.name]
    known[workflow.name] = workflow
    workflow.needs_prompt = before and before.needs_prompt
  end
end

--- Request the list from a ready host. An error is reported only to users who open the list.
function M.refresh()
  require('tideate.client').request('list', { folder = require('tideate.context').folder() }, function(result)
    if result.ok and result.workflows then
      M.set_host_workflows(result.workflows)
    end
  end)
end

---@class tideate.HandlerAdapter
---@field ask fun(self: tideate.HandlerAdapter, prompt: string, opts: {system: string?}|tideate.OnReply?, on_reply: tideate.OnReply?): fun()

---@alias tideate.OnReply fun(reply: {ok: boolean, text: string?, model: string?, usage: table?, error: string?, error_code: string?})

---@param params {execution_id: string, step: string}
---@param cancels fun()[] cancel functions of requests
---@param guarded fun(fn: function, ...) calls fn; its error ends the step
---@return tideate.HandlerAdapter
local function adapter_for(params, cancels, guarded)
  return {
    ask = function(_, prompt, opts, on_reply)
      if type(opts) == 'function' then
        opts, on_reply = {}, opts
      end
      if type(prompt) ~= 'string' then
        error(('adapter:ask() takes the prompt as a string, got %s'):format(vim.inspect(prompt)), 2)
      end
      local client = require('tideate.client')
      local id = client.request('ask', {
        execution_id = params.execution_id,
        step = params.step,
        prompt = prompt,
        system = opts and opts.system or '',
      }, function(reply)
        if on_reply then
          guarded(on_reply, reply)
        end
      end)
      local function cancel()
        client.tell('cancel_ask', { id = id })
      end
      cancels[#cancels + 1] = cancel
      return cancel
    end,
  }
end

---@param outcome any argument of `done`
---@return table<string, any> result
local function result_of(outcome)
  if type(outcome) == 'table' and outcome.error ~= nil then
    return { error = tostring(outcome.error) }
  elseif type(outcome) == 'table' and outcome.requires_confirmation then
    return {
      requires_confirmation = true,
      message = outcome.message or 'Continue?',
      details = outcome.details or '',
      value = outcome.value == nil and vim.NIL or outcome.value,
    }
  end
  return { value = outcome == nil and vim.NIL or outcome }
end

--- Run a Lua handler for the host.
---@param params {execution_id: string, workflow: string, step: string, state: tideate.HandlerState}
---@param respond fun(result: table<string, any>)
---@return fun()? cancel_all
function M.handle(params, respond)
  local handler = vim.tbl_get(registered, params.workflow, 'handlers', params.step)
  if not handler then
    return respond({ error = 'Missing step handler: ' .. params.step })
  end
  local cancels = {}
  local function cancel_all()
    for _, cancel in ipairs(cancels) do
      cancel()
    end
  end
  local function done(outcome)
    respond(result_of(outcome))
  end
  local function guarded(fn, ...)
    local ok, err = xpcall(fn, require('tideate.paths').logging('a Lua handler failed'), ...)
    if not ok then
      respond({ error = ("the handler of step '%s' failed: %s"):format(params.step, err) })
      cancel_all()
    end
  end
  guarded(handler, params.state, adapter_for(params, cancels, guarded), done)
  return cancel_all
end

return M
