"""Serve one client over stdio: bounded input that can be closed, output for the protocol alone.

The SDK reads standard input in a thread that no cancellation reaches, so that a server could not end on a
signal before its client says something more; it takes lines of any length into memory; and it hands each
answer to a thread, twice, which costs as much as a small tool does. What other transports need is not
imported here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Self, cast

from mcp.server.stdio import stdio_server

from tideate_core.mcp.transport.message_streams import MAX_MESSAGE, ValidMessages
from tideate_core.mcp.transport.signals import StopSignals

if TYPE_CHECKING:
    from collections.abc import Iterator

    import anyio
    from mcp.server.mcpserver import MCPServer

__all__ = ["InputLines", "OutputWriter", "claimed_stdout", "serve_stdio"]

UNREADABLE: Final = "\0"
"""Comes in place of a line that is too long or not UTF-8, and is no JSON either. Blank lines never come."""
STDOUT: Final = 1
STDERR: Final = 2
CHUNK: Final = 65_536
WAITING: Final = 64
"""Lines that may wait before the reader does."""


def serve_stdio(server: MCPServer[Any]) -> int:
    """Serve one client until it closes the stream, or a signal; returns the exit status.

    Nothing but the protocol is written to stdout; records of the log go to stderr.

    :raises OSError: stdout cannot be written, for another reason than that nobody reads it any more.
    """
    return asyncio.run(_over_stdio(server))


async def _over_stdio(server: MCPServer[Any]) -> int:
    # Python has no `sys.stdin` where the process was started without one
    stdin = InputLines(sys.stdin.fileno() if sys.stdin else None)
    lowlevel = server._lowlevel_server
    broken: OSError | None = None
    # ended as if the client had closed the stream: the SDK does not take a cancellation in good order
    with StopSignals(stdin.close) as signals:
        try:
            # of its files the SDK asks no more than lines of the one and `write` of the other
            with claimed_stdout() as wire:
                files = cast("anyio.AsyncFile[str]", stdin), cast("anyio.AsyncFile[str]", OutputWriter(wire))
                async with stdio_server(*files) as (read, write):
                    await lowlevel.run(
                        ValidMessages(read, write), write, lowlevel.create_initialization_options()
                    )
        except* (BrokenPipeError, ConnectionResetError):
            # the client has gone without a word: that is an end like any other
            logging.getLogger(__name__).info("the client closed its end")
        except* OSError as found:
            broken = _first(found)
    if broken is not None:
        raise broken
    return signals.status


def _first(group: BaseExceptionGroup[OSError]) -> OSError:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


class InputLines:
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
            line = _decoded(b"".join([*pieces, end])) if size <= MAX_MESSAGE else UNREADABLE
            pieces, size = [], 0
            if line.strip():
                yield line
        size += len(rest)
        if size <= MAX_MESSAGE:
            pieces.append(rest)
        else:
            pieces.clear()


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return UNREADABLE


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


class OutputWriter:
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
        """Do nothing: all is written already."""
