"""MCP: the servers that tideate offers and how they are served.

Nothing is imported here: the SDK costs 0.4 s, and whoever needs it imports the module that uses it.
"""

__all__: list[str] = []
