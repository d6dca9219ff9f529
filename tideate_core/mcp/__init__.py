"""MCP: servers for a project's files, git, tests, build and workflows; transports; the client.

Nothing is imported here: the SDK costs 0.4 s, and whoever needs it imports the name that uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.client import MCPClient
    from tideate_core.mcp.protocol import Conversation, ProtocolViolation

__all__ = ["Conversation", "MCPClient", "ProtocolViolation"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "client": ("MCPClient",),
            "protocol": ("Conversation", "ProtocolViolation"),
        },
    )
