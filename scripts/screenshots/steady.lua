-- Run in the Neovim of the pictures: what differs from one run to the next stands still.
local progress = require('tideate.ui.progress')
progress.duration = function()
  return '0.4s'
end
progress.seconds = function()
  return '0s'
end
local date = os.date
---@diagnostic disable-next-line: duplicate-set-field
os.date = function(format, ...) -- luacheck: ignore 122
  return format == '%H:%M' and '12:00' or date(format, ...)
end
-- nobody types here but the script, which waits for what it answers
require('tideate.ui.questions.key_guard').limits.settle = 0
require('tideate.ui.typing').limits.quiet = 0
