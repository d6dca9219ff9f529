"""MCP server for the files below one root: reading, searching and changes with rollback."""
