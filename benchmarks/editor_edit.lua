-- Stop-watches of an edit for benchmarks/editor_edit.py; milliseconds of the clock that Python's time.monotonic() shows.
local M = {}

local function now()
  return vim.uv.hrtime() / 1e6
end

--- Type the keys of a mapping and wait for its prompt window; `M.opened` is the time from the key to insert mode there.
function M.open_prompt()
  M.opened = nil
  local began = now()
  vim.api.nvim_create_autocmd('InsertEnter', {
    once = true,
    callback = function()
      vim.cmd.redraw()
      M.opened = now() - began
    end,
  })
  vim.api.nvim_input('gz')
end

--- Send a prompt; `M.sent` is the time of the key, `M.shown` that of the first changed line on the screen.
function M.send(prompt)
  M.sent, M.shown = nil, nil
  local stream = require('tideate.ui.review.stream')
  local on_event = stream.on_event
  stream.on_event = function(event)
    on_event(event)
    if event.name == 'SD_EVENT_HUNKS_STREAMED' and #event.data.hunks > 0 then
      stream.on_event = on_event
      vim.cmd.redraw()
      M.shown = now()
    end
  end
  vim.api.nvim_create_autocmd('InsertLeave', {
    once = true,
    callback = function()
      M.sent = now()
    end,
  })
  vim.api.nvim_input(prompt .. '<C-s>')
end

return M
