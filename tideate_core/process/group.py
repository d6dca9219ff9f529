"""Process groups: start a program, read its output, end it with all its descendants."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.process.guard import kill_descendants, read_guard_report
from tideate_core.process.programs import GUARD_PROGRAM, entering, start_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tideate_core.process.output import Stream

    OnData = Callable[[Stream, bytes], None]
    """Called in the event loop with new output; with empty data at the end of a stream."""

MARK: Final = "TIDEATE_COMMAND"
"""Variable that identifies processes that left the group; its value is unique for each program."""

_CHUNK: Final = 1 << 16
"""Bytes; the capacity of a pipe on Linux."""

_POLL: Final = 0.01
"""Seconds between two checks whether a group has ended."""

_LAST_READS: Final = 32
"""Final reads of a pipe without readers: more than it can hold."""

_LOOKS: Final = 10
"""Attempts to find processes that left the group."""


class ProcessGroup:
    """A program in its own session and process group."""

    def __init__(
        self, process: subprocess.Popen[bytes], mark: str, guard: socket.socket | None, on_data: OnData
    ) -> None:
        self.exited = asyncio.Event()
        """The program has ended; its descendants may still run."""
        self.closed = asyncio.Event()
        """No process has the output open any longer."""
        self.failure = 0
        """`errno` of the guard's failure to start the program; valid after `end`."""
        self._process = process
        self._mark = mark
        self._guard = guard
        self._loop = asyncio.get_running_loop()
        self._on_data = on_data
        self._open: dict[int, Stream] = {}

    @classmethod
    def start(
        cls,
        program: str,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        on_data: OnData,
        guarded: bool,
        namespace: int | None = None,
    ) -> ProcessGroup:
        """Start a program with empty standard input.

        :param program: absolute path.
        :param guarded: end the group with this process, even if this process is killed.
        :param namespace: see `run_program`.
        :raises ProgramNotExecutable: the system cannot run it.
        """
        mark = uuid.uuid4().hex
        ours, theirs = socket.socketpair() if guarded else (None, None)
        try:
            process = _spawn(program, argv, theirs, cwd, {**environment, MARK: mark}, namespace)
        except OSError as error:
            if ours is not None:
                ours.close()
            raise start_error(program, error.errno or 0) from error
        finally:
            if theirs is not None:
                theirs.close()
        group = cls(process, mark, ours, on_data)
        group._listen()
        # its own thread: a pool's thread would be blocked for as long as the program runs
        threading.Thread(target=group._await_exit, name=f"tideate-wait-{process.pid}", daemon=True).start()
        return group

    @property
    def returncode(self) -> int:
        """The program's exit status, or the negative signal that ended it; valid after `end`."""
        status = self._process.returncode
        return -signal.SIGKILL if status is None else status  # still being killed

    async def end(self, grace: float) -> bool:
        """End the rest of the group, and processes that left it; returns whether there were any.

        Sends SIGTERM first, then kills. A cancellation kills at once.

        :param grace: seconds for a voluntary end, and again to detect the end.
        """
        left = self._signal(signal.SIGTERM)
        try:
            if left:
                # once to each process: a second signal could interrupt a program's cleanup
                _signal_marked(self._mark, signal.SIGTERM, except_group=self._process.pid)
                async with asyncio.timeout(grace):
                    await self._gone()
        except TimeoutError:
            pass
        finally:
            if self._guard is not None and not self.exited.is_set():
                # while the guard runs, it is the parent of processes that left the group
                kill_descendants(self._process.pid)
            self._signal(signal.SIGKILL)
            if self._guard is not None or left or self._open:
                left = _kill_marked(self._mark) or left
            left = self._release() or left
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self.exited.wait()
        return left

    async def _gone(self) -> None:
        await self.exited.wait()
        # the system reports nothing about processes that are not our children
        while self._signal(0):  # noqa: ASYNC110
            await asyncio.sleep(_POLL)
        await self.closed.wait()

    def _signal(self, number: int) -> bool:
        """Send a signal to the group; returns whether the group exists."""
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False  # macOS: EPERM for a group of zombies
        return True

    def _listen(self) -> None:
        streams: tuple[Stream, ...] = ("stdout", "stderr")
        for stream, pipe in zip(streams, (self._process.stdout, self._process.stderr), strict=True):
            assert pipe is not None  # noqa: S101 both were asked for
            descriptor = pipe.fileno()
            os.set_blocking(descriptor, False)
            self._open[descriptor] = stream
            self._loop.add_reader(descriptor, self._read, descriptor)

    def _read(self, descriptor: int) -> bool:
        """Read available data; False if there is none."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self._on_data(self._open[descriptor], data)
        else:
            self._stop_reading(descriptor)
        return bool(data)

    def _stop_reading(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        stream = self._open.pop(descriptor)
        if not self._open:
            self.closed.set()
        self._on_data(stream, b"")

    def _release(self) -> bool:
        """Close all pipes; returns whether the guard ended processes that had left the group."""
        for descriptor in list(self._open):
            # a process that still writes must not block this
            for _ in range(_LAST_READS):
                if not self._read(descriptor):
                    break
            if descriptor in self._open:
                self._stop_reading(descriptor)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        if self._guard is None:
            return False
        self.failure, left = read_guard_report(self._guard)
        self._guard.close()
        return left

    def _await_exit(self) -> None:
        self._process.wait()
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            self._loop.call_soon_threadsafe(self.exited.set)


def _spawn(
    program: str,
    argv: Sequence[str],
    guard: socket.socket | None,
    cwd: Path,
    environment: Mapping[str, str],
    namespace: int | None,
) -> subprocess.Popen[bytes]:
    command = list(argv)
    passed: tuple[int, ...] = ()
    if guard is not None:
        command = [sys.executable, "-I", "-S", GUARD_PROGRAM, str(guard.fileno()), program, *argv]
        passed = (guard.fileno(),)
        if namespace is not None:
            command = entering(namespace, cwd, command)
    return subprocess.Popen(  # noqa: S603 a list and no shell
        command,
        executable=sys.executable if guard is not None else program,
        cwd="/" if namespace is not None else cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        pass_fds=passed,
    )


def _kill_marked(mark: str) -> bool:
    """Kill the processes with a mark; returns whether there were any."""
    found = False
    for _ in range(_LOOKS):
        if not _signal_marked(mark, signal.SIGKILL):
            break
        found = True  # each may have started another process before it was killed
    return found


def _signal_marked(mark: str, number: int, *, except_group: int = 0) -> bool:
    """Send a signal to the processes with a mark; without Linux's /proc none is found."""
    wanted = f"{MARK}={mark}".encode()
    found = False
    for folder in Path("/proc").glob("[0-9]*"):
        # most belong to other users, and any may end meanwhile
        with contextlib.suppress(OSError):
            if wanted not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            if os.getpgid(pid := int(folder.name)) != except_group:
                os.kill(pid, number)
                found = True
    return found
