"""MCP: servers for a project's files, git, tests, build and workflows; transports; the client.

Nothing is imported here: the SDK costs 0.4 s, and whoever needs it imports the name that uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.client import MCPClient as MCPClient
    from tideate_core.mcp.protocol import Conversation as Conversation, ProtocolViolation as ProtocolViolation
else:
    __getattr__, __dir__, __all__ = exports(
        __name__,
        {
            "client": "MCPClient",
            "protocol": "Conversation ProtocolViolation",
        },
    )
