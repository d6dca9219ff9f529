"""MCP server that guides a client through a `.workflow` machine."""
