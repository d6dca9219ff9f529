"""MCP client package: starts or reaches configured servers on demand and calls their tools.

The SDK is imported on the first connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.client.client import ConnectedServer as ConnectedServer, MCPClient as MCPClient
    from tideate_core.mcp.client.specs import (
        ServerSpec as ServerSpec,
        server_at as server_at,
        server_readiness as server_readiness,
        servers_of as servers_of,
    )
    from tideate_core.mcp.client.tools import (
        Tool as Tool,
        ToolPermissions as ToolPermissions,
        ToolResult as ToolResult,
        check_arguments as check_arguments,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
