"""MCP: the servers that tideate offers, how they are served, and the client for them and all others.

Nothing is imported here: the SDK costs 0.4 s, and whoever needs it imports the module that uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.client.client import MCPClient

__all__ = ["MCPClient"]

__getattr__, __dir__ = exports("tideate_core.mcp", {"client.client": ["MCPClient"]})
