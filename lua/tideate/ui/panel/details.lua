--- The whole content of a panel line: opened in a window, or copied.
local M = {}

local api = vim.api
local ui = require('tideate.ui')

local SEARCHED = 8192 -- bytes of an error that are searched for a place
local LONGEST = 300 -- bytes of a word that can name a place

---@class tideate.ui.Said a message of a step's conversation
---@field role 'system'|'user'|'model'|'tool'
---@field text string
---@field model? string
---@field reasoning? string
---@field usage? tideate.Usage
---@field calls? {tool: string, arguments?: any}[]
---@field tool? string
---@field turn? integer number in the stored conversation
---@field step_turn? integer number among the turns of its step

local HEADS = { system = 'Instructions', user = 'Prompt', tool = 'Result of %s', model = 'Answer of %s' }

---@param one tideate.ui.Said
---@return string markdown
local function section(one)
  local head = HEADS[one.role]:format(one.tool or one.model or '?')
  local parts = { '## ' .. head }
  if one.reasoning and one.reasoning ~= '' then
    table.insert(parts, '### Reasoning\n\n' .. one.reasoning)
  end
  if one.text ~= '' then
    table.insert(parts, (one.reasoning and one.reasoning ~= '' and '### Text\n\n' or '') .. one.text)
  end
  for _, call in ipairs(one.calls or {}) do
    local arguments = call.arguments and vim.json.encode(call.arguments) or ''
    table.insert(parts, ('→ `%s` %s'):format(call.tool, arguments))
  end
  return table.concat(parts, '\n\n')
end

--- Format messages in order; the long, repeated instructions come last.
---@param said tideate.ui.Said[]
---@return string
local function sections(said)
  local parts, instructions = {}, {}
  for _, one in ipairs(said) do
    table.insert(one.role == 'system' and instructions or parts, section(one))
  end
  return table.concat(vim.list_extend(parts, instructions), '\n\n')
end

---@param node tideate.ui.Node
---@param folder string
---@param take fun(said: tideate.ui.Said[], continued: boolean) continued: other runs continue this one
local function read_said(node, folder, take)
  local params = { execution_id = node.run.id, step = node.step, folder = folder }
  require('tideate.stored_runs').ask('run_said', params, function(result)
    take(result.said or {}, result.continued == true)
  end)
end

