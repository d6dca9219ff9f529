"""Serve one client over stdio, with bounded input and an output reserved for the protocol.

The SDK's transport reads standard input in a thread that cannot be cancelled, so a signal could not end the
server until the client's next message; it reads lines of any length; and it hands each answer to a thread
twice, which costs as much as a small tool. Modules that only other transports need are not imported here.
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

UNREADABLE: Final = "\0"
"""Replacement for a line that is too long or not UTF-8; invalid JSON as well. Blank lines are dropped."""
STDOUT: Final = 1
STDERR: Final = 2
CHUNK: Final = 65_536
WAITING: Final = 64
"""Lines in the queue before the reader blocks."""


def serve_stdio(server: MCPServer[Any]) -> int:
    """Serve one client until it closes the stream or a signal arrives; return the exit status.

    Only protocol messages go to stdout; log records go to stderr.

    :raises OSError: stdout cannot be written, for another reason than a closed reader.
    """
    return asyncio.run(_over_stdio(server))


async def _over_stdio(server: MCPServer[Any]) -> int:
    # `sys.stdin` is None if the process was started without one
    stdin = InputLines(sys.stdin.fileno() if sys.stdin else None)
    lowlevel = server._lowlevel_server
    broken: OSError | None = None
    # closed as if by the client: the SDK does not end in an orderly way when it is cancelled
    with StopSignals(stdin.close) as signals:
        try:
            # the SDK only iterates over the lines of one file and calls `write` of the other
            with claimed_stdout() as wire:
                files = cast("anyio.AsyncFile[str]", stdin), cast("anyio.AsyncFile[str]", OutputWriter(wire))
                async with stdio_server(*files) as (read, write):
                    await lowlevel.run(
                        ValidMessages(read, write), write, lowlevel.create_initialization_options()
                    )
        except* (BrokenPipeError, ConnectionResetError):
            # the client has disconnected: a normal end
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
    """Asynchronous lines of a descriptor until its end or `close`; needs a running event loop.

    :param descriptor: None if the process has no standard input; there are no lines then.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(WAITING)
        self._closed = descriptor is None
        if descriptor is not None:
            # a daemon: it may block in `read` when the process has to exit
            threading.Thread(target=self._read, args=(descriptor,), name="stdin", daemon=True).start()

    def close(self) -> None:
        """End the lines now, as if the client had closed the stream."""
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
        # the loop is closed if the server ended while this thread was reading
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
    """Yield the complete lines that are not blank.

    An incomplete last line is dropped.
    """
    pieces: list[bytes] = []
    size = 0
    # `os.read`, not a file object: its lock, held by a daemon thread, would crash the interpreter's shutdown
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
    """Yield a private descriptor of standard output.

    Other writes to standard output go to standard error meanwhile, not among the messages.
    """
    wire = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    try:
        yield wire
    finally:
        os.dup2(wire, STDOUT)
        os.close(wire)


class OutputWriter:
    """Asynchronous writer to a descriptor, as the SDK expects it; needs a running event loop.

    :param descriptor: stays in blocking mode, which another process may share.
    """

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)

    async def write(self, text: str) -> None:
        """Write a text as fast as the client reads it.

        :raises BrokenPipeError: the client has disconnected.
        """
        data = memoryview(text.encode())
        while data:
            if not self._room.poll(0):
                await self._has_room()
            # a writable pipe has room for PIPE_BUF bytes, so this does not block
            data = data[os.write(self._descriptor, data[: select.PIPE_BUF]) :]

    async def _has_room(self) -> None:
        room = asyncio.Event()
        self._loop.add_writer(self._descriptor, room.set)
        try:
            await room.wait()
        finally:
            self._loop.remove_writer(self._descriptor)

    async def flush(self) -> None:
        """Do nothing, as nothing is buffered."""
