"""The MCP servers, one module each."""

__all__: list[str] = []
