"""Open a server's transport (stdio, HTTP, WebSocket) and monitor its messages and its end."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tideate_core.errors import InvalidAnswer
from tideate_core.mcp.client.bounds import (
    LONGEST_MESSAGE,
    MessagePace,
    Unreadable,
    bounded_stream,
    is_usable,
    parse_message,
)
from tideate_core.mcp.client.specs import token_of
from tideate_core.mcp.client.stdio import stdio_transport
from tideate_core.mcp.transport.message_streams import ReadWrapper, WriteWrapper

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mcp.client._transport import ReadStream, TransportStreams, WriteStream
    from mcp.shared.message import SessionMessage

    from tideate_core.mcp.client.specs import ServerSpec
    from tideate_core.mcp.client.stdio import ErrorOutput

    Check = Callable[[SessionMessage, str], None]
    """Refuses a message with a ValueError; told whether it was `sent` or `received`."""

__all__ = ["ConnectionMonitor", "open_transport"]

CONNECT: Final = 10.0
"""Seconds to reach an address."""
REFUSALS: Final = (401, 403)
SILENCE: Final = 3600.0
"""Seconds without a byte on a stream: calls have their own limits."""


@dataclass(slots=True)
class ConnectionMonitor:
    """State of a connection, from its streams."""

    check: Check | None = None
    """Sees each message."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Nothing more will come."""
    failure: InvalidAnswer | None = None
    """The reason to take nothing more from it."""
    pace: MessagePace = field(default_factory=MessagePace)

    def fail(self, error: InvalidAnswer) -> None:
        """Take nothing more from the connection."""
        self.failure = error
        self.ended.set()


@asynccontextmanager
async def open_transport(
    spec: ServerSpec, stderr: ErrorOutput, monitor: ConnectionMonitor
) -> AsyncIterator[TransportStreams]:
    """Connect to a server.

    :raises TideateError: its program or its token is missing.
    :raises Exception: what `results.BY_KIND` knows.
    """
    opening = {"stdio": _stdio, "http": _http, "websocket": _websocket}[spec.transport]
    async with opening(spec, stderr, monitor) as (incoming, outgoing):
        yield _Incoming(incoming, monitor), _Outgoing(outgoing, monitor)


def _stdio(spec: ServerSpec, stderr: ErrorOutput, _monitor: ConnectionMonitor) -> Any:
    return stdio_transport(spec, stderr)


@asynccontextmanager
async def _http(
    spec: ServerSpec, stderr: ErrorOutput, monitor: ConnectionMonitor
) -> AsyncIterator[TransportStreams]:
    token = await token_of(spec)
    # compressed, a body is of any length
    headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {token}"} if token else {})
    timeout = httpx2.Timeout(CONNECT, read=SILENCE)
    async with create_mcp_http_client(headers=headers, timeout=timeout) as client:
        client.event_hooks = {"response": [_response_check(stderr, monitor)]}
        async with streamable_http_client(
            spec.url, http_client=client, max_sse_event_size=LONGEST_MESSAGE
        ) as streams:
            yield streams


def _response_check(
    stderr: ErrorOutput, monitor: ConnectionMonitor
) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a hook that keeps what a server refuses with, as the SDK does not, and bounds its answers."""

    async def check_response(response: httpx2.Response) -> None:
        if response.status_code in REFUSALS:
            hint = "; it wants a token: `token_env` or `token_command`"
            stderr.add_line(f"HTTP {response.status_code} {response.reason_phrase}{hint}".encode())
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            monitor.failure = InvalidAnswer("it compresses what it answers, which was not asked for")
            raise monitor.failure
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Body(response, response.stream, monitor)

    return check_response


class _Body(httpx2.AsyncByteStream):
    """The bounded body of a response."""

    def __init__(
        self, response: httpx2.Response, stream: httpx2.AsyncByteStream, monitor: ConnectionMonitor
    ) -> None:
        self._events = "text/event-stream" in response.headers.get("content-type", "").lower()
        self._stream = stream
        self._monitor = monitor

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in bounded_stream(self._stream, events=self._events):
                yield chunk
        except InvalidAnswer as error:
            self._monitor.fail(error)
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def _websocket(
    spec: ServerSpec, _stderr: ErrorOutput, _monitor: ConnectionMonitor
) -> AsyncIterator[TransportStreams]:
    from tideate_core.mcp.transport import websocket_client

    def parse(data: str) -> SessionMessage | Exception:
        return parse_message(data.encode("utf-8", "surrogatepass"))

    async with websocket_client(spec.url, token=await token_of(spec), parse=parse) as streams:
        yield streams


class _Incoming(ReadWrapper):
    """Messages from a server, counted and checked; their end is noted."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], monitor: ConnectionMonitor) -> None:
        super().__init__(stream)
        self._monitor = monitor

    async def receive(self) -> SessionMessage | Exception:
        try:
            while True:
                item = self._checked(await self._stream.receive())
                if isinstance(item, Unreadable):
                    self._monitor.pace.unreadable(item)
                elif isinstance(item, Exception):
                    return item
                else:
                    await self._monitor.pace.received(item)
                    if is_usable(item):
                        return item
        except InvalidAnswer as error:
            self._monitor.fail(error)
            raise
        except Exception:
            self._monitor.ended.set()
            raise

    def _checked(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, InvalidAnswer):
            raise item
        if self._monitor.check is not None and not isinstance(item, Exception):
            try:
                self._monitor.check(item, "received")
            except ValueError as error:
                self._monitor.failure = InvalidAnswer(str(error))
                raise
        return item


class _Outgoing(WriteWrapper):
    """Messages to a server, checked and counted."""

    def __init__(self, stream: WriteStream[SessionMessage], monitor: ConnectionMonitor) -> None:
        super().__init__(stream)
        self._monitor = monitor

    async def send(self, item: SessionMessage, /) -> None:
        if self._monitor.check is not None:
            self._monitor.check(item, "sent")
        await self._stream.send(item)
        self._monitor.pace.sent(item)
