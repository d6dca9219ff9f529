"""The client: servers from the configuration, started when they are needed, and calls of their tools.

Nothing here imports the SDK before a server is connected to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.client.client import MCPClient
    from tideate_core.mcp.client.permissions import ToolPermissions
    from tideate_core.mcp.client.specs import ServerSpec, server_at, servers_of
    from tideate_core.mcp.client.tools import Tool, ToolResult

__all__ = [
    "MCPClient",
    "ServerSpec",
    "Tool",
    "ToolPermissions",
    "ToolResult",
    "server_at",
    "servers_of",
]

__getattr__, __dir__ = exports(
    "tideate_core.mcp.client",
    {
        "client": ["MCPClient"],
        "permissions": ["ToolPermissions"],
        "specs": ["ServerSpec", "server_at", "servers_of"],
        "tools": ["Tool", "ToolResult"],
    },
)
