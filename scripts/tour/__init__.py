"""`make run`: a tour in Neovim, or, without a terminal, three workflows on real files."""
