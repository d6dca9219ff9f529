--- Nodes of the panel for the questions of the inbox.
local M = {}

---@param one tideate.Waiting
---@return tideate.ui.Node
local function question_node(one)
  local words = require('tideate.ui.inbox_words')
  local state = (one.taken_by or one.answered_by) and words.answered(one) or words.signed(one)
  local remote, since = require('tideate.ui.text').name(one.remote), one.n > 0 and words.since(one.asked_at) or nil
  local parts = one.n > 0 and { words.kind(one), remote, since, state, words.message(one) } or { remote, one.message }
  return {
    key = 'inbox/' .. require('tideate.inbox').key(one),
    kind = 'question',
    label = words.name(one),
    hint = table.concat(parts, '  '),
    state = one.n == 0 and 'failed' or one.answered_by and 'completed' or 'confirming',
    waiting = one,
  }
end

--- Build the panel's group of inbox questions; no nodes if there are no questions.
---@param folder string of the project
---@return tideate.ui.Node[]
function M.nodes(folder)
  local inbox = require('tideate.inbox')
  local known = inbox.known(folder)
  if #known.waiting == 0 then
    return {}
  end
  local open = #inbox.open_questions(known)
  return {
    {
      key = 'inbox',
      kind = 'inbox',
      label = 'Inbox',
      hint = require('tideate.ui.inbox_words').waiting(open),
      state = open > 0 and 'confirming' or 'completed',
      opens = true,
      children = function()
        return vim.tbl_map(question_node, known.waiting)
      end,
    },
  }
end

return M
