--- `:checkhealth tideate`. The only module that waits for the host.
local M = {}

local api = vim.api

local PACKAGES = { 'pynvim', 'pydantic', 'pydantic_ai', 'openai', 'jinja2', 'ruamel.yaml', 'ast_grep_py' }
local ANSWER_MS = 20000 -- milliseconds; an unreachable adapter answers late

---@type [string, string][] extra and a module of it
local EXTRAS = {
  { 'acp', 'acp' },
  { 'anthropic', 'anthropic' },
  { 'google', 'google.genai' },
  { 'keyring', 'keyring' },
  { 'telemetry', 'opentelemetry.sdk' },
}

local LOOK = [[
import importlib.util, sys
def has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
print('.'.join(map(str, sys.version_info[:3])))
print(*(name for name in sys.argv[1:] if not has(name)))
print(sys.prefix)
]]

local function check_neovim()
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.10') == 1 then
    vim.health.ok('Neovim ' .. version)
  else
    vim.health.error('Neovim ' .. version .. ' is too old', { 'tideate needs 0.10 or newer' })
  end
end

---@param python string
---@return boolean ok
local function check_packages(python)
  local argv = vim.list_extend({ python, '-I', '-c', LOOK }, PACKAGES)
  for _, extra in ipairs(EXTRAS) do
    table.insert(argv, extra[2])
  end
  local started, process = pcall(vim.system, argv, { text = true })
  local done = started and process:wait(ANSWER_MS) or { code = 1, stdout = '', stderr = tostring(process) }
  if done.code ~= 0 then
    vim.health.error('Python cannot be run: ' .. vim.trim(done.stderr or ''), { 'run `:Workflow install`' })
    return false
  end
  local lines = vim.split(done.stdout, '\n')
  if not vim.version.parse(lines[1]) then
    vim.health.error(('%s is no Python: it said %s'):format(python, vim.inspect(done.stdout)))
    return false
  elseif vim.version.lt(lines[1], '3.11') then
    vim.health.error(('Python %s is too old'):format(lines[1]), { 'tideate needs 3.11 or newer' })
    return false
  end
  local absent = vim.split(lines[2], ' ', { trimempty = true })
  local missing = vim.tbl_filter(function(name)
    return vim.list_contains(PACKAGES, name)
  end, absent)
  if #missing > 0 then
    vim.health.error('missing Python packages: ' .. table.concat(missing, ' '), { 'run `:Workflow install`' })
    return false
  end
  vim.health.ok(('Python %s with all packages, in the environment %s'):format(lines[1], lines[3]))
  for _, extra in ipairs(EXTRAS) do
    local known = not vim.list_contains(absent, extra[2])
    local words = known and 'installed' or ('not installed; `:Workflow install %s` adds it'):format(extra[1])
    vim.health.info(('extra %s: %s'):format(extra[1], words))
  end
  return true
end

--- Check the interpreter of the running host, or of the next one.
---@return boolean ok
local function check_python()
  local running = require('tideate.host').info()
  local python, source = require('tideate.paths').python()
  if running and running.python ~= python then
    local now = running.python or "Neovim's own Python host"
    vim.health.warn(('the running host has another interpreter: %s'):format(now), {
      ('the options now name %s; restart Neovim to use it'):format(python or 'none'),
    })
    python, source = running.python, running.source
  end
  if not python and require('tideate.job').has_classic() then
    local named = vim.g.python3_host_prog
    vim.health.info(
      ("no environment of tideate's own: Neovim's Python host is used (%s), see `:UpdateRemotePlugins`"):format(
        named and ('g:python3_host_prog = ' .. named) or 'as Neovim finds it'
      )
    )
    return true
  elseif not python then
    vim.health.error('no Python environment', { 'run `:Workflow install`' })
    return false
  end
  vim.health.info(('interpreter: %s (from %s)'):format(python, source))
  return check_packages(python)
end

local function check_host()
  local answer ---@type tideate.Result?
  require('tideate.client').request('health', {}, function(result)
    answer = result
  end)
  vim.wait(ANSWER_MS, function()
    return answer ~= nil
  end, 20)
  if not answer then
    return vim.health.error('the host does not answer', { 'see its log: `:Workflow log`' })
  elseif not answer.ok then
    return vim.health.error(answer.error or 'the host failed', { 'see its log: `:Workflow log`' })
  end
  local info = require('tideate.host').info()
  vim.health.ok(('the host answers, pid %s'):format(info and info.pid))
  for _, check in ipairs(answer.checks or {}) do
    local report = check.ok and vim.health.ok or vim.health.warn
    report(('%s: %s'):format(check.name, check.message))
  end
end

local function check_config()
  for _, option in ipairs(require('tideate.config').schema) do
    if not option.key:find('*', 1, true) then
      local value = require('tideate.config').get(option.key)
      if value ~= nil then
        vim.health.info(('%s = %s'):format(option.key, vim.inspect(value)))
      end
    end
  end
end

--- Return to the window of the report: a message of the host may have taken the focus.
---@param win integer
---@param buf integer
local function come_back(win, buf)
  if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf then
    api.nvim_set_current_win(win)
  else
    vim.cmd(('tab sbuffer %d'):format(buf))
  end
end

--- Check the installation.
function M.check()
  local win, buf = api.nvim_get_current_win(), api.nvim_get_current_buf()
  vim.health.start('tideate: editor and interpreter')
  check_neovim()
  local python_ok = check_python()
  vim.health.info('log: ' .. require('tideate.paths').log_path())
  if python_ok then
    vim.health.start('tideate: host')
    check_host()
  end
  vim.health.start('tideate: options')
  check_config()
  come_back(win, buf)
end

return M
