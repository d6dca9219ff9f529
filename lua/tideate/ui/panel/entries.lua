--- Nodes of a step's activity: turns, tool calls, list items, notes, errors.
local M = {}

---@param usage tideate.Usage?
---@return integer? tokens, number? cost
function M.spent(usage)
  local tokens = usage and (usage.input_tokens or 0) + (usage.output_tokens or 0) or 0
  local cost = usage and usage.cost
  return tokens > 0 and tokens or nil, type(cost) == 'number' and cost or nil
end

---@param text string
---@return string
local function one_line(text)
  return (text:sub(1, 400):gsub('^[\128-\191]+', ''):gsub('%s+', ' '))
end

---@param call tideate.CallActivity
---@param parent tideate.ui.Node
---@param index integer
---@return tideate.ui.Node
local function call_node(call, parent, index)
  local data, calls = call.data, require('tideate.ui.tool_calls')
  local hint = type(data.error) == 'string' and one_line(data.error) or data.size and calls.size_words(data.size)
  local node = {
    key = ('%s/c%d'):format(parent.key, index),
    kind = 'call',
    label = calls.name(data),
    hint = hint,
    state = call.state,
    began = call.state == 'running' and call.began or nil,
    took = data.duration_ms,
    run = parent.run,
    step = parent.step,
    about = call,
  }
  if call.state == 'running' then
    node.renew = function()
      node.hint = call.progress and calls.progress_words(call.progress):match('  (.*)$') or hint or nil
    end
    node:renew()
  end
  return node
end

---@param turn tideate.TurnActivity
---@return string
local function turn_hint(turn)
  if turn.state == 'running' then
    local thinking = #turn.text == 0 and #turn.reasoning > 0
    return (thinking and 'thinks: ' or '') .. one_line(turn.tail)
  end
  local parts = { turn.model and one_line(turn.model) }
  if #turn.calls > 0 then
    table.insert(parts, require('tideate.ui.text').counted(#turn.calls, 'tool call'))
  end
  -- texts of a stored run are read when it is opened
  table.insert(parts, turn.text[1] and one_line(table.concat(turn.text, '', 1, math.min(#turn.text, 40))))
  return table.concat(parts, '  ')
end

---@param turn tideate.TurnActivity
---@param parent tideate.ui.Node
---@param turns integer of its step
---@return tideate.ui.Node
local function turn_node(turn, parent, turns)
  local tokens, cost = M.spent(turn.usage)
  local node = {
    key = ('%s/t%d'):format(parent.key, turn.number),
    kind = 'turn',
    label = 'turn ' .. turn.number,
    hint = turn.state ~= 'running' and turn_hint(turn) or nil,
    flows = turn.state == 'running',
    state = turn.state,
    began = turn.state == 'running' and turn.began or nil,
    took = turn.duration_ms,
    tokens = tokens,
    cost = cost,
    run = parent.run,
    step = parent.step,
    about = turn,
    turns = turns,
  }
  if turn.state == 'running' then
    node.renew = function()
      node.hint, node.tokens = turn_hint(turn), math.ceil(turn.bytes / 4)
    end
    node:renew()
  end
  if #turn.calls > 0 then
    node.opens = true
    node.children = function()
      local nodes = {}
      for index, call in ipairs(turn.calls) do
        table.insert(nodes, call_node(call, node, index))
      end
      return nodes
    end
  end
  return node
end

---@param parent tideate.ui.Node
---@param kind 'note'|'error'
---@param state string
---@param text string
---@param number integer|string
---@return tideate.ui.Node
function M.text_node(parent, kind, state, text, number)
  return {
    key = ('%s/%s%s'):format(parent.key, kind, number),
    kind = kind,
    label = one_line(text),
    state = state,
    run = parent.run,
    step = parent.step,
    about = text,
  }
end

---@param step tideate.StepActivity?
---@param parent tideate.ui.Node
---@param nodes tideate.ui.Node[]
---@param err? string reason of its failure
function M.add(step, parent, nodes, err)
  for index, entry in ipairs(step and step.entries or {}) do
    if entry.kind == 'turn' then
      table.insert(nodes, turn_node(entry, parent, step.turns))
    elseif entry.kind == 'call' then
      table.insert(nodes, call_node(entry, parent, index))
    else
      table.insert(nodes, M.text_node(parent, 'note', entry.state, entry.text, index))
    end
  end
  if err then
    table.insert(nodes, M.text_node(parent, 'error', 'failed', err, ''))
  end
end

---@param item tideate.ItemActivity
---@param parent tideate.ui.Node
---@return tideate.ui.Node
function M.item(item, parent)
  local step = item.step
  local tokens, cost = M.spent(step.usage)
  local over = not parent.began
  local state = step.ended or over and 'stopped' or 'running'
  local node = {
    key = ('%s/i%d'):format(parent.key, item.index),
    kind = 'item',
    label = item.name,
    state = state,
    opens = state == 'running',
    took = step.duration_ms,
    tokens = tokens,
    cost = cost,
    run = parent.run,
    step = item.name,
    about = step,
  }
  if #step.entries > 0 or step.error then
    node.children = function()
      local nodes = {}
      M.add(step, node, nodes, step.error)
      return nodes
    end
  end
  return node
end

return M
