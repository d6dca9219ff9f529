"""MCP server for the files below one root: read, search and change them, each change with rollback."""

__all__: list[str] = []
