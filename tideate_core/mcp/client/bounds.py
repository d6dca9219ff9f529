"""Bounds on messages from a server: length, number of values, rate, lines that are no messages."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.shared.message import SessionMessage

from tideate_core.errors import InvalidAnswer
from tideate_core.mcp.client.repair import batch_of, repaired

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator

__all__ = [
    "LONGEST_MESSAGE",
    "MessagePace",
    "RateLimit",
    "Unreadable",
    "bounded_stream",
    "is_usable",
    "parse_message",
    "parse_messages",
]

log = logging.getLogger(__name__)

LONGEST_MESSAGE: Final = 32 * 1024 * 1024
"""Bytes of one message of a server; one that sends more is not listened to any longer."""
MOST_VALUES: Final = 300_000
"""Values in one message: in memory each takes a hundred times its bytes."""
PIECE: Final = 64 * 1024
MOST_UNREADABLE: Final = 1_000
"""Lines in a row that are no messages: some servers print before they start."""
MOST_UNREADABLE_BYTES: Final = 64 * 1024 * 1024
LOGGED: Final = 20
"""Of these, the ones that the log has."""
PER_SECOND: Final = 500
"""Messages nobody asked for; more of them wait, and so does the server."""
MOST_ASKED: Final = 100
"""Requests of a server that it has not taken the answers to."""


class Unreadable(ValueError):
    """A line that is no message: only its beginning is kept, for it may be of any length."""

    def __init__(self, line: bytes) -> None:
        super().__init__(f"{len(line)} bytes that are not a message")
        self.size = len(line)
        self.start = line[:200]


def parse_message(data: bytes) -> SessionMessage | Exception:
    """Return the message of a line or frame, or why there is none."""
    try:
        bound = MessageBound()
        for start in range(0, len(data), PIECE):
            bound.count(data[start : start + PIECE])
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(data, by_name=False))
    except InvalidAnswer as error:
        return error
    except ValueError:
        try:
            made = repaired(data)
        except InvalidAnswer as error:
            return error
    if made is None:
        return Unreadable(data)
    return SessionMessage(types.jsonrpc_message_adapter.validate_json(made, by_name=False))


def parse_messages(data: bytes) -> list[SessionMessage | Exception]:
    """Return the messages of a line: those of a batch, else one; or why there is none."""
    item = parse_message(data)
    batch = batch_of(data) if isinstance(item, Unreadable) else []
    return [parse_message(one) for one in batch] or [item]


class MessageBound:
    """The length of one message and the number of values in it, as its bytes come in."""

    def __init__(self) -> None:
        self._size = 0
        self._values = 0
        self._in_string = False
        self._rest = b""
        """Half of an escape sequence."""

    def count(self, chunk: bytes) -> None:
        """Count some more bytes.

        :raises InvalidAnswer: the message is too long, or has too many values.
        """
        self._size += len(chunk)
        if self._size > LONGEST_MESSAGE:
            raise InvalidAnswer(f"a message is longer than {LONGEST_MESSAGE // 1024} KiB")
        chunk = self._rest + chunk
        backslashes = len(chunk) - len(chunk.rstrip(b"\\"))
        self._rest = b"\\" if backslashes % 2 else b""
        parts = chunk.removesuffix(self._rest).replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[int(self._in_string) :: 2])
        self._in_string ^= len(parts) % 2 == 0
        self._values += sum(outside.count(mark) for mark in (b",", b"{", b"["))
        if self._values > MOST_VALUES:
            raise InvalidAnswer(f"a message has more than {MOST_VALUES} values")


async def bounded_stream(chunks: AsyncIterable[bytes], *, events: bool) -> AsyncIterator[bytes]:
    """Pass on the body of an HTTP response.

    :param events: it is a stream of events, each of which counts by itself.
    :raises InvalidAnswer: a message is too long, or has too many values.
    """
    bound = MessageBound()
    async for chunk in chunks:
        if events and any(end in chunk for end in (b"\n\n", b"\r\n\r\n", b"\r\r")):
            bound = MessageBound()
        bound.count(chunk)
        yield chunk


class RateLimit:
    """A limit on events in a second."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._since = 0.0
        self._count = 0

    def excess(self) -> float:
        """Count an event; return 0 where it is within the limit, else the seconds until one is again."""
        now = time.monotonic()
        if now - self._since >= 1:
            self._since, self._count = now, 0
        self._count += 1
        return 0.0 if self._count <= self._per_second else self._since + 1 - now


class MessagePace:
    """Counts of messages from one server that nobody asked for; limits and delays them."""

    def __init__(self) -> None:
        self._unreadable = 0
        self._unreadable_bytes = 0
        self._rate = RateLimit(PER_SECOND)
        self._asked = 0

    def unreadable(self, line: Unreadable) -> None:
        """Count a line that is no message.

        :raises InvalidAnswer: there were too many in a row.
        """
        self._unreadable += 1
        self._unreadable_bytes += line.size
        if self._unreadable <= LOGGED:
            log.warning("an MCP server wrote a line that is not a message: %r", line.start)
        if self._unreadable > MOST_UNREADABLE or self._unreadable_bytes > MOST_UNREADABLE_BYTES:
            raise InvalidAnswer("it writes lines that are not messages, without end")

    async def received(self, item: SessionMessage) -> None:
        """Count a message; a flood is waited with.

        :raises InvalidAnswer: the server asks and does not take the answers.
        """
        self._unreadable = self._unreadable_bytes = 0
        if isinstance(item.message, types.JSONRPCRequest):
            self._asked += 1
            if self._asked > MOST_ASKED:
                raise InvalidAnswer("it asks for something without end and does not read the answers")
        if excess := self._rate.excess():
            await asyncio.sleep(excess)

    def sent(self, item: SessionMessage) -> None:
        """Count an answer that the server has taken."""
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self._asked -= 1


class LogRateLimit(logging.Filter):
    """Of the SDK's records so many in a second: it writes one for every wrong notification."""

    def __init__(self) -> None:
        super().__init__()
        self._rate = RateLimit(LOGGED)

    def filter(self, _record: logging.LogRecord) -> bool:
        """Tell whether a record is written."""
        return not self._rate.excess()


# the name under which the SDK's sessions log
logging.getLogger("client").addFilter(LogRateLimit())


def is_usable(item: SessionMessage) -> bool:
    """Tell whether a notification is of use; the SDK ends with numbers that are none."""
    message = item.message
    if not isinstance(message, types.JSONRPCNotification):
        return True
    if message.method == "notifications/message":
        return False  # what a server logs, which nobody here asked for
    if message.method != "notifications/progress":
        return True
    params: dict[str, Any] = message.params or {}
    return all(_is_finite(params.get(name, 0)) for name in ("progress", "total"))


def _is_finite(number: Any) -> bool:
    try:
        return number is None or math.isfinite(number)
    except (OverflowError, TypeError):
        return False
