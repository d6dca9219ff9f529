"""Process of an agent, with JSON messages of limited size on its standard streams.

The SDK's transport is not used: it never reads the agent's standard error, leaves its children running, reads
messages of any length, and logs lines that are no messages.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

from tideate_core.errors import AdapterError, AdapterUnavailable
from tideate_core.process import (
    GRACE,
    end_conversing,
    read_guard_report,
    start_conversing,
    strip_control_sequences,
)

if TYPE_CHECKING:
    import socket
    from asyncio.subprocess import Process
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

LONGEST_MESSAGE: Final = 32 << 20
"""Bytes of one message; agents send whole files in them."""
MOST_NOISE: Final = 1 << 20
"""Bytes of lines that are no messages, after which the agent is unusable."""
READ_SIZE: Final = 1 << 16
KEPT_LINES: Final = 12
"""Last lines of other output, for error messages."""
LONGEST_LINE: Final = 300


class AgentPipes:
    """Message transport of the SDK over a child process; made by `start`.

    :ivar problem: reason why the agent is unusable; None while it is usable.
    """

    def __init__(self, name: str, process: Process, guard: socket.socket) -> None:
        self.problem: AdapterError | None = None
        self._name = name
        self._process = process
        self._guard = guard
        self._held = bytearray()
        self._ready: deque[dict[str, Any]] = deque()
        self._noise = 0
        self._said: deque[bytes] = deque(maxlen=KEPT_LINES)
        self._draining = asyncio.create_task(self._drain(), name=f"errors of {name}")
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        name: str,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        within: Callable[[Sequence[str]], Sequence[str]] = list,
    ) -> Self:
        """Start an agent in a session of its own; it also ends if this process is killed.

        :param argv: the program, as an absolute path, and its arguments.
        :param within: returns the command that starts a command in the agent's copy of the project.
        :raises AdapterUnavailable: the system cannot run it.
        """
        try:
            process, guard = await start_conversing(
                argv[0], argv, cwd=cwd, environment=environment, limit=READ_SIZE, within=within
            )
        except OSError as error:
            raise AdapterUnavailable(f"{name} cannot be started: {error.strerror or error}") from error
        return cls(name, process, guard)

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message.

        :raises ConnectionError: the agent has closed its input.
        """
        assert self._process.stdin is not None  # noqa: S101 it was asked for
        self._process.stdin.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        try:
            await self._process.stdin.drain()
        except ConnectionError:
            if "method" in message:
                raise
            # an answer to an agent that has ended: its turn reports the end

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None after the last one, or if the agent is unusable."""
        assert self._process.stdout is not None  # noqa: S101 it was asked for
        while not self._ready:
            if self.problem is not None:
                return None
            data = await self._process.stdout.read(READ_SIZE)
            if not data:
                self._take(bytes(self._held))
                self._held.clear()
                return self._ready.popleft() if self._ready else None
            self._split(data)
        await asyncio.sleep(0)  # let other tasks run during a flood of messages
        return self._ready.popleft()

    def _split(self, data: bytes) -> None:
        start = len(self._held)
        self._held += data
        end = self._held.rfind(b"\n", start)
        if end >= 0:
            for line in bytes(self._held[:end]).split(b"\n"):
                self._take(line)
            del self._held[: end + 1]
        if len(self._held) > LONGEST_MESSAGE:
            self._give_up(f"sent a message of more than {LONGEST_MESSAGE >> 20} MiB")

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        if (message := _message(line)) is not None:
            self._ready.append(message)
            return
        self._said.append(line[:LONGEST_LINE])
        self._noise += len(line) + 1
        if self._noise > MOST_NOISE:
            self._give_up("prints texts that are not ACP")

    def _give_up(self, why: str) -> None:
        self._held.clear()
        if self.problem is None:
            self.problem = AdapterError(f"{self._name} {why}{self.last_words}")

    @property
    def last_words(self) -> str:
        """Suffix of an error: the last lines that the agent printed beside its messages; else empty."""
        lines = [strip_control_sequences(line.decode("utf-8", "replace")).strip() for line in self._said]
        shown = [line for line in lines if line]
        return "; it printed:\n" + "\n".join(f"    {line}" for line in shown) if shown else ""

    @property
    def ending(self) -> str:
        """Description of the process's end; valid after `close`."""
        code = self._process.returncode
        if code is not None and code < 0:
            with suppress(ValueError):
                return f"was ended by {signal.Signals(-code).name}"
        return f"ended with status {code}"

    async def _drain(self) -> None:
        """Read standard error, so that a full pipe does not block the agent."""
        assert self._process.stderr is not None  # noqa: S101 it was asked for
        rest = b""
        while data := await self._process.stderr.read(READ_SIZE):
            *lines, rest = (rest + data).split(b"\n")
            # a flood is not decoded, as only its last lines can be shown
            self._said.extend(line[:LONGEST_LINE] for line in lines[-KEPT_LINES:] if line.strip())
            rest = rest[-READ_SIZE:]
        if rest.strip():
            self._said.append(rest[:LONGEST_LINE])

    async def close(self) -> None:
        """End the agent with all its processes in bounded time: close its input, then send signals."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(), name=f"end {self._name}")
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        try:
            await end_conversing(self._process)
        finally:
            await asyncio.wait({self._draining}, timeout=GRACE)
            self._draining.cancel()
            if number := read_guard_report(self._guard)[0]:
                self._said.append(f"it cannot be run: {os.strerror(number)}".encode())
            self._guard.close()
            # a process outside the group may keep the pipes open
            self._process._transport.close()  # type: ignore[attr-defined]


def _message(line: bytes) -> dict[str, Any] | None:
    """Return the message of a line; window titles, colours and greetings may precede it."""
    text = line.decode("utf-8", "replace")
    for shown in (text, text[max(0, text.find('{"')) :]):
        try:
            message = json.loads(shown)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict):
            return message
    return None
