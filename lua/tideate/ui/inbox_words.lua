--- Words about the questions of the inbox, for its window, the panel and notices.
local M = {}

local text = require('tideate.ui.text')

local SHORT = 8 -- characters of an ID
local LONGEST = 200 -- bytes of a message on one line
local MINUTE, HOUR, DAY = 60, 3600, 86400 -- seconds

---@type table<string, string> kind of a question → word
local KINDS = {
  compare = 'choice',
  document = 'document',
  gate = 'question',
  invalid = 'not valid',
  override = 'question',
  plan = 'plan',
  review = 'review',
  tool = 'permission',
}

--- Return the name of a question's run: workflow and ID.
---@param one tideate.Waiting
---@return string
function M.name(one)
  return ('%s %s'):format(text.name(one.workflow), text.name(one.run:sub(1, SHORT)))
end

--- Return the kind of a question.
---@param one tideate.Waiting
---@return string
function M.kind(one)
  return KINDS[one.kind] or 'question'
end

--- Return the message of a question on one line.
---@param one tideate.Waiting
---@return string
function M.message(one)
  return text.plain(vim.trim((one.message:sub(1, LONGEST):gsub('%s+', ' '))))
end

--- Return the time since a moment, or its date after a month.
---@param at integer milliseconds since the epoch
---@return string
function M.since(at)
  local passed = os.time() - math.floor(at / 1000)
  if passed < MINUTE then
    return 'just now'
  elseif passed < HOUR then
    return ('%d min ago'):format(passed / MINUTE)
  elseif passed < DAY then
    return ('%d h ago'):format(passed / HOUR)
  elseif passed < 30 * DAY then
    return ('%d d ago'):format(passed / DAY)
  end
  return os.date('%Y-%m-%d', math.floor(at / 1000)) --[[@as string]]
end

--- Return a note on whether an allowed key signed the question, with a highlight group.
---@param one tideate.Waiting
---@return string, string
function M.signed(one)
  if one.signed then
    return 'signed', 'TideateDone'
  end
  return 'not verified', 'TideateHint'
end

--- Return a note on who continues the run of a question, or on the author of its answer.
---@param one tideate.Waiting that is taken or answered
---@return string
function M.answered(one)
  if one.taken_by then
    return ('taken by %s %s'):format(text.name(one.taken_by), one.taken_at and M.since(one.taken_at) or '')
  end
  return 'answered by ' .. text.name(one.answered_by)
end

--- Return the number of open questions in words.
---@param count integer
---@return string
function M.waiting(count)
  if count == 0 then
    return 'all questions are answered'
  end
  return count == 1 and '1 question waits' or ('%d questions wait'):format(count)
end

--- Return the prompt to confirm that a run is opened here.
---@param one tideate.Waiting
---@param is_taken boolean another person or job continues it
---@return string
function M.opening(one, is_taken)
  local author = one.signed and 'signed by an allowed key' or 'its author is not verified'
  local words = ('Open the run %s of %s (%s)? Its earlier changes are written to your files, and it continues here.'):format(M.name(one), text.name(one.by), author)
  return is_taken and words .. '\nAnother person or job continues this run already: it would run twice.' or words
end

--- Return a notice about a sent answer, or about another one that was first.
---@param sent {sent: boolean, run: string, answered_by?: string} result of the step that sends it
---@return string, integer level
function M.sent(sent)
  if sent.sent then
    return 'answer sent; `a` in :Workflow inbox continues the run here', vim.log.levels.INFO
  end
  return ('not sent: %s was first; the first answer counts'):format(text.name(sent.answered_by or '?')), vim.log.levels.WARN
end

--- Return a notice about new questions.
---@param questions tideate.Waiting[]
---@return string
function M.news(questions)
  local first = questions[1]
  if #questions == 1 then
    return ('a %s of %s waits in %s: :Workflow inbox'):format(M.kind(first), M.name(first), text.name(first.remote))
  end
  return ('%d new questions wait: :Workflow inbox'):format(#questions)
end

return M
