"""Serves an MCP server to many clients on this machine over streamable HTTP."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn

from tideate_core.mcp.admission import HOST, PATH, Door
from tideate_core.mcp.signals import Signals
from tideate_core.mcp.web import Admission, SessionRoom, security

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from mcp.server.mcpserver import MCPServer
    from mcp.server.streamable_http import EventStore
    from starlette.applications import Starlette
    from starlette.types import ASGIApp

    from tideate_core.mcp.admission import Token

__all__ = ["MAX_SESSIONS", "http_app", "serve_app", "serve_http"]

MAX_SESSIONS = 64
"""How many HTTP sessions may be open at once; one ends after 30 idle minutes, or to make room."""

GRACE = 0
"""Seconds that open streams have to end when the server is told to: left alone, they never do."""


def http_app(server: MCPServer[Any], door: Door, events: EventStore | None = None) -> Starlette:
    """Return the application: every request must come in by the door.

    :param events: keeps what a client missed while it was away; without it such a client calls again.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security(door),
        max_sessions=MAX_SESSIONS,
        event_store=events,
    )
    app.add_middleware(SessionRoom, path=PATH, most=MAX_SESSIONS)
    # added last, asked first: a foreign page must not end anybody's session
    app.add_middleware(Admission, door=door)
    return app


def serve_http(
    server: MCPServer[Any], listening: socket.socket, token: Token, announce: Callable[[str], None]
) -> int:
    """Serve on a socket that listens on `HOST` until a signal; returns the exit status.

    :param announce: is given the server's address as soon as it can be used.
    """
    app = http_app(server, Door(token, listening.getsockname()[1]))
    return serve_app(app, listening, announce)


def serve_app(app: ASGIApp, listening: socket.socket, announce: Callable[[str], None]) -> int:
    """As `serve_http`, for an application."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        log_level=logging.CRITICAL,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
        ws="none",
    )
    with listening:
        announce(f"http://{HOST}:{listening.getsockname()[1]}{PATH}")
        return asyncio.run(_over_http(_Uvicorn(config), listening))


async def _over_http(web: uvicorn.Server, listening: socket.socket) -> int:
    def stop() -> None:
        web.should_exit = True

    with Signals(stop) as signals:
        await web.serve(sockets=[listening])
    return signals.status


class _Uvicorn(uvicorn.Server):
    """Leaves the signals to us: its own way raises them again after an orderly end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
