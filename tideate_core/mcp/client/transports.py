"""Open a transport to a server (stdio, HTTP, WebSocket) and monitor its messages and its end."""

from __future__ import annotations

import asyncio
import json
import secrets
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2
import mcp_types as types
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tideate_core.errors import InvalidAnswer
from tideate_core.mcp.client.bounds import (
    LONGEST_MESSAGE,
    InvalidLine,
    MessagePace,
    bounded_stream,
    is_usable,
    parse_messages,
)
from tideate_core.mcp.client.repair import (
    batch_of,
    drop_invalid_tools,
    events_repaired,
    is_message,
    repaired,
)
from tideate_core.mcp.client.results import REFUSED, SESSION_ENDED
from tideate_core.mcp.client.server_text import body_words, short_line
from tideate_core.mcp.client.specs import token_of
from tideate_core.mcp.client.stdio import stdio_transport
from tideate_core.mcp.transport.message_streams import ReadWrapper, WriteWrapper

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mcp.client._transport import ReadStream, TransportStreams, WriteStream
    from mcp.shared.message import SessionMessage

    from tideate_core.mcp.client.specs import ServerSpec
    from tideate_core.mcp.client.stdio import ErrorOutput
    from tideate_core.mcp.protocol import MessageValidator

CONNECT: Final = 10.0
"""Seconds to connect."""
REFUSALS: Final = (401, 403)
REFUSAL_SIZE: Final = 64 * 1024
"""Bytes read of the body of a refusal."""
REFUSAL_TIME: Final = 5.0
"""Seconds to read the body of a refusal."""
SERVERS_OWN: Final = 0
"""Replacement for an error code of a server that has another meaning in the SDK."""
OF_THE_SDK: Final = "SSE stream "
"""Prefix of the errors that the SDK reports when an HTTP stream ends."""
ODD_LINES: Final = 10.0
"""Seconds for an answer after an invalid line; some servers print text before they start."""
SILENCE: Final = 3600.0
"""Seconds without data on a stream; calls have their own limits."""


@dataclass(slots=True)
class ConnectionMonitor:
    """State of a connection, updated by its streams."""

    validator: MessageValidator | None = None
    """Validates each message, if the connection is strict."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the connection has ended."""
    failure: InvalidAnswer | None = None
    """Why no further message is accepted."""
    pace: MessagePace = field(default_factory=MessagePace)
    secret: str = field(default_factory=lambda: secrets.token_hex(16))
    """Marker in the data of errors made here, which no server can forge."""
    version: str = ""
    """The negotiated protocol version."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Invalid listed tools, with the reasons."""
    listing: set[Any] = field(default_factory=set)
    """Ids of open requests for the list of tools."""
    is_http: bool = False
    invalid_line: bytes = b""
    """The last invalid line since the last message."""
    limit: asyncio.Timeout | None = None
    """Timeout of the awaited answer, shortened by invalid lines."""
    longest: float = 0.0
    """Latest end of this timeout, in the event loop's time."""

    @asynccontextmanager
    async def answered_within(self, seconds: float) -> AsyncIterator[None]:
        """Limit the time for an answer.

        :raises TimeoutError: there was no answer, or only invalid lines.
        """
        async with asyncio.timeout(seconds) as limit:
            self.limit, self.longest = limit, limit.when() or 0.0
            try:
                yield
            finally:
                self.limit = None

    def note_invalid_line(self, line: InvalidLine) -> None:
        """Note an invalid line, and shorten the wait for the answer."""
        self.invalid_line = line.start
        if self.limit is not None and not self.limit.expired():
            self.limit.reschedule(min(self.longest, asyncio.get_running_loop().time() + ODD_LINES))

    def fail(self, error: InvalidAnswer) -> None:
        """Accept no further message."""
        self.failure = error
        self.ended.set()


@asynccontextmanager
async def open_transport(
    spec: ServerSpec, stderr: ErrorOutput, monitor: ConnectionMonitor
) -> AsyncIterator[TransportStreams]:
    """Connect to a server and yield its monitored message streams.

    :raises TideateError: its program or token is missing.
    :raises Exception: an exception of `results.BY_KIND`.
    """
    if spec.transport == "stdio":
        opening = stdio_transport(spec, stderr)
    else:
        opening = _http(spec, stderr, monitor) if spec.transport == "http" else _websocket(spec)
    async with opening as (incoming, outgoing):
        yield _Incoming(incoming, monitor), _Outgoing(outgoing, monitor)


@asynccontextmanager
async def _http(
    spec: ServerSpec, stderr: ErrorOutput, monitor: ConnectionMonitor
) -> AsyncIterator[TransportStreams]:
    monitor.is_http = True
    token = await token_of(spec)
    # a compressed body can expand to any length
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
    """Return a hook that keeps the text of refusals, which the SDK drops, and limits bodies."""

    async def check_response(response: httpx2.Response) -> None:
        if response.status_code in REFUSALS:
            hint = "; it wants a token: `token_env` or `token_command`"
            stderr.add_line(f"HTTP {response.status_code} {response.reason_phrase}{hint}".encode())
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            monitor.failure = InvalidAnswer("it compresses its answers, which was not requested")
            raise monitor.failure
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            return
        response.stream = body = _Body(response, response.stream, monitor)
        if response.status_code >= 400 and response.request.method == "POST":
            body.replacement = await _refusal(response, monitor.secret)
            if body.replacement is not None:
                response.headers["content-type"] = "application/json"

    return check_response