--- Find a turn among messages: the last ones are those of its run. Its tokens identify it, else its position.
---@param said tideate.ui.Said[]
---@param node tideate.ui.Node of a turn
---@return integer?, boolean? sure whether the match is unique
local function place_of(said, node)
  local turn = node.about ---@type tideate.TurnActivity
  local usage, found, models = turn.usage, {}, {} ---@type tideate.Usage?, integer[], integer[]
  if not usage then
    return nil -- it is being written, or was told again: nothing says which of them it is
  end
  for index, one in ipairs(said) do
    if one.role == 'model' then
      table.insert(models, index)
    end
  end
  local first = math.max(0, #models - node.turns)
  local by_place = models[#models - node.turns + turn.number]
  for at = first + 1, #models do
    local own = said[models[at]].usage or {}
    if own.input_tokens == usage.input_tokens and own.output_tokens == usage.output_tokens then
      table.insert(found, models[at])
    end
  end
  if #found == 0 then
    local own = by_place and said[by_place].usage or {}
    local kept = (own.input_tokens or 0) + (own.output_tokens or 0) > 0
    return not kept and by_place or nil, true
  end
  local sure = #found == 1 or vim.list_contains(found, by_place)
  return #found > 1 and sure and by_place or found[1], sure
end

--- Return the number of a turn in a conversation that a run can continue, and its number within its step,
--- from where the step can rerun; nil if it cannot.
---@param node tideate.ui.Node of a turn
---@param folder string
---@param take fun(continued: integer?, of_step: integer?)
function M.number_of_turn(node, folder, take)
  read_said(node, folder, function(said, continued)
    local at, sure = place_of(said, node)
    local found = at and sure and said[at] or {}
    take(continued and found.turn or nil, found.step_turn)
  end)
end

--- Return a turn with the messages sent for it, back to the previous turn.
---@param said tideate.ui.Said[]
---@param node tideate.ui.Node of a turn
---@return tideate.ui.Said[]
local function of_turn(said, node)
  local turn, at = node.about, place_of(said, node)
  if at then
    local first = at
    while said[first - 1] and said[first - 1].role ~= 'model' do
      first = first - 1
    end
    return vim.list_slice(said, first, at)
  end
  local text, reasoning = table.concat(turn.text), table.concat(turn.reasoning)
  local sent = { role = 'user', text = '(the prompt is visible after the end of the step)' }
  return { sent, { role = 'model', model = turn.model or 'the model', text = text, reasoning = reasoning } }
end

---@param call tideate.CallActivity
---@param node tideate.ui.Node
---@param folder string
---@param take fun(call: tideate.ui.Call)
local function read_call(call, node, folder, take)
  local line = require('tideate.ui.transcript.tool_calls').line(call.data)
  if call.arguments ~= nil or not call.sequence then
    return take({ line = line, data = call.data, arguments = call.arguments })
  end
  local params = { execution_id = node.run.id, sequence = call.sequence, folder = folder }
  require('tideate.stored_runs').ask('run_call', params, function(result)
    take({ line = line, data = result.data, arguments = result.arguments })
  end)
end

---@param value any
---@return string
local function as_text(value)
  if type(value) == 'string' then
    return value
  end
  return value == nil and '' or vim.json.encode(value)
end

---@param name string of a file, as written by a model or a tool
---@param root string
---@return string? path absolute; nil outside of the project
local function in_project(name, root)
  root = vim.uv.fs_realpath(root) or root
  local full = vim.uv.fs_realpath(vim.startswith(name, '/') and name or root .. '/' .. name)
  local stat = full and vim.startswith(full, root .. '/') and vim.uv.fs_stat(full)
  return stat and stat.type == 'file' and full or nil
end

--- Find a place in a project file that an error names.
---@param text string
---@param root string
---@return {path: string, line: integer, column: integer}?
function M.place_in(text, root)
  for word in text:sub(1, SEARCHED):gmatch('%S+') do
    -- a long word without blanks would make the pattern quadratic
    for path, line, rest in (#word <= LONGEST and word or ''):gmatch('([%w_%-./@+]+%.%w+):(%d+)(:?%d*)') do
      local full = in_project(path, root)
      if full then
        return { path = full, line = tonumber(line), column = tonumber(rest:match('%d+')) or 1 }
      end
    end
  end
end

--- Run a command in a window that can show a file, and stay there.
---@param command string
---@param argument string|integer
---@return boolean ok, string? err
local function show_in_window(command, argument)
  local win = require('tideate.ui.window').for_files()
  if win then
    api.nvim_set_current_win(win)
  else
    vim.cmd('aboveleft new')
  end
  return pcall(vim.cmd[command], argument)
end

---@param path string absolute
---@param line? integer
---@param column? integer
local function edit(path, line, column)
  local ok, err = show_in_window('edit', vim.fn.fnameescape(path))
  if not ok then
    return ui.fail(tostring(err):gsub('^.-:(E%d+)', '%1'))
  end
  local last = api.nvim_buf_line_count(0)
  api.nvim_win_set_cursor(0, { math.max(1, math.min(line or 1, last)), math.max(0, (column or 1) - 1) })
end

---@param title string
---@param text string
---@param filetype? string
local function show(title, text, filetype)
  require('tideate.ui.questions.preview').open(require('tideate.ui.text').plain(title), text, filetype or 'markdown')
end

---@param node tideate.ui.Node
---@return string
local function root_of(node, folder)
  return node.run.live and node.run.live.root or folder
end

---@param node tideate.ui.Node
---@param folder string
local function open_step(node, folder)
  read_said(node, folder, function(said)
    local parts = { #said > 0 and sections(said) or nil }
    local result = as_text(node.about.result)
    if #said == 0 and result ~= '' then
      table.insert(parts, '## Result\n\n' .. result)
    end
    if node.about.error then
      table.insert(parts, '## Error\n\n' .. node.about.error)
    end
    show(node.label, #parts > 0 and table.concat(parts, '\n\n') or 'nothing was said in it so far')
  end)
end

--- Open a file that a run changed, or its unnamed buffer.
---@param node tideate.ui.Node
---@param folder string
local function open_file(node, folder)
  local number = tonumber(node.about:match('^buffer (%d+)$'))
  local path = in_project(node.about, root_of(node, folder))
  if path then
    edit(path)
  elseif number and node.run.live and api.nvim_buf_is_valid(number) then
    show_in_window('buffer', number)
  elseif number then
    ui.warn(('%s is not there any more'):format(node.about))
  else
    ui.warn(('%s is not a file of the project, or is not there any more'):format(node.label))
  end
end

---@type table<string, fun(node: tideate.ui.Node, folder: string)>
local OPEN = {
  run = function(node, folder)
    require('tideate.ui.pages.run_page').show(node.run.id, folder)
  end,
  step = open_step,
  item = open_step,
  turn = function(node, folder)
    read_said(node, folder, function(said)
      show(('%s, %s'):format(node.step, node.label), sections(of_turn(said, node)))
    end)
  end,
  call = function(node, folder)
    read_call(node.about, node, folder, function(call)
      show('tool call', require('tideate.ui.transcript.tool_calls').details(call))
    end)
  end,
  note = function(node)
    show(node.step or 'note', node.about, '')
  end,
  error = function(node, folder)
    local place = M.place_in(node.about, root_of(node, folder))
    if place then
      return edit(place.path, place.line, place.column)
    end
    show('error', node.about, '')
  end,
  file = open_file,
}

--- Open the content of a line.
---@param node tideate.ui.Node
---@param folder string of the project
function M.open(node, folder)
  local way = OPEN[node.kind]
  if way then
    way(node, folder)
  end
end

OPEN.match = OPEN.run

---@type table<string, fun(node: tideate.ui.Node, folder: string, take: fun(text: string))>
local COPY = {
  turn = function(node, folder, take)
    local turn = node.about
    if #turn.text > 0 then
      return take(table.concat(turn.text))
    end
    read_said(node, folder, function(said)
      local at = place_of(said, node)
      take(at and said[at].text or '')
    end)
  end,
  call = function(node, folder, take)
    read_call(node.about, node, folder, function(call)
      take(as_text(call.data.error or call.data.result))
    end)
  end,
  step = function(node, _, take)
    take(node.about.error or as_text(node.about.result))
  end,
}
COPY.item = COPY.step

--- Return the content of a line as text.
---@param node tideate.ui.Node
---@param folder string of the project
---@param take fun(text: string)
function M.copyable(node, folder, take)
  local way = COPY[node.kind]
  if way then
    way(node, folder, take)
  elseif node.kind == 'run' then
    take(node.run.id)
  else
    take(type(node.about) == 'string' and node.about or node.label)
  end
end

return M
