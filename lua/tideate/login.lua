--- Logins at model providers: open an address and type a code, or enter a key.
local M = {}

local ui = require('tideate.ui')

local CANCEL = 'cancel'
local ACCOUNTS = { 'github-copilot', 'openai-chatgpt', 'openai-codex' }

---@class tideate.LoginState
---@field provider string
---@field kind 'account'|'key'|'none'
---@field source string

---@type { provider: string, id: string }? login that waits for the user
local waiting

---@param provider string
local function keep_key(provider)
  local key = vim.fn.inputsecret(('API key of %s (not shown): '):format(provider))
  if key == '' then
    return ui.notify('no key was given; nothing was stored')
  end
  require('tideate.client').request_or_tell('login_key', { provider = provider, key = key }, function()
    ui.notify(('stored the key for %s; only you can read it'):format(provider))
  end)
end

--- Open an address in a browser if possible; it is shown in any case.
---@param address string
local function open(address)
  -- only an https address is opened
  if vim.startswith(address, 'https://') and vim.ui.open then
    pcall(vim.ui.open, address)
  end
end

---@param provider string
---@param challenge tideate.Result
local function wait_for(provider, challenge)
  local what = challenge.code ~= '' and (' and type the code ' .. challenge.code) or ''
  local minutes = math.max(1, math.floor(challenge.expires_in / 60))
  ui.notify(('open %s%s within %d min; `:Workflow login cancel` cancels the login'):format(challenge.address, what, minutes))
  open(challenge.address)
  local id ---@type string
  id = require('tideate.client').request('login_finish', { provider = provider }, function(result)
    if waiting and waiting.id == id then
      waiting = nil
    end
    if result.ok then
      ui.notify(('logged in to %s'):format(provider))
    else
      local words = result.cancelled and ('the login at %s was cancelled'):format(provider) or result.error
      ui.notify(words, result.cancelled and vim.log.levels.INFO or vim.log.levels.ERROR)
    end
  end)
  waiting = { provider = provider, id = id }
end

--- Cancel the waiting login.
function M.cancel()
  if not waiting then
    return ui.notify('no login is under way')
  end
  require('tideate.client').tell('cancel_ask', { id = waiting.id })
end

--- Log in to a provider.
---@param provider string
function M.start(provider)
  if waiting then
    return ui.notify(('a login at %s is under way; `:Workflow login cancel` ends it'):format(waiting.provider))
  end
  require('tideate.client').request_or_tell('login_start', { provider = provider }, function(result)
    if result.kind == 'key' then
      keep_key(provider)
    else
      wait_for(provider, result)
    end
  end)
end

---@param state tideate.LoginState
---@return string
local function item_line(state)
  if state.kind == 'none' then
    return state.provider .. '  (not logged in)'
  end
  local source = state.source == 'login' and 'stored' or state.source
  return ('%s  (%s, %s)'):format(state.provider, state.kind, source)
end

--- Run `:Workflow login`.
---@param rest string
function M.run(rest)
  local name = vim.trim(rest)
  if name == CANCEL then
    return M.cancel()
  elseif name:find('%s') then
    return ui.fail('`:Workflow login [PROVIDER|cancel]`')
  elseif name ~= '' then
    return M.start(name)
  end
  require('tideate.client').request_or_tell('logins', {}, function(result)
    local opts = { prompt = 'Log in', kind = 'tideate.login', format_item = item_line }
    ui.select(result.providers, opts, function(state)
      if state then
        M.start(state.provider)
      end
    end)
  end)
end

--- Complete `:Workflow login` without asking the host.
---@return string[]
function M.complete()
  return vim.list_extend(waiting and { CANCEL } or {}, ACCOUNTS)
end

return M
