"""Parse messages from a server; limit their length, number of values, rate and invalid lines."""

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

log = logging.getLogger(__name__)

LONGEST_MESSAGE: Final = 32 * 1024 * 1024
"""Bytes of one message; a longer one ends the connection."""
MOST_VALUES: Final = 300_000
"""Values in one message; each takes a hundred times its bytes in memory."""
PIECE: Final = 64 * 1024
MOST_UNREADABLE: Final = 1_000
"""Invalid lines in a row; some servers print text before they start."""
MOST_UNREADABLE_BYTES: Final = 64 * 1024 * 1024
LOGGED: Final = 20
"""Invalid lines to log."""
PER_SECOND: Final = 500
"""Unsolicited messages per second before the server is slowed down."""
MOST_ASKED: Final = 100
"""Requests of a server whose answers it has not read."""


class InvalidLine(ValueError):
    """Invalid line; only its beginning is kept."""

    def __init__(self, line: bytes) -> None:
        super().__init__(f"{len(line)} bytes that are not a message")
        self.size = len(line)
        self.start = line[:200]


def parse_message(data: bytes) -> SessionMessage | Exception:
    """Parse one line or frame; return the message, or the error."""
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
        return InvalidLine(data)
    return SessionMessage(types.jsonrpc_message_adapter.validate_json(made, by_name=False))


def parse_messages(data: bytes) -> list[SessionMessage | Exception]:
    """Parse one line into the messages of a batch or a single one; return errors in place of messages."""
    item = parse_message(data)
    batch = batch_of(data) if isinstance(item, InvalidLine) else []
    return [parse_message(one) for one in batch] or [item]


class MessageBound:
    """Counter of the length and the values of one message while its bytes arrive."""

    def __init__(self) -> None:
        self._size = 0
        self._values = 0
        self._in_string = False
        self._rest = b""
        """A backslash that starts an escape sequence at the end of a chunk."""

    def count(self, chunk: bytes) -> None:
        """Count a chunk.

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
    """Yield the chunks of an HTTP body, with limits on its messages.

    :param events: the body is an event stream, in which each event counts separately.
    :raises InvalidAnswer: a message is too long, or has too many values.
    """
    bound = MessageBound()
    async for chunk in chunks:
        if events and any(end in chunk for end in (b"\n\n", b"\r\n\r\n", b"\r\r")):
            bound = MessageBound()
        bound.count(chunk)
        yield chunk


class RateLimit:
    """Limit on events per second."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._since = 0.0
        self._count = 0

    def excess(self) -> float:
        """Count an event; return the seconds to wait until the rate is within the limit again."""
        now = time.monotonic()
        if now - self._since >= 1:
            self._since, self._count = now, 0
        self._count += 1
        return 0.0 if self._count <= self._per_second else self._since + 1 - now


class MessagePace:
    """Limits on unsolicited messages, invalid lines and unread answers of one server."""

    def __init__(self) -> None:
        self._unreadable = 0
        self._unreadable_bytes = 0
        self._rate = RateLimit(PER_SECOND)
        self._asked = 0

    def unreadable(self, line: InvalidLine) -> None:
        """Count an invalid line.

        :raises InvalidAnswer: there are too many in a row.
        """
        self._unreadable += 1
        self._unreadable_bytes += line.size
        if self._unreadable <= LOGGED:
            log.warning("an MCP server wrote a line that is not a message: %r", line.start)
        if self._unreadable > MOST_UNREADABLE or self._unreadable_bytes > MOST_UNREADABLE_BYTES:
            raise InvalidAnswer("it keeps writing lines that are not messages")

    async def received(self, item: SessionMessage) -> None:
        """Count a message and wait if there are too many per second.

        :raises InvalidAnswer: the server has too many unread answers.
        """
        self._unreadable = self._unreadable_bytes = 0
        if isinstance(item.message, types.JSONRPCRequest):
            self._asked += 1
            if self._asked > MOST_ASKED:
                raise InvalidAnswer("it keeps sending requests without reading the answers")
        if excess := self._rate.excess():
            await asyncio.sleep(excess)

    def sent(self, item: SessionMessage) -> None:
        """Count an answer that the server has read."""
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self._asked -= 1


class LogRateLimit(logging.Filter):
    """Rate limit on the SDK's log, which has a record for every invalid notification."""

    def __init__(self) -> None:
        super().__init__()
        self._rate = RateLimit(LOGGED)

    def filter(self, _record: logging.LogRecord) -> bool:
        """Tell whether a record is written."""
        return not self._rate.excess()


# the logger of the SDK's sessions
logging.getLogger("client").addFilter(LogRateLimit())


def is_usable(item: SessionMessage) -> bool:
    """Tell whether a message is safe and useful for the SDK, which crashes on numbers that are not finite."""
    message = item.message
    if not isinstance(message, types.JSONRPCNotification):
        return True
    if message.method == "notifications/message":
        return False  # log records of the server are not used here
    if message.method != "notifications/progress":
        return True
    params: dict[str, Any] = message.params or {}
    return all(_is_finite(params.get(name, 0)) for name in ("progress", "total"))


def _is_finite(number: Any) -> bool:
    try:
        return number is None or math.isfinite(number)
    except (OverflowError, TypeError):
        return False
