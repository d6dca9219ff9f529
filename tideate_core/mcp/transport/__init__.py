"""Transports of the MCP servers: stdio, streamable HTTP, WebSocket; admission by token and origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.transport.admission import (
        TOKEN_VARIABLE as TOKEN_VARIABLE,
        AdmissionPolicy as AdmissionPolicy,
        Token as Token,
        listen_on_loopback as listen_on_loopback,
        token_from_environment as token_from_environment,
    )
    from tideate_core.mcp.transport.stdio import serve_stdio as serve_stdio
    from tideate_core.mcp.transport.streamable_http import (
        http_app as http_app,
        serve_app as serve_app,
        serve_http as serve_http,
    )
    from tideate_core.mcp.transport.websocket import (
        serve_websocket as serve_websocket,
        websocket_client as websocket_client,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
