--- Highlight groups: default links that a colour scheme or the user can override.
local M = {}

---@type table<string, string> group → linked group
M.links = {
  TideateNormal = 'NormalFloat',
  TideateBorder = 'FloatBorder',
  TideateTitle = 'FloatTitle',
  TideateKey = 'Special',
  TideateHint = 'Comment',
  TideateAdd = 'DiffAdd',
  TideateDelete = 'DiffDelete',
  TideateAddText = 'DiffText',
  TideateDeleteText = 'DiffText',
  TideateAddSign = 'Added',
  TideateDeleteSign = 'Removed',
  TideateChangeSign = 'Changed',
  TideateMoveSign = 'Special',
  TideatePath = 'Directory',
  TideateComment = 'DiagnosticInfo',
  TideateOut = 'Comment',
  TideateDone = 'DiagnosticOk',
  TideateRunning = 'DiagnosticInfo',
  TideateFailed = 'DiagnosticError',
  TideateWarning = 'DiagnosticWarn',
  TideateUnresolved = 'DiagnosticUnderlineWarn',
  TideateDanger = 'ErrorMsg',
  TideateWaiting = 'Comment',
  TideateCurrent = 'Visual',
}

--- Define the groups that are not defined yet.
function M.define()
  for group, target in pairs(M.links) do
    vim.api.nvim_set_hl(0, group, { link = target, default = true })
  end
end

return M
