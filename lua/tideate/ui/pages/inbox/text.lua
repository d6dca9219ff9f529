--- Text of the inbox window: two lines for each question.
local M = {}

local text = require('tideate.ui.text')
local words = require('tideate.ui.inbox_words')

---@class tideate.ui.InboxPage: tideate.ui.Page
---@field questions table<integer, tideate.Waiting> by line

---@param one tideate.Waiting
---@param width integer
---@return tideate.Chunk[]
local function first_line(one, width)
  local since = words.since(one.asked_at)
  local mark = one.answered_by and { ' ✓ ', 'TideateDone' } or { ' ? ', 'TideateWarning' }
  local chunks = text.fit_chunks({
    mark,
    { text.name(one.workflow) .. '  ', 'TideateTitle' },
    { words.kind(one) .. '  ', 'TideateKey' },
    { words.message(one) },
  }, width - #since - 2)
  local gap = width - #since - text.width(chunks) - 1
  table.insert(chunks, { (' '):rep(gap) .. since, 'TideateHint' })
  return chunks
end

---@param one tideate.Waiting
---@return tideate.Chunk[]
local function second_line(one)
  local signed, group = words.signed(one)
  local where = {
    { '   ' .. text.name(one.remote), 'TideatePath' },
    { ('  %s  '):format(text.name(one.run:sub(1, 8))), 'TideateHint' },
  }
  if one.taken_by or one.answered_by then
    return vim.list_extend(where, { { words.answered(one), 'TideateDone' } })
  end
  return vim.list_extend(where, { { ('by %s  '):format(text.name(one.by)), 'TideateHint' }, { signed, group } })
end

---@param one tideate.Waiting that is not valid
---@return tideate.Chunk[]
local function invalid_line(one)
  return {
    { ' ✗ ', 'TideateFailed' },
    { text.name(one.remote), 'TideatePath' },
    { ('  %s  '):format(text.name(one.run:sub(1, 8))), 'TideateHint' },
    { words.message(one), 'TideateFailed' },
  }
end

---@param inbox tideate.Inbox
---@param is_fetching boolean
---@return string?
local function empty_words(inbox, is_fetching)
  if #inbox.waiting + #inbox.failed > 0 or is_fetching then
    return nil
  elseif #inbox.remotes == 0 then
    return 'this project has no git remote, so it has no inbox; `git remote add` adds one'
  end
  return ('no question waits in %s'):format(text.names(inbox.remotes))
end

--- Build the page of an inbox.
---@param inbox tideate.Inbox
---@param options {remote: string, fetching: boolean, width: integer} remote: only this one
---@return tideate.ui.InboxPage
function M.page(inbox, options)
  local where = options.remote ~= '' and ' of ' .. text.name(options.remote) or ''
  local page = { title = 'inbox' .. where .. (options.fetching and ' · fetching …' or ''), lines = {}, questions = {} }
  local function add(chunks, one)
    table.insert(page.lines, chunks)
    page.questions[#page.lines] = one
  end
  for _, one in ipairs(inbox.waiting) do
    if options.remote == '' or one.remote == options.remote then
      local valid = one.n > 0
      for _, line in ipairs(valid and { first_line(one, options.width), second_line(one) } or { invalid_line(one) }) do
        add(text.fit_chunks(line, options.width), one)
      end
    end
  end
  for _, failed in ipairs(inbox.failed) do
    local is_wanted = options.remote == '' or failed.remote == options.remote
    for index, line in ipairs(is_wanted and text.wrap(failed.reason, options.width - 4) or {}) do
      add({ { (index == 1 and ' ✗ ' or '   ') .. line, 'TideateFailed' } })
    end
  end
  local nothing = empty_words(inbox, options.fetching)
  for _, line in ipairs(nothing and text.wrap(nothing, options.width - 2) or #page.lines == 0 and { '' } or {}) do
    add({ { ' ' .. line, 'TideateHint' } })
  end
  return page
end

return M
