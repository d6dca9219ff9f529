autocmd BufRead,BufNewFile *.workflow,PLANNER setfiletype workflow
if has('nvim-0.10')
  autocmd BufRead,BufNewFile */{.,}tideate/workflows/*.{yaml,yml,json} lua require('tideate.language.definitions').open(tonumber(vim.fn.expand('<abuf>')))
endif
