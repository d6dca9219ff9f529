if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true

vim.bo.commentstring = '# %s'
vim.bo.comments = 'b:#,b://,fb:-,fb:*'
vim.opt_local.formatoptions:remove('t')
vim.opt_local.formatoptions:append('croqlnj')
vim.bo.expandtab = true
vim.bo.shiftwidth = 2
vim.bo.softtabstop = 2
vim.bo.autoindent = true
vim.bo.indentexpr = "v:lua.require'tideate.language.blocks'.indent()"
vim.bo.indentkeys = 'o,O,!^F,<:>,*<Return>'
vim.bo.formatexpr = "v:lua.require'tideate.language.format'.expr()"
vim.opt_local.linebreak = true -- guidance is prose, a line a paragraph
vim.opt_local.breakindent = true
-- an expression is asked about every line when a file is opened; 'indent' leaves only the transition out
vim.opt_local.foldmethod = vim.api.nvim_buf_line_count(0) > 4000 and 'indent' or 'expr'
vim.opt_local.foldexpr = "v:lua.require'tideate.language.blocks'.fold()"
vim.opt_local.foldlevel = 99 -- open; zc and zM close
vim.b.undo_ftplugin = 'setlocal commentstring< comments< formatoptions< expandtab< shiftwidth< softtabstop<'
  .. ' autoindent< indentexpr< indentkeys< formatexpr< linebreak< breakindent<'
  .. ' foldmethod< foldexpr< foldlevel<'
  .. " | call v:lua.require'tideate.language'.detach(0)"

if not vim.g.no_plugin_maps and not vim.g.no_workflow_maps then
  require('tideate.language.jump').map(vim.api.nvim_get_current_buf())
  vim.b.undo_ftplugin = vim.b.undo_ftplugin .. " | call v:lua.require'tideate.language.jump'.unmap(0)"
end

if vim.fn.has('nvim-0.10') == 1 then
  require('tideate.language').attach(vim.api.nvim_get_current_buf())
end
