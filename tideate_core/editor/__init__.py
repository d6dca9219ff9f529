"""The Neovim front end's Python half. Nothing is imported here: the host must be ready in milliseconds."""

__all__: list[str] = []
