"""Stdio transport: run a server in its own process group and end it with all its children.

The SDK's transport is not used: it reads lines of any length, wants a file for the server's standard error,
leaves processes outside the server's group running, and the server itself when this process is killed. It has
no hooks for the guard process and the limits.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import os
import re
from collections import deque
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import anyio
from mcp.shared.message import SessionMessage

from tideate_core.errors import InvalidAnswer
from tideate_core.mcp.client.bounds import LONGEST_MESSAGE, InvalidLine, RateLimit, parse_messages
from tideate_core.mcp.client.repair import framing_problem, is_message
from tideate_core.mcp.client.server_text import short_line
from tideate_core.process import (
    GRACE,
    check_argv,
    end_conversing,
    find_program,
    make_environment,
    read_guard_report,
    start_conversing,
    start_error,
)
from tideate_core.util.uncancelled import wait_uncancelled

if TYPE_CHECKING:
    import socket
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams

    from tideate_core.mcp.client.specs import ServerSpec

    Outgoing = MemoryObjectReceiveStream[SessionMessage]
    Incoming = MemoryObjectSendStream[SessionMessage | Exception]

log = logging.getLogger(__name__)

READ_SIZE: Final = 64 * 1024
_LINE_END: Final = re.compile(rb"\n|(?<=[}\]])\r")
"""End of a line; a carriage return counts only after a JSON value, as texts may have it."""
KEPT_LINES: Final = 20
"""Lines kept of a server's standard error."""
LONGEST_LINE: Final = 500
"""Bytes of one of these lines."""
PER_SECOND: Final = 50
"""Lines of standard error logged per second."""


