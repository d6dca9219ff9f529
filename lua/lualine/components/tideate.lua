--- Component for lualine, `sections = { lualine_x = { 'tideate' } }`: status of the runs.
--- It only reads known state.
local Component = require('lualine.component'):extend()

function Component:update_status()
  -- lualine passes it to Neovim as 'statusline' items
  return require('tideate').statusline({ escape = true })
end

return Component
