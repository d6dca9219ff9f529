"""Pictures of a real Neovim for the documents (`make screenshots`)."""
