"""Client of MCP servers: connections on demand to the configured servers, and calls of their tools.

Nothing here imports the SDK before a server is connected to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.client.client import ConnectedServer, MCPClient
    from tideate_core.mcp.client.specs import ServerSpec, server_at, server_readiness, servers_of
    from tideate_core.mcp.client.tools import Tool, ToolPermissions, ToolResult, check_arguments

__all__ = [
    "ConnectedServer",
    "MCPClient",
    "ServerSpec",
    "Tool",
    "ToolPermissions",
    "ToolResult",
    "check_arguments",
    "server_at",
    "server_readiness",
    "servers_of",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "client": ("ConnectedServer", "MCPClient"),
            "specs": ("ServerSpec", "server_at", "server_readiness", "servers_of"),
            "tools": ("Tool", "ToolPermissions", "ToolResult", "check_arguments"),
        },
    )
