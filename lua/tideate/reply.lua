--- Replies to runs that have ended: a new run goes on with their conversation.
local M = {}

---@type table<string, true> workflows that go on with their own runs; any other's are gone on with by `ask`
local THEMSELVES = { ask = true, refactor = true, generate = true, multi_file = true }

---@type table<string, string> folders of the runs that began here, by id
local folders = {}

--- Note where a run works.
---@param id string
---@param context tideate.Context
function M.note_folder(id, context)
  local path = context.buffer and context.buffer.path or ''
  folders[id] = path ~= '' and vim.fs.dirname(path) or context.cwd
end

--- The folder that a run works in.
---@param id string
---@return string
function M.folder(id)
  return folders[id] or require('tideate.context').folder()
end

--- The context of a run that goes on with another: the lines that the person selected, else only the folder, as
--- the host knows what the other one was about.
---@param opts tideate.RunOpts
---@return tideate.Context
function M.context(opts)
  local context = opts.context or require('tideate.context').capture()
  if context.selection or not context.buffer then
    return context
  end
  return { cwd = M.folder(opts.continues) }
end

--- Why no reply to a run can be given, nil if one can.
---@param run tideate.Run
---@return string?
function M.refusal(run)
  if run.state == 'interrupted' then
    return 'was left before its end; resume it first'
  elseif not require('tideate.state').ended(run.execution_id) then
    return 'has not ended; reply to it then'
  elseif not run.answered then
    return 'has no answer of a model to reply to'
  end
end

--- Ask the person for a reply to a run, and go on with it.
---@param run tideate.Run
---@return string? execution_id nil if it has not ended, or no model answered in it
function M.to(run)
  local refusal = M.refusal(run)
  if refusal then
    require('tideate.ui').notify(('%s %s'):format(run.name, refusal), vim.log.levels.WARN)
    return nil
  end
  local name = THEMSELVES[run.asked] and run.asked or 'ask'
  return require('tideate').run(name, { continues = run.execution_id })
end

--- Ask the person for a reply to a turn of a run's conversation, and go on from there.
---@param run tideate.ui.PanelRun that has ended
---@param turn integer
---@param folder string
---@return string execution_id
function M.to_turn(run, turn, folder)
  local asked = run.live and run.live.asked or run.name
  local opts = { continues = run.id, turn = turn, context = { cwd = folder } }
  return require('tideate').run(THEMSELVES[asked] and asked or 'ask', opts)
end

return M
