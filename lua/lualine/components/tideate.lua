--- A lualine component: `sections = { lualine_x = { 'tideate' } }`. It only reads what is known already.
local Component = require('lualine.component'):extend()

function Component:update_status()
  -- lualine hands it to Neovim as items
  return require('tideate').statusline({ escape = true })
end

return Component
