"""Standard output for the protocol alone, written without a thread.

The SDK hands each answer to a thread, twice; that costs as much as a small tool does.
"""

from __future__ import annotations

import asyncio
import os
import select
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Answers", "claimed_stdout"]

STDOUT: Final = 1
STDERR: Final = 2


@contextmanager
def claimed_stdout() -> Iterator[int]:
    """Give a descriptor of standard output that no other process gets.

    Meanwhile what others write to standard output goes to standard error, and not among the messages.
    """
    wire = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    try:
        yield wire
    finally:
        os.dup2(wire, STDOUT)
        os.close(wire)


class Answers:
    """A descriptor, written as the SDK does it. To be made where an event loop runs.

    :param descriptor: in blocking mode: another process may have it in that mode as well.
    """

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)

    async def write(self, text: str) -> None:
        """Write all of it, as fast as the client reads.

        :raises BrokenPipeError: the client has gone.
        """
        data = memoryview(text.encode())
        while data:
            if not self._room.poll(0):
                await self._has_room()
            # what has room has room for that much, so that this does not block
            data = data[os.write(self._descriptor, data[: select.PIPE_BUF]) :]

    async def _has_room(self) -> None:
        room = asyncio.Event()
        self._loop.add_writer(self._descriptor, room.set)
        try:
            await room.wait()
        finally:
            self._loop.remove_writer(self._descriptor)

    async def flush(self) -> None:
        """Nothing is kept back."""
