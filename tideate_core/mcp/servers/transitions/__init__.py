"""MCP server that walks a client through a `.workflow` machine."""
