"""MCP: the servers that tideate offers, how they are served, and the client for them and all others.

Nothing is imported here: the SDK costs 0.4 s, and whoever needs it imports the module that uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.admission import TOKEN, Token, listen, token_from
    from tideate_core.mcp.client.client import MCPClient
    from tideate_core.mcp.protocol import Conversation
    from tideate_core.mcp.servers.filesystem.remembering import remembered
    from tideate_core.mcp.servers.git.trusting import Brought, allow, look_at
    from tideate_core.mcp.servers.table import SERVERS, checked_root, make_server
    from tideate_core.mcp.servers.transitions import transitions_server
    from tideate_core.mcp.serving import serve_stdio
    from tideate_core.mcp.serving_http import serve_http
    from tideate_core.mcp.serving_websocket import serve_websocket
    from tideate_core.mcp.starting import WEB, quick_imports
    from tideate_core.mcp.websocket import websocket_client

__all__ = [
    "Brought",
    "Conversation",
    "MCPClient",
    "SERVERS",
    "TOKEN",
    "Token",
    "WEB",
    "allow",
    "checked_root",
    "listen",
    "look_at",
    "make_server",
    "quick_imports",
    "remembered",
    "serve_http",
    "serve_stdio",
    "serve_websocket",
    "token_from",
    "transitions_server",
    "websocket_client",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "admission": (
                "TOKEN",
                "Token",
                "listen",
                "token_from",
            ),
            "client.client": ("MCPClient",),
            "protocol": ("Conversation",),
            "servers.filesystem.remembering": ("remembered",),
            "servers.git.trusting": (
                "Brought",
                "allow",
                "look_at",
            ),
            "servers.table": (
                "SERVERS",
                "checked_root",
                "make_server",
            ),
            "servers.transitions": ("transitions_server",),
            "serving": ("serve_stdio",),
            "serving_http": ("serve_http",),
            "serving_websocket": ("serve_websocket",),
            "starting": (
                "WEB",
                "quick_imports",
            ),
            "websocket": ("websocket_client",),
        },
    )