class ErrorOutput:
    """Last lines of a server's standard error, which are also logged."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: deque[bytes] = deque(maxlen=KEPT_LINES)
        self._rate = RateLimit(PER_SECOND)

    def add_line(self, line: bytes) -> None:
        if line.strip():
            # escaped when shown, as most lines of a flood never are
            self._lines.append(line[:LONGEST_LINE])
            if not self._rate.excess():
                log.info("MCP server %s: %s", self._name, _decoded(self._lines[-1]))

    def lines(self, count: int) -> list[str]:
        return [_decoded(line) for line in list(self._lines)[-count:]]


class LineReader:
    """Splitter of a server's output into lines, with any line ends, in UTF-8 or UTF-16.

    A complete message is returned at once, even without a line end.
    """

    def __init__(self) -> None:
        self._start = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._held = bytearray()
        self._looked = 0
        self._tried = 0
        """Bytes at the last check for a complete message without a line end."""

    def feed(self, data: bytes) -> list[bytes]:
        """Add output and return the complete lines.

        :raises InvalidAnswer: a line is too long.
        """
        if len(self._start) < len(codecs.BOM_UTF16):
            data = self._start + data
            self._start = data[: len(codecs.BOM_UTF16)]
            if len(self._start) < len(codecs.BOM_UTF16):
                return []
            if encoding := _utf_16_of(self._start):
                self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._held += self._decoder.decode(data).encode() if self._decoder else data
        lines: list[bytes] = []
        begin = 0
        for end in _LINE_END.finditer(self._held, self._looked):
            lines.append(bytes(self._held[begin : end.end()]))
            begin = end.end()
        if begin:
            del self._held[:begin]
            self._tried = 0
        self._looked = len(self._held)
        if len(self._held) > LONGEST_MESSAGE:
            raise InvalidAnswer(f"a message is longer than {LONGEST_MESSAGE // 1024} KiB")
        # parsed again only after the size has doubled
        if self._held.endswith(b"}") and len(self._held) >= 2 * self._tried:
            self._tried = len(self._held)
            if is_message(whole := bytes(self._held)):
                lines.append(whole)
                self._held.clear()
                self._looked = self._tried = 0
        return lines

    def finish(self) -> bytes:
        """Return the last line, which has no line end."""
        return bytes(self._held) or self._start[: len(self._start) % len(codecs.BOM_UTF16)]


def _utf_16_of(start: bytes) -> str:
    """Return the encoding of an output that starts with a UTF-16 mark or letter; empty otherwise."""
    first, second = start
    if start == codecs.BOM_UTF16_LE or (first and not second):
        return "utf-16-le"
    return "utf-16-be" if start == codecs.BOM_UTF16_BE or (second and not first) else ""


def _decoded(line: bytes) -> str:
    return short_line(line.decode("utf-8", "replace"), LONGEST_LINE)


@asynccontextmanager
async def stdio_transport(spec: ServerSpec, stderr: ErrorOutput) -> AsyncIterator[TransportStreams]:
    """Start a server and yield its message streams; on exit, end it with all its processes.

    :raises CommandError: the program is missing or cannot be executed.
    """
    process, guarding = await _start(spec)
    told, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read_stdout(process, told), name=f"read from {spec.name}"),
        asyncio.create_task(_write_stdin(process, to_send, told), name=f"write to {spec.name}"),
        asyncio.create_task(_read_stderr(process, stderr), name=f"log of {spec.name}"),
    ]
    try:
        yield incoming, outgoing
    finally:
        for stream in (incoming, outgoing, told, to_send):
            stream.close()
        ending = asyncio.create_task(_end(process, guarding, tasks, stderr), name=f"end {spec.name}")
        cancelled = await wait_uncancelled(ending)
        ending.result()
        if cancelled:
            raise asyncio.CancelledError


async def _start(spec: ServerSpec) -> tuple[Process, socket.socket]:
    check_argv(spec.command)
    environment = make_environment(spec.environment, spec.inherit)
    hint = f"`[mcp.servers.{spec.name}]` names it"
    program = find_program(spec.command[0], spec.cwd, environment, hint=hint)
    try:
        return await start_conversing(
            program, spec.command, cwd=spec.cwd, environment=environment, limit=LONGEST_MESSAGE
        )
    except OSError as error:
        raise start_error(program, error.errno or 0) from error


async def _read_stdout(process: Process, told: Incoming) -> None:
    assert process.stdout is not None  # noqa: S101 it was asked for
    reader = LineReader()
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with told:
            try:
                while data := await process.stdout.read(READ_SIZE):
                    for line in reader.feed(data):
                        await _tell_line(line, told)
                await _tell_line(reader.finish(), told)
            except InvalidAnswer as error:
                await told.send(error)


async def _tell_line(line: bytes, told: Incoming) -> None:
    for item in parse_messages(line) if line.strip() else ():
        wrong = framing_problem(line) if isinstance(item, InvalidLine) else None
        await told.send(wrong or item)


async def _write_stdin(process: Process, to_send: Outgoing, told: Incoming) -> None:
    assert process.stdin is not None  # noqa: S101 it was asked for
    async with to_send:
        try:
            async for item in to_send:
                process.stdin.write(
                    item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                )
                await process.stdin.drain()
        except OSError:
            told.close()  # end the session instead of waiting for an answer


async def _read_stderr(process: Process, stderr: ErrorOutput) -> None:
    assert process.stderr is not None  # noqa: S101 it was asked for
    while True:
        try:
            line = await process.stderr.readline()
        except ValueError:
            continue  # a line over the limit is dropped
        if not line:
            return
        stderr.add_line(line)


async def _end(
    process: Process, guarding: socket.socket, tasks: list[asyncio.Task[None]], stderr: ErrorOutput
) -> None:
    """End the program and its children within a time limit: by closing its input, then by signals."""
    try:
        await end_conversing(process)
    finally:
        await asyncio.wait(tasks, timeout=GRACE)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if number := read_guard_report(guarding)[0]:
            stderr.add_line(f"it cannot be run: {os.strerror(number)}".encode())
        guarding.close()
        # a process outside the group may keep the pipes open
        process._transport.close()  # type: ignore[attr-defined]
