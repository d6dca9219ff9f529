"""Base classes that inspect or drop messages of SDK streams; error replies to invalid input.

The SDK itself replies to invalid input only over HTTP; over other transports it drops the input silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

if TYPE_CHECKING:
    from contextvars import Context
    from types import TracebackType

    from mcp.shared._stream_protocols import ReadStream, WriteStream

S = TypeVar("S", bound="ReadStream[Any] | WriteStream[Any]")

MAX_MESSAGE: Final = 4 * 1024 * 1024
"""Bytes of a message to a server, over any transport."""
UNREADABLE: Final = ErrorData(
    code=PARSE_ERROR,
    message=f"Parse error: a message is one line of JSON in UTF-8, of at most {MAX_MESSAGE} bytes",
)
NO_MESSAGE: Final = ErrorData(
    code=INVALID_REQUEST, message="Invalid request: this is JSON, but no JSON-RPC 2.0 message"
)


class _Wrapper(Generic[S]):
    """A wrapper of an SDK stream that is closed with it."""

    def __init__(self, stream: S) -> None:
        self._stream = stream

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, trace)


class ReadWrapper(_Wrapper["ReadStream[SessionMessage | Exception]"]):
    """Wrapper of incoming messages; a subclass inspects or drops them."""

    @property
    def last_context(self) -> Context | None:
        """Context of the last message, as the SDK needs it."""
        context: Context | None = getattr(self._stream, "last_context", None)
        return context

    async def receive(self) -> SessionMessage | Exception:
        """Wait for the next message.

        :raises anyio.EndOfStream: there are no more.
        """
        return await self._stream.receive()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class WriteWrapper(_Wrapper["WriteStream[SessionMessage]"]):
    """Wrapper of outgoing messages; a subclass inspects them."""

    async def send(self, item: SessionMessage, /) -> None:
        await self._stream.send(item)


class ValidMessages(ReadWrapper):
    """Incoming messages; invalid input is dropped and answered with a JSON-RPC error."""

    def __init__(
        self, read: ReadStream[SessionMessage | Exception], write: WriteStream[SessionMessage]
    ) -> None:
        super().__init__(read)
        self._write = write

    async def receive(self) -> SessionMessage | Exception:
        """Wait for the next message.

        :raises anyio.EndOfStream: there are no more.
        """
        while isinstance(item := await self._stream.receive(), Exception):
            # the id is null, as an id in invalid input is unreliable
            refusal = JSONRPCError(jsonrpc="2.0", id=None, error=_error_for(item))
            await self._write.send(SessionMessage(refusal))
        return item


def _error_for(error: Exception) -> ErrorData:
    if (
        isinstance(error, ValidationError)
        and error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid"
    ):
        return NO_MESSAGE
    return UNREADABLE
