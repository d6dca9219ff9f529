"""MCP server for one git repository: read and commit; run no program that it brings."""
