--- A lualine component: `sections = { lualine_x = { 'tideate' } }`. It only reads what is known already.
local Component = require('lualine.component'):extend()

function Component:update_status()
  return require('tideate').statusline()
end

return Component
