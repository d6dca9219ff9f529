"""`make screenshots`: the pictures of the documents, from a real Neovim in a terminal."""
