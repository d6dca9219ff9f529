"""Serves an MCP server to many clients on this machine over WebSocket."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from websockets.asyncio.server import serve

from tideate_core.mcp.transport.admission import CHALLENGE, HOST, PATH, AdmissionPolicy
from tideate_core.mcp.transport.invalid_messages import MAX_MESSAGE, ValidMessages
from tideate_core.mcp.transport.signals import StopSignals
from tideate_core.mcp.transport.websocket import (
    CLOSING,
    OPENING,
    PATIENCE,
    SUBPROTOCOL,
    message_streams,
)

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from mcp.server.mcpserver import MCPServer
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

    from tideate_core.mcp.transport.admission import Token

__all__ = ["MAX_CONNECTIONS", "serve_websocket"]

MAX_CONNECTIONS: Final = 64
"""How many clients may be connected at once; one that has gone without a word is noticed by pings."""


def serve_websocket(
    server: MCPServer[Any], listening: socket.socket, token: Token, announce: Callable[[str], None]
) -> int:
    """Serve on a socket that listens on `HOST` until a signal; returns the exit status.

    :param announce: is given the server's address as soon as it can be used.
    """
    with listening:
        return asyncio.run(
            _Serving(server, AdmissionPolicy(token, listening.getsockname()[1])).run(listening, announce)
        )


class _Serving:
    def __init__(self, server: MCPServer[Any], policy: AdmissionPolicy) -> None:
        self._lowlevel = server._lowlevel_server
        self._policy = policy
        self._open = 0

    async def run(self, listening: socket.socket, announce: Callable[[str], None]) -> int:
        stop = asyncio.Event()
        with StopSignals(stop.set) as signals:
            async with serve(
                self._serve,
                sock=listening,
                subprotocols=[SUBPROTOCOL],
                process_request=self._admit,
                compression=None,
                server_header=None,
                max_size=MAX_MESSAGE,
                open_timeout=OPENING,
                close_timeout=CLOSING,
                ping_timeout=PATIENCE,
                logger=_log(),
            ):
                announce(f"ws://{HOST}:{self._policy.port}{PATH}")
                await stop.wait()
        return signals.status

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        headers = request.headers
        refused = self._policy.refusal(
            *(headers.get_all(name) for name in ("Host", "Origin", "Authorization"))
        )
        if refused is None and request.path != PATH:
            refused = 404, f"404: the server is at {PATH}\n"
        if refused is None and self._open >= MAX_CONNECTIONS:
            refused = 503, f"503: {MAX_CONNECTIONS} clients are connected; try again when one has left\n"
        if refused is None:
            return None
        response = connection.respond(*refused)
        if refused[0] == 401:
            response.headers["WWW-Authenticate"] = CHALLENGE
        return response

    async def _serve(self, connection: ServerConnection) -> None:
        self._open += 1
        try:
            async with message_streams(connection) as (read, write):
                options = self._lowlevel.create_initialization_options()
                await self._lowlevel.run(ValidMessages(read, write), write, options)
        except* Exception:  # noqa: BLE001 of one client; the others go on
            _log().exception("a client's connection failed")
        finally:
            self._open -= 1


def _log() -> logging.Logger:
    """The library's own would say at the level of errors that a client was refused."""
    return logging.getLogger(__name__)
