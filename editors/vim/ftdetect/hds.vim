autocmd BufNewFile,BufRead *.hds setfiletype python
