"""The client: servers from the configuration, started when they are needed, and calls of their tools.

Nothing here imports the SDK before a server is connected to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.client.client import Connected, MCPClient
    from tideate_core.mcp.client.incoming import message_of
    from tideate_core.mcp.client.permissions import ToolPermissions
    from tideate_core.mcp.client.readiness import standing
    from tideate_core.mcp.client.specs import ServerSpec, server_at, servers_of
    from tideate_core.mcp.client.tools import Tool, ToolResult, check_arguments

__all__ = [
    "Connected",
    "MCPClient",
    "ServerSpec",
    "Tool",
    "ToolPermissions",
    "ToolResult",
    "check_arguments",
    "message_of",
    "server_at",
    "servers_of",
    "standing",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "client": (
                "Connected",
                "MCPClient",
            ),
            "incoming": ("message_of",),
            "permissions": ("ToolPermissions",),
            "readiness": ("standing",),
            "specs": (
                "ServerSpec",
                "server_at",
                "servers_of",
            ),
            "tools": (
                "Tool",
                "ToolResult",
                "check_arguments",
            ),
        },
    )
