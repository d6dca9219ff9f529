"""Standard input line by line, in a way that can be ended and is bounded.

The SDK reads it in a thread that no cancellation reaches, so that a server could not end on a signal
before its client says something more; and it takes lines of any length into memory.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_LINE", "UNREADABLE", "Lines"]

MAX_LINE: Final = 4 * 1024 * 1024
"""Bytes of the longest message, as over HTTP; a longer one comes as `UNREADABLE`."""

UNREADABLE: Final = "\0"
"""Comes in place of a line that is too long or not UTF-8, and is no JSON either. Blank lines never come."""

CHUNK = 65_536
WAITING = 64
"""How many lines may wait before the reader does."""


class Lines:
    """The lines of a descriptor, until its end or `close`. To be made where an event loop runs.

    :param descriptor: None if the process was started without one; there are no lines then.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(WAITING)
        self._closed = descriptor is None
        if descriptor is not None:
            # a daemon, for it may wait in `read` when the process is told to end
            threading.Thread(target=self._read, args=(descriptor,), name="stdin", daemon=True).start()

    def close(self) -> None:
        """End the lines here and now, as if the client had closed the stream."""
        self._closed = True
        self._queue.put_nowait(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = None if self._closed else await self._queue.get()
        if line is None or self._closed:
            raise StopAsyncIteration
        self._room.release()
        return line

    def _read(self, descriptor: int) -> None:
        # a closed loop: the server ended while this thread was reading, and nobody wants the rest
        with suppress(RuntimeError):
            try:
                for line in _split(descriptor):
                    self._room.acquire()
                    self._loop.call_soon_threadsafe(self._queue.put_nowait, line)
            except OSError as error:
                logging.getLogger(__name__).warning("stdin cannot be read, and has ended so: %s", error)
            finally:
                self._loop.call_soon_threadsafe(self._queue.put_nowait, None)


def _split(descriptor: int) -> Iterator[str]:
    """Give the complete lines that are not blank.

    What follows the last line end was cut off with the stream and is dropped.
    """
    pieces: list[bytes] = []
    size = 0
    # `os.read`, not a file object: its lock, held by a daemon, would break the interpreter's end
    while chunk := os.read(descriptor, CHUNK):
        *complete, rest = chunk.split(b"\n")
        for end in complete:
            size += len(end)
            line = _decoded(b"".join([*pieces, end])) if size <= MAX_LINE else UNREADABLE
            pieces, size = [], 0
            if line.strip():
                yield line
        size += len(rest)
        if size <= MAX_LINE:
            pieces.append(rest)
        else:
            pieces.clear()


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return UNREADABLE
