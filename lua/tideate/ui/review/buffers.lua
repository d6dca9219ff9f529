--- Buffers of a review: prepared, followed through unloads, and released.
local M = {}

local api = vim.api
local ui = require('tideate.ui')
local model = require('tideate.ui.review.model')
local overlay = require('tideate.ui.review.overlay')
local scratch_buffer = require('tideate.ui.review.scratch_buffer')

local MOST_HIDDEN = 20 -- scratch buffers

---@class tideate.ReviewBuffer
---@field buf integer
---@field scratch boolean
---@field overlay tideate.Overlay
---@field restore_keys fun()?

--- Return a file's buffer, prepared for the review.
---@param review tideate.Review
---@param index integer
---@return tideate.ReviewBuffer
function M.get(review, index)
  local made = review.buffers[index]
  if made then
    return made
  end
  local entry = review.model.entries[index]
  local file, hunk = entry.file, entry.units[1].hunks[1]
  local real = file.action ~= 'create' and file.buffer or nil
  local buf = real or scratch_buffer.open(file, hunk and hunk.new, review.question.execution_id)
  made = { buf = buf, scratch = real == nil }
  made.overlay = overlay.attach(buf, entry, function()
    review.side:refresh()
    review:draw_bars()
  end)
  made.overlay.hidden = review.hidden
  review.buffers[index], review.index_by_buffer[buf] = made, index
  return made
end

--- Load the closed buffer of a file again.
---@param file tideate.ReviewFile
---@return string? reason reason that its changes cannot be reviewed
local function load_again(file)
  local reason = file.buffer and require('tideate.edit').load_again(file.buffer)
  if reason then
    local name = file.path ~= '' and file.path or ('buffer %d'):format(file.buffer)
    return ('%s was closed, and %s'):format(name, reason)
  end
end

--- Return the reason that a review cannot be shown.
---@param review tideate.Review
---@return string?
function M.obstacle(review)
  for _, entry in ipairs(review.model.entries) do
    local reason = load_again(entry.file)
    if reason then
      return reason
    end
  end
end

--- Set the keys in a visible buffer: most buffers of a large review are never shown.
---@param review tideate.Review
---@param buf integer
function M.set_keys(review, buf)
  local made = review.buffers[review.index_by_buffer[buf]]
  if review.active and made and not made.restore_keys then
    made.restore_keys = require('tideate.ui.keys').set(buf, review.guard:wrap(review:keys()))
  end
end

--- Tell the user that the review is still open after its buffer was closed.
---@param what string closed
function M.say_open(what)
  ui.notify(('%s was closed; its review is open: :Workflow review'):format(what))
end

--- Delete a scratch buffer; it is created again when it is shown.
---@param review tideate.Review
---@param index integer
local function discard(review, index)
  local made = review.buffers[index]
  -- first, or its unload would count as the user's
  review.buffers[index], review.index_by_buffer[made.buf] = nil, nil
  made.overlay:close()
  require('tideate.ui.window').delete(made.buf)
end

--- Handle the unload of a buffer: reload one that the user closed; if that fails, the review waits.
---@param review tideate.Review
---@param index integer
function M.unloaded(review, index)
  local made = review.buffers[index]
  if not made or review.closed then
    return
  end
  local file = review.model.entries[index].file
  local closed = not api.nvim_buf_is_loaded(made.buf) -- `:edit` unloads a buffer and reads it again
  if closed and made.scratch then
    discard(review, index)
    return M.say_open(model.name(file))
  end
  local reason = closed and load_again(file)
  if reason then
    return review.waits or review:put_off(reason)
  end
  made.overlay:renew()
  if closed then
    made.restore_keys = nil -- deleted with the buffer
    if #vim.fn.win_findbuf(made.buf) > 0 then
      M.set_keys(review, made.buf)
    end
    if review.active then
      M.say_open(model.name(file))
    end
  end
end

--- Delete hidden scratch buffers if there are many.
---@param review tideate.Review
function M.forget_hidden(review)
  local hidden = vim.tbl_filter(function(index)
    local made = review.buffers[index]
    return made.scratch and index ~= review.current and #vim.fn.win_findbuf(made.buf) == 0
  end, vim.tbl_keys(review.buffers))
  for _, index in ipairs(#hidden > MOST_HIDDEN and hidden or {}) do
    discard(review, index)
  end
end

--- Release all buffers.
---@param review tideate.Review
function M.close(review)
  for index, made in pairs(review.buffers) do
    if made.restore_keys then
      made.restore_keys()
    end
    if made.scratch then
      discard(review, index)
    else
      made.overlay:close()
    end
  end
end

return M
