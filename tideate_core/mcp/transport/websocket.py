"""MCP over WebSocket: message streams for both sides, the client and the server.

Each message is one text frame; the subprotocol is `mcp`. The SDK no longer has this transport.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from tideate_core.errors import ServerUnavailable
from tideate_core.mcp.transport.admission import CHALLENGE, HOST, PATH, AdmissionPolicy
from tideate_core.mcp.transport.message_streams import MAX_MESSAGE, ValidMessages
from tideate_core.mcp.transport.signals import StopSignals

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Sequence

    from mcp.client._transport import TransportStreams
    from mcp.server.mcpserver import MCPServer
    from mcp.shared._context_streams import ContextReceiveStream, ContextSendStream
    from websockets.asyncio.connection import Connection
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

    from tideate_core.mcp.transport.admission import Token

    Incoming = ContextSendStream[SessionMessage | Exception]
    Outgoing = ContextReceiveStream[SessionMessage]
    Parse = Callable[[str], Sequence[SessionMessage | Exception]]

SUBPROTOCOL: Final = Subprotocol("mcp")
LONGEST_ANSWER: Final = 4 * MAX_MESSAGE
"""Bytes of a message from a server."""
PATIENCE: Final = 60.0
"""Seconds without an answer to a ping after which the connection is closed."""
OPENING: Final = 10.0
"""Seconds for the handshake."""
CLOSING: Final = 2.0
BINARY: Final = ValueError("a message is a text frame, and this was a binary one")
MAX_CONNECTIONS: Final = 64
"""Clients connected at once; pings detect those that disconnect silently."""

# also for the library, as its own logger would log refused clients as errors
log = logging.getLogger(__name__)


@asynccontextmanager
async def websocket_client(
    url: str, *, token: str | None = None, parse: Parse | None = None
) -> AsyncIterator[TransportStreams]:
    """Connect to a server; the connection is closed on exit.

    A redirect to another origin is not followed, so that the token stays with this one.

    :param url: `ws://…` or `wss://…`.
    :param parse: returns the messages of a frame; by default one, of any size.
    :raises ServerUnavailable: the address is not a WebSocket server's, or it refused the connection.
    :raises OSError: there is no server at the address.
    :raises TimeoutError: the server did not answer in time.
    """
    try:
        parse_uri(url)
    except (InvalidURI, ValueError) as error:
        raise ServerUnavailable(f"{url!r} is not the address of a WebSocket server: {error}") from error
    opening = _WithinOrigin(
        url,
        subprotocols=[SUBPROTOCOL],
        additional_headers={"Authorization": f"Bearer {token}"} if token else None,
        compression=None,
        max_size=LONGEST_ANSWER,
        open_timeout=OPENING,
        close_timeout=CLOSING,
        ping_timeout=PATIENCE,
        # a proxy would connect to the loopback address of its own machine
        proxy=None if _here(url) else True,
    )
    try:
        connection = await opening
    except InvalidStatus as error:
        status = error.response.status_code
        hint = "; is the token right (`token_env`, `token_command`)?" if status in (401, 403) else ""
        raise ServerUnavailable(f"{url} refused the connection: HTTP status {status}{hint}") from error
    except InvalidHandshake as error:
        raise ServerUnavailable(f"{url} is not a WebSocket server for MCP: {error}") from error
    async with connection, message_streams(connection, parse) as streams:
        yield streams


class _WithinOrigin(connect):
    """A connection that follows redirects within its origin only."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Return the address to redirect to, or the error."""
        there = super().process_redirect(exc)
        if isinstance(there, str) and _origin(there) != _origin(self.uri):
            return exc
        return there


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def message_streams(
    connection: Connection, parse: Parse | None = None
) -> AsyncIterator[TransportStreams]:
    """Yield the message streams of an open connection; invalid input is an exception in the stream.

    :param parse: returns the messages of a frame; by default one, of any size.

    The incoming stream ends with the connection. Sending on a closed connection raises
    `anyio.BrokenResourceError`.
    """
    incoming, read = create_context_streams[SessionMessage | Exception](0)
    write, outgoing = create_context_streams[SessionMessage](0)
    async with asyncio.TaskGroup() as pumps:
        receiving = pumps.create_task(_receive(connection, incoming, parse or _message), name="websocket in")
        sending = pumps.create_task(_send(connection, outgoing), name="websocket out")
        yield read, write
        # let the last message arrive
        await write.aclose()
        await asyncio.wait({sending}, timeout=CLOSING)
        sending.cancel()
        receiving.cancel()


async def _receive(connection: Connection, into: Incoming, parse: Parse) -> None:
    async with into:
        # a closed connection or reader ends the stream
        with suppress(ConnectionClosed, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                data = await connection.recv()
                for item in [BINARY] if isinstance(data, bytes) else parse(data):
                    await into.send(item)


async def _send(connection: Connection, messages: Outgoing) -> None:
    async with messages:
        with suppress(ConnectionClosed):
            async for message in messages:
                await connection.send(message.message.model_dump_json(by_alias=True, exclude_unset=True))


def _message(data: str) -> list[SessionMessage | Exception]:
    try:
        return [SessionMessage(jsonrpc_message_adapter.validate_json(data, by_name=False))]
    except ValueError as error:
        return [error]


def serve_websocket(
    server: MCPServer[Any], listening: socket.socket, token: Token, announce: Callable[[str], None]
) -> int:
    """Serve on a socket that listens on `HOST` until a signal; returns the exit status.

    :param announce: is given the server's address as soon as it can be used.
    """
    with listening:
        return asyncio.run(
            _WebSocketServer(server, AdmissionPolicy(token, listening.getsockname()[1])).serve_until_stopped(
                listening, announce
            )
        )


class _WebSocketServer:
    def __init__(self, server: MCPServer[Any], policy: AdmissionPolicy) -> None:
        self._lowlevel = server._lowlevel_server
        self._policy = policy
        self._open = 0

    async def serve_until_stopped(self, listening: socket.socket, announce: Callable[[str], None]) -> int:
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
                logger=log,
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
        except* Exception:
            log.exception("a client's connection failed")
        finally:
            self._open -= 1
