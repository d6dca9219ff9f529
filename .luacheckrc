std = 'luajit'
max_line_length = false -- help texts and annotations
codes = true
self = false -- a method need not use it
read_globals = { 'vim' }
globals = { 'vim.g', 'vim.o', 'vim.bo', 'vim.wo', 'vim.b', 'vim.w', 'vim.opt', 'vim.opt_local', 'vim.ui', 'vim.notify' }
include_files = { '**/*.lua', '.luacheckrc' }
exclude_files = { '.venv', '.cache' }
files['tests'] = { globals = { 'vim' } }
