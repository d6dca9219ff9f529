"""MCP server that lists and runs a project's tests."""
