"""MCP server that lists and runs a project's tests."""

__all__: list[str] = []
