"""MCP server that builds a project."""

__all__: list[str] = []
