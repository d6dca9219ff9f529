--- Replies to ended runs: a new run continues their conversation.
local M = {}

---@type table<string, true> workflows that continue their own runs; `ask` continues all others
local THEMSELVES = { ask = true, edit = true, refactor = true, generate = true, multi_file = true, agent = true }

---@type table<string, string> folders of this Neovim's runs by id
local folders = {}

--- Store the folder of a run.
---@param id string
---@param context tideate.Context
function M.note_folder(id, context)
  local path = context.buffer and context.buffer.path or ''
  folders[id] = path ~= '' and vim.fs.dirname(path) or context.cwd
end

--- Return the folder of a run.
---@param id string
---@return string
function M.folder(id)
  return folders[id] or require('tideate.context').folder()
end

--- Return the context of a continuing run: the selected lines, else only the folder; the host knows the rest.
---@param opts tideate.RunOpts
---@return tideate.Context
function M.context(opts)
  local context = opts.context or require('tideate.context').capture()
  if context.selection or not context.buffer then
    return context
  end
  return { cwd = M.folder(opts.continues) }
end

--- Return the reason that a run cannot be replied to.
---@param run tideate.Run
---@return string?
function M.refusal(run)
  if run.state == 'interrupted' then
    return 'was interrupted; resume it first'
  elseif not require('tideate.state').ended(run.execution_id) then
    return 'has not ended; reply to it then'
  elseif not run.answered then
    return 'has no answer of a model to reply to'
  end
end

--- Ask for a reply to a run and continue its conversation.
---@param run tideate.Run
---@return string? execution_id nil if it cannot be replied to, or a chat was opened
function M.to(run)
  local refusal = M.refusal(run)
  if refusal then
    require('tideate.ui').warn(('%s %s'):format(run.name, refusal))
    return nil
  end
  if run.asked == 'chat' then
    require('tideate.ui.chat').open(run.execution_id)
    return nil
  end
  local name = THEMSELVES[run.asked] and run.asked or 'ask'
  return require('tideate').run(name, { continues = run.execution_id })
end

--- Ask for a reply to a turn and continue from there.
---@param run tideate.ui.PanelRun ended run
---@param turn integer
---@param folder string
---@return string? execution_id nil: a chat was opened
function M.to_turn(run, turn, folder)
  local asked = run.live and run.live.asked or run.name
  if asked == 'chat' then
    require('tideate.ui.chat').open(run.id)
    return nil
  end
  local opts = { continues = run.id, turn = turn, context = { cwd = folder } }
  return require('tideate').run(THEMSELVES[asked] and asked or 'ask', opts)
end

return M
