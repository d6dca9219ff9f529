"""MCP server that builds a project."""
