-- Runs one workflow in a headless Neovim and tells the tour what happens, as it happens.
local channel, name, prompt, first, last = ...

local function tell(kind, data)
  vim.rpcnotify(channel, kind, data)
end

-- Nobody sits at this Neovim: the tour shows what a person would be asked and answers for them.
-- An answer with new syntax errors is what a person should not take.
require('tideate.ui').confirm = function(_, params, respond)
  local accepted = params.kind ~= 'override'
  tell('confirm', { kind = params.kind, message = params.message, accepted = accepted })
  respond({ accepted = accepted })
end

require('tideate').run(name, {
  prompt = prompt,
  adapter = 'local',
  context = require('tideate.context').capture({ first, last }),
  on_event = function(event)
    tell('event', { name = event.name, data = event.data })
  end,
}, function(result)
  tell('done', {
    ok = result.ok,
    response = result.response,
    error = result.error,
    error_code = result.error_code,
    cancelled = result.cancelled,
    reason = result.reason,
  })
end)
