"""Process groups: start a program, read its output, end it with all that it started."""

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
from tideate_core.process.programs import start_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tideate_core.process.output import Stream

    OnData = Callable[[Stream, bytes], None]
    """Called in the event loop with what was printed; with nothing at the end of a stream."""

__all__ = ["GUARD_PROGRAM", "ProcessGroup", "entering"]

MARK: Final = "TIDEATE_COMMAND"
"""The variable by which those are found that left the group: unique to every program that is run."""

_CHUNK: Final = 1 << 16
"""Bytes; what a pipe holds on Linux."""

_POLL: Final = 0.01
"""Seconds between two looks whether a group that was asked to end has."""

_LAST_READS: Final = 32
"""Of a pipe whose readers are gone: more than it can hold."""

_LOOKS: Final = 10
"""For processes that left the group."""

GUARD_PROGRAM: Final = str(Path(__file__).with_name("guard.py"))
ENTER_PROGRAM: Final = str(Path(__file__).with_name("enter.py"))


class ProcessGroup:
    """A program in a session and process group of its own."""

    def __init__(
        self, process: subprocess.Popen[bytes], mark: str, guard: socket.socket | None, on_data: OnData
    ) -> None:
        self.exited = asyncio.Event()
        """The program has ended; what it started may not have."""
        self.closed = asyncio.Event()
        """Nobody has its output open any more."""
        self.failure = 0
        """The `errno` with which the guard could not start the program. To be asked after `end`."""
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
        """Start a program; its standard input is empty.

        :param program: absolute path.
        :param guarded: the group ends with this process, even if that is killed.
        :param namespace: as of `run_program`.
        :raises ProgramNotExecutable: the system does not run it.
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
        # a thread of its own: a pool's would be missing elsewhere for as long as the program runs
        threading.Thread(target=group._await_exit, name=f"tideate-wait-{process.pid}", daemon=True).start()
        return group

    @property
    def returncode(self) -> int:
        """The program's status, negative: the signal that ended it. To be asked after `end`."""
        status = self._process.returncode
        return -signal.SIGKILL if status is None else status  # the system is still busy killing it

    async def end(self, grace: float) -> bool:
        """End all that is left of the group, and whoever left it; returns whether anything was.

        Asked first with SIGTERM, then killed. A cancellation meanwhile kills at once.

        :param grace: seconds to end by itself, and then to be seen as ended.
        """
        left = self._signal(signal.SIGTERM)
        try:
            if left:
                # once to each: a second one would cut short what a program does at its end
                _signal_marked(self._mark, signal.SIGTERM, except_group=self._process.pid)
                async with asyncio.timeout(grace):
                    await self._gone()
        except TimeoutError:
            pass
        finally:
            if self._guard is not None and not self.exited.is_set():
                # as long as the guard is there, it is the parent of what left the group
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
        # of processes that are not our children the system tells nothing
        while self._signal(0):  # noqa: ASYNC110
            await asyncio.sleep(_POLL)
        await self.closed.wait()

    def _signal(self, number: int) -> bool:
        """Send a signal to the group; returns whether there is any."""
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False  # macOS says EPERM of a group of zombies
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
        """Take what there is; False if there is nothing more."""
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
        """Close what is open; returns whether the guard ended something that had left the group."""
        for descriptor in list(self._open):
            # whoever still writes must not keep us here
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


def entering(namespace: int, cwd: Path, argv: Sequence[str]) -> list[str]:
    """Return a command that becomes another one in the namespaces of a process; see `enter.py`.

    :param namespace: pid of that process.
    """
    return [sys.executable, "-I", "-S", ENTER_PROGRAM, str(namespace), str(cwd), *argv]


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
    """Kill the processes that inherited a mark; returns whether there were any."""
    found = False
    for _ in range(_LOOKS):
        if not _signal_marked(mark, signal.SIGKILL):
            break
        found = True  # each may have started another before it was killed
    return found


def _signal_marked(mark: str, number: int, *, except_group: int = 0) -> bool:
    """Send a signal to the processes that inherited a mark; without Linux's /proc nobody is found."""
    wanted = f"{MARK}={mark}".encode()
    found = False
    for folder in Path("/proc").glob("[0-9]*"):
        # most are not ours to look into, and each may end meanwhile
        with contextlib.suppress(OSError):
            if wanted not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            if os.getpgid(pid := int(folder.name)) != except_group:
                os.kill(pid, number)
                found = True
    return found
