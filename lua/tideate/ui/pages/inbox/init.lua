--- The window of the inbox: the questions that wait in the project's remotes.
local M = {}

local inbox = require('tideate.inbox')
local key = require('tideate.ui.keys').key
local pages = require('tideate.ui.pages.window')

---@class tideate.ui.Inbox
---@field folder string of the project
---@field remote string empty: all
---@field fetching boolean

local window ---@type tideate.ui.PageWindow

--- Draw the known questions.
---@param it tideate.ui.Inbox
---@param row? integer of the cursor
local function draw(it, row)
  local options = { remote = it.remote, fetching = it.fetching, width = pages.columns() }
  window:show(it, require('tideate.ui.pages.inbox.text').page(inbox.known(it.folder), options), row)
end

---@param it tideate.ui.Inbox
local function redraw(it)
  if window.shown == it and window:is_visible() then
    draw(it, window:row())
  end
end

--- Fetch the questions, and show them on arrival.
---@param it tideate.ui.Inbox
local function fetch(it)
  if it.fetching then
    return
  end
  it.fetching = true
  inbox.fetch(it.folder, it.remote ~= '' and { it.remote } or {}, function(result)
    it.fetching = false
    require('tideate.client').report(result)
    require('tideate.inbox_fetching').note_seen(it.folder)
    redraw(it)
  end)
  redraw(it)
end

---@param action fun(one: tideate.Waiting, folder: string)
---@return fun()
local function of_question(action)
  return function()
    local one, folder = window.page.questions[window:row()], window.shown.folder
    if one then
      window:close() -- its question needs the screen
      action(one, folder)
    end
  end
end

window = pages.new('inbox', function(it)
  return {
    key('<CR>', 'answer', 'open the question, as if its run were here', of_question(inbox.answer)),
    key('a', 'continue here', 'continue the run here, with the answers given so far', of_question(inbox.continue_here)),
    key('r', 'fetch', 'fetch the questions again', function()
      fetch(it)
    end),
  }
end)

---@return tideate.Key[]
function M.keys()
  return window:keys()
end

--- Draw again after the questions changed.
function M.inbox_changed()
  if window.shown then
    redraw(window.shown)
  end
end

--- Show the known questions, and fetch new ones.
---@param folder string of the project
---@param remote string empty: all
function M.show(folder, remote)
  local it = { folder = folder, remote = remote, fetching = false }
  draw(it)
  fetch(it)
end

return M
