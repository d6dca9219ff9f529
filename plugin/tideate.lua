if vim.g.loaded_tideate then
  return
end
vim.g.loaded_tideate = true

local api = vim.api

if vim.fn.has('nvim-0.10') == 0 then
  api.nvim_create_user_command('Workflow', function()
    api.nvim_err_writeln('tideate needs Neovim 0.10 or newer')
  end, { nargs = '*', range = true })
  return
end

api.nvim_create_user_command('Workflow', function(invocation)
  require('tideate.command').execute(invocation)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Run an AI workflow, or manage the running ones',
  complete = function(lead, line, position)
    return require('tideate.command').complete(lead, line, position)
  end,
})

api.nvim_create_autocmd('SessionLoadPost', {
  desc = 'Show the last chat in the empty windows of a session',
  callback = function()
    if vim.fn.bufnr('^tideate://chat/') > 0 then
      require('tideate.ui.chat').restore()
    end
  end,
})

-- a second after the start, and only for a person: one look for a file, and the host if it is to watch
local function look_for_unfinished_runs()
  vim.defer_fn(function()
    local config = package.loaded['tideate.config']
    if #api.nvim_list_uis() > 0 and config and config.get('watch.enabled') then
      require('tideate.client').request('list', nil, require('tideate.client').report)
    end
    if #api.nvim_list_uis() > 0 and not package.loaded['tideate.stored_runs'] then
      require('tideate.unfinished').tell()
    end
  end, 1000)
end

if vim.v.vim_did_enter == 1 then
  look_for_unfinished_runs()
else
  api.nvim_create_autocmd('VimEnter', { once = true, callback = look_for_unfinished_runs })
end

local plugs = {
  menu = '',
  ask = 'ask',
  chat = 'chat',
  summarize = 'summarize',
  refactor = 'refactor',
  generate = 'generate',
  ['multi-file'] = 'multi_file',
  cancel = 'cancel',
  output = 'output',
}
for name, arguments in pairs(plugs) do
  -- typed with ':' and not <Cmd>, so that a visual selection becomes the range
  local keys = (':Workflow %s<CR>'):format(arguments)
  for _, mode in ipairs({ 'n', 'x' }) do
    api.nvim_set_keymap(mode, ('<Plug>(tideate-%s)'):format(name), keys, {
      noremap = true,
      silent = true,
      desc = 'tideate: ' .. name,
    })
  end
end

-- without a selection the function or paragraph under the cursor: a whole buffer is asked for by its command
api.nvim_set_keymap('n', '<Plug>(tideate-refactor)', "v:lua.require'tideate.operator'.begin_here('refactor')", {
  noremap = true,
  expr = true,
  silent = true,
  desc = 'tideate: refactor the function or paragraph under the cursor',
})

for _, workflow in ipairs({ 'ask', 'edit', 'summarize', 'refactor' }) do
  for suffix, motion in pairs({ operator = '', line = ", '_'" }) do
    local keys = ("v:lua.require'tideate.operator'.begin('%s'%s)"):format(workflow, motion)
    -- `edit` is used most, so its operator has the short name
    local name = workflow == 'edit' and suffix == 'operator' and workflow or ('%s-%s'):format(workflow, suffix)
    for _, mode in ipairs(suffix == 'operator' and { 'n', 'x' } or { 'n' }) do
      api.nvim_set_keymap(mode, ('<Plug>(tideate-%s)'):format(name), keys, {
        noremap = true,
        expr = true,
        silent = true,
        desc = ('tideate: %s %s'):format(workflow, suffix == 'operator' and 'the lines of a motion' or 'as many lines as the count'),
      })
    end
  end
end
