"""Stdio transport: run a server in a process group of its own and end it with all that it started.

The SDK's own transport is not used: it reads lines of any length into memory, takes a file for a server's
standard error, leaves alive what left the server's process group, and the server itself when this process is
killed. It offers no place for the guard and the bounds.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections import deque
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import anyio
from mcp.shared.message import SessionMessage

from tideate_core.errors import InvalidAnswer
from tideate_core.mcp.client.bounds import LONGEST_MESSAGE, RateLimit, Unreadable, parse_message
from tideate_core.mcp.client.repair import FramingCheck
from tideate_core.mcp.client.server_text import short_line
from tideate_core.process import (
    GUARD_PROGRAM,
    check_argv,
    find_program,
    kill_descendants,
    make_environment,
    read_guard_report,
    start_error,
)
from tideate_core.util.uncancelled import wait_uncancelled

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams

    from tideate_core.mcp.client.specs import ServerSpec

    Outgoing = MemoryObjectReceiveStream[SessionMessage]
    Incoming = MemoryObjectSendStream[SessionMessage | Exception]

__all__ = ["ErrorOutput", "stdio_transport"]

log = logging.getLogger(__name__)

GRACE: Final = 2.0
"""Seconds for a server to end by itself when its input ends, and again when it is asked to."""
KEPT_LINES: Final = 20
"""Lines of a server's standard error that are kept."""
LONGEST_LINE: Final = 500
"""Bytes of such a line."""
PER_SECOND: Final = 50
"""Lines of it that the log has."""


class ErrorOutput:
    """The last lines of a server's standard error; they go to the log, too."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: deque[bytes] = deque(maxlen=KEPT_LINES)
        self._rate = RateLimit(PER_SECOND)

    def add_line(self, line: bytes) -> None:
        if line.strip():
            # escaped when it is shown: of a flood most is not
            self._lines.append(line[:LONGEST_LINE])
            if not self._rate.excess():
                log.info("MCP server %s: %s", self._name, _decoded(self._lines[-1]))

    def lines(self, count: int) -> list[str]:
        return [_decoded(line) for line in list(self._lines)[-count:]]


def _decoded(line: bytes) -> str:
    return short_line(line.decode("utf-8", "replace"), LONGEST_LINE)


@asynccontextmanager
async def stdio_transport(spec: ServerSpec, stderr: ErrorOutput) -> AsyncIterator[TransportStreams]:
    """Start a server and give the streams to speak with it; afterwards nothing of it is left.

    :raises CommandError: its program is missing, or the system does not run it.
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
    ours, theirs = socket.socketpair()
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", GUARD_PROGRAM, str(theirs.fileno()), program, *spec.command),
            cwd=spec.cwd,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LONGEST_MESSAGE,
            start_new_session=True,
            pass_fds=(theirs.fileno(),),
        )
    except OSError as error:
        ours.close()
        raise start_error(program, error.errno or 0) from error
    finally:
        theirs.close()
    return process, ours


async def _read_stdout(process: Process, told: Incoming) -> None:
    assert process.stdout is not None  # noqa: S101 it was asked for
    framing = FramingCheck()
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with told:
            try:
                while line := await process.stdout.readline():
                    if not line.strip():
                        continue
                    item = parse_message(line)
                    if not isinstance(item, Unreadable):
                        framing.message()
                    elif wrong := framing.unreadable(line):
                        item = wrong
                    await told.send(item)
            except ValueError:  # asyncio's word for a line over the limit
                await told.send(InvalidAnswer(f"a message is longer than {LONGEST_MESSAGE // 1024} KiB"))


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
            told.close()  # the session is to see the end, instead of waiting for an answer


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
    """End the program and all that it started, within a bound: by its input's end, else by signals."""
    try:
        if process.stdin is not None:
            process.stdin.close()
        if not await _has_ended(process):
            _signal(process, signal.SIGTERM)
            await _has_ended(process)
    finally:
        if process.returncode is None:
            kill_descendants(process.pid)  # those that left the group, too
        _signal(process, signal.SIGKILL)
        await asyncio.wait(tasks, timeout=GRACE)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if number := read_guard_report(guarding)[0]:
            stderr.add_line(f"it cannot be run: {os.strerror(number)}".encode())
        guarding.close()
        # a process that left the group may hold the pipes open for ever
        process._transport.close()  # type: ignore[attr-defined]


async def _has_ended(process: Process) -> bool:
    # not `process.wait()`: it waits for the end of the pipes as well, which others may hold
    deadline = asyncio.get_running_loop().time() + GRACE
    while process.returncode is None:
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.005)
    return True


def _signal(process: Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
