autocmd BufRead,BufNewFile *.workflow,PLANNER setfiletype workflow
