"""Transports of the MCP servers: stdio, streamable HTTP and WebSocket, with admission by token and origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.transport.admission import (
        TOKEN_VARIABLE,
        AdmissionPolicy,
        Token,
        listen_on_loopback,
        token_from_environment,
    )
    from tideate_core.mcp.transport.stdio import serve_stdio
    from tideate_core.mcp.transport.streamable_http import http_app, serve_app, serve_http
    from tideate_core.mcp.transport.websocket import serve_websocket, websocket_client

__all__ = [
    "TOKEN_VARIABLE",
    "AdmissionPolicy",
    "Token",
    "http_app",
    "listen_on_loopback",
    "serve_app",
    "serve_http",
    "serve_stdio",
    "serve_websocket",
    "token_from_environment",
    "websocket_client",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "admission": (
                "AdmissionPolicy",
                "TOKEN_VARIABLE",
                "Token",
                "listen_on_loopback",
                "token_from_environment",
            ),
            "stdio": ("serve_stdio",),
            "streamable_http": ("http_app", "serve_app", "serve_http"),
            "websocket": ("serve_websocket", "websocket_client"),
        },
    )