async def _refusal(response: httpx2.Response, secret: str) -> bytes | None:
    """Convert an HTTP error to a JSON-RPC error answer; None if no request was sent.

    The codes are those of the SDK, which tries another protocol after some of them.
    """
    request = _request_id(response.request)
    if request is None:
        return None
    start = b""
    with anyio.move_on_after(REFUSAL_TIME):
        async for chunk in response.stream:  # type: ignore[union-attr]
            start += chunk
            if len(start) >= REFUSAL_SIZE:
                break
    start = start[:REFUSAL_SIZE]
    try:
        answer = types.jsonrpc_message_adapter.validate_json(start, by_name=False)
    except ValueError:
        answer = None
    if isinstance(answer, types.JSONRPCError):
        return (
            types.JSONRPCError(jsonrpc="2.0", id=request, error=answer.error)
            .model_dump_json(by_alias=True, exclude_none=True)
            .encode()
        )
    expired = response.status_code == 404 and MCP_SESSION_ID in response.request.headers
    code = types.INTERNAL_ERROR
    if response.status_code == 404:
        code = types.INVALID_REQUEST if expired else types.METHOD_NOT_FOUND
    words = f"HTTP {response.status_code} {response.reason_phrase}".strip()
    if after := response.headers.get("retry-after"):
        words += f", to be tried again after {short_line(after, 40)}{' s' if after.isdigit() else ''}"
    if said := body_words(start):
        words += f": {said}"
    error = {"code": code, "message": words, "data": [secret, SESSION_ENDED if expired else REFUSED]}
    return json.dumps({"jsonrpc": "2.0", "id": request, "error": error}).encode()


def _request_id(request: httpx2.Request) -> Any:
    asked = json.loads(request.content or b"null")
    return asked.get("id") if isinstance(asked, dict) else None


class _Body(httpx2.AsyncByteStream):
    """Body of a response, limited in size and repaired."""

    replacement: bytes | None = None
    """Sent instead of the body."""

    def __init__(
        self, response: httpx2.Response, stream: httpx2.AsyncByteStream, monitor: ConnectionMonitor
    ) -> None:
        self._request = response.request
        self._events = "text/event-stream" in response.headers.get("content-type", "").lower()
        self._stream = stream
        self._monitor = monitor

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            bounded = bounded_stream(self._stream, events=self._events)
            if self.replacement is not None:
                yield self.replacement
            elif self._events:
                async for chunk in events_repaired(bounded):
                    yield chunk
            else:
                body = b"".join([chunk async for chunk in bounded])
                yield body if not body or is_message(body) else repaired(body) or self._answer_in(body)
        except InvalidAnswer as error:
            self._monitor.fail(error)
            raise

    def _answer_in(self, body: bytes) -> bytes:
        """Return the answer to the request from a batch; the body itself if it is not a batch."""
        request = _request_id(self._request)
        answers = (one for one in batch_of(body) if json.loads(one).get("id") == request)
        return next((repaired(one) or one for one in answers), body)

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def _websocket(spec: ServerSpec) -> AsyncIterator[TransportStreams]:
    from tideate_core.mcp.transport import websocket_client

    def parse(data: str) -> list[SessionMessage | Exception]:
        return parse_messages(data.encode("utf-8", "surrogatepass"))

    async with websocket_client(spec.url, token=await token_of(spec), parse=parse) as streams:
        yield streams


class _Incoming(ReadWrapper):
    """Incoming messages of a server: limited, validated, repaired; the end is noted."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], monitor: ConnectionMonitor) -> None:
        super().__init__(stream)
        self._monitor = monitor

    async def receive(self) -> SessionMessage | Exception:
        try:
            while True:
                item = self._checked(await self._stream.receive())
                if isinstance(item, InvalidLine):
                    self._monitor.pace.unreadable(item)
                    self._monitor.note_invalid_line(item)
                elif isinstance(item, Exception):
                    return item
                else:
                    self._monitor.invalid_line = b""
                    self._adjust(item)
                    await self._monitor.pace.received(item)
                    if is_usable(item):
                        return item
        except InvalidAnswer as error:
            self._monitor.fail(error)
            raise
        except Exception:
            self._monitor.ended.set()
            raise

    def _adjust(self, item: SessionMessage) -> None:
        """Remove invalid tools, and keep a server's errors apart from the SDK's own."""
        message = item.message
        if isinstance(message, types.JSONRPCResponse) and message.id in self._monitor.listing:
            self._monitor.listing.discard(message.id)
            self._monitor.left_out |= drop_invalid_tools(message.result, self._monitor.version)
        elif isinstance(message, types.JSONRPCError):
            own = self._monitor.is_http and message.error.message.startswith(OF_THE_SDK)
            if message.error.code in (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT) and not own:
                message.error.code = SERVERS_OWN

    def _checked(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, InvalidAnswer):
            raise item
        if self._monitor.validator is not None and not isinstance(item, Exception):
            try:
                self._monitor.validator.check(item, "received")
            except ValueError as error:
                self._monitor.failure = InvalidAnswer(str(error))
                raise
        return item


class _Outgoing(WriteWrapper):
    """Outgoing messages to a server: validated and counted."""

    def __init__(self, stream: WriteStream[SessionMessage], monitor: ConnectionMonitor) -> None:
        super().__init__(stream)
        self._monitor = monitor

    async def send(self, item: SessionMessage, /) -> None:
        if self._monitor.validator is not None:
            self._monitor.validator.check(item, "sent")
        if isinstance(item.message, types.JSONRPCRequest) and item.message.method == "tools/list":
            self._monitor.listing.add(item.message.id)
        await self._stream.send(item)
        self._monitor.pace.sent(item)
