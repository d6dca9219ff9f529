--- Operators: a workflow on the lines of a motion; `.` repeats it with the same prompt.
---
--- Typing the prompt in insert mode replaces the redo of `.`. So the keys of the motion are recorded, and
--- given to Neovim again, without effect, after the prompt was sent.
local M = {}

local api = vim.api
local APPLY = "v:lua.require'tideate.operator'.apply"
local NOTHING = "v:lua.require'tideate.operator'.nothing"
local SELECT_HERE = ":\21lua require('tideate.operator').select_here()\r" -- \21 is CTRL-U
--- Syntax nodes of named functions.
local FUNCTIONS = {
  constructor_declaration = true,
  function_declaration = true,
  function_definition = true,
  function_item = true,
  method = true,
  method_declaration = true,
  method_definition = true,
}
local OWN_KEYS = 2 -- `g@`, produced by the mapping
local namespace = api.nvim_create_namespace('tideate.operator')

---@class tideate.Operation
---@field workflow string
---@field before string count before the operator, or `gv` in visual mode
---@field motion string typed keys
---@field win integer
---@field cursor integer[] at the start
---@field sent? {name: string, prompt: string, inputs: table<string, any>?} first run of the operator

---@type tideate.Operation? waiting for its motion
local pending
---@type tideate.Operation? repeated by `.`
local current

---@return string mode
local function mode()
  return api.nvim_get_mode().mode
end

--- Record the keys of the motion until the operator is applied or cancelled.
---@param operation tideate.Operation
local function note_motion(operation)
  local seen = 0
  vim.on_key(function(_, typed)
    seen = seen + 1
    if seen <= OWN_KEYS or typed == nil or typed == '' then
      return -- a mapped motion may run normal mode commands
    elseif mode() == 'n' then
      pending = nil
      vim.on_key(nil, namespace)
    else
      operation.motion = operation.motion .. typed
    end
  end, namespace)
end

--- Return the keys of an operator mapping.
---@param workflow string
---@param motion? string fixed motion instead of a typed one
---@return string
function M.begin(workflow, motion)
  api.nvim_set_option_value('operatorfunc', APPLY, {})
  local visual = mode():find('^[vV\22]') ~= nil
  local count = vim.v.count > 0 and tostring(vim.v.count) or ''
  pending = {
    workflow = workflow,
    before = visual and 'gv' or count,
    motion = motion or '',
    win = api.nvim_get_current_win(),
    cursor = api.nvim_win_get_cursor(0),
  }
  if not visual and not motion then
    note_motion(pending)
  end
  return 'g@' .. (motion or '')
end

--- Return the keys of a mapping for the function or paragraph under the cursor.
---@param workflow string
---@return string
function M.begin_here(workflow)
  return M.begin(workflow, SELECT_HERE)
end

---@return integer? first, integer? last 1-based lines of the innermost function under the cursor
local function function_here()
  local ok, parser = pcall(vim.treesitter.get_parser, 0)
  if not ok or not parser then
    return nil
  end
  parser:parse()
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local column = #api.nvim_get_current_line():match('^%s*')
  local node = vim.treesitter.get_node({ pos = { row, column } })
  while node and not FUNCTIONS[node:type()] do
    node = node:parent()
  end
  if not node then
    return nil
  end
  local parent = node:parent()
  if parent and parent:type() == 'decorated_definition' then
    node = parent
  end
  local first, _, last, end_column = node:range()
  return first + 1, end_column == 0 and last or last + 1
end

--- Select the function under the cursor, else the paragraph: the motion of `begin_here`.
function M.select_here()
  local first, last = function_here()
  local keys = first and ('%dGV%dG'):format(first, last) or 'Vip'
  vim.cmd({ cmd = 'normal', bang = true, args = { keys }, mods = { keepjumps = true } })
end

--- Restore the redo of the operator after the prompt was typed.
---@param operation tideate.Operation
local function restore_redo(operation)
  local here = api.nvim_get_current_win() == operation.win and mode() == 'n'
  if not here or operation ~= current then
    return
  end
  local view = vim.fn.winsaveview()
  api.nvim_set_option_value('operatorfunc', NOTHING, {})
  pcall(api.nvim_win_set_cursor, 0, operation.cursor)
  vim.cmd({
    cmd = 'normal',
    args = { operation.before .. 'g@' .. operation.motion },
    mods = { keepjumps = true, keeppatterns = true, silent = true, emsg_silent = true },
  })
  api.nvim_set_option_value('operatorfunc', APPLY, {})
  vim.fn.winrestview(view)
end

--- Run the workflow on the lines of the motion, between the marks `[` and `]`; called by `g@`.
function M.apply()
  vim.on_key(nil, namespace)
  current, pending = pending or current, nil
  local operation = current
  if not operation then
    return
  end
  local from, to = api.nvim_buf_get_mark(0, '[')[1], api.nvim_buf_get_mark(0, ']')[1]
  local sent = operation.sent
  require('tideate').run(sent and sent.name or operation.workflow, {
    context = require('tideate.context').capture({ from, to }),
    prompt = sent and sent.prompt,
    inputs = sent and sent.inputs,
    on_sent = function(name, opts)
      if not operation.sent then
        operation.sent = { name = name, prompt = opts.prompt, inputs = opts.inputs }
        restore_redo(operation)
      end
    end,
  })
end

--- Do nothing: the operator while `.` is restored.
function M.nothing() end

return M
