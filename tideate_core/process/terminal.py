"""Run a program on a terminal of its own and relay the person's terminal to it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
import termios
import tty
from typing import TYPE_CHECKING, Final, TypeAlias

from tideate_core.process.group import ENTER_PROGRAM, GUARD_PROGRAM, entering
from tideate_core.process.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Modes: TypeAlias = "list[int | list[bytes | int]]"

_CHUNK: Final = 1 << 16
_DRAIN: Final = 0.5
"""Seconds for the last output after the program's end, while other programs keep the terminal open."""
_TIOCGPTPEER: Final = 0x5441
"""Linux: open the other end of a terminal."""
_TIOCSPTLCK: Final = 0x40045431
FORWARDED: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


async def run_on_terminal(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path,
) -> int:
    """Run a program on a new terminal that mirrors ours, until it ends.

    The program cannot reach our terminal itself. Without a terminal on both our standard input and output, it
    gets our streams instead. Signals to this process go on to the program. A cancellation ends it. Outside of
    namespaces, a guard ends the processes that it leaves behind.

    :param argv: program and arguments; see `entering` for a program in namespaces, whose terminal belongs to
        them.
    :returns: its exit status, or the negative number of the signal that ended it.
    :raises OSError: it cannot be started.
    :raises ProgramMissing: there is no such program.
    :raises ProgramNotExecutable: it exists but cannot be run.
    """
    if ENTER_PROGRAM in argv:
        return await _relay(argv, environment, cwd, argv[argv.index(ENTER_PROGRAM) + 1], None)
    program = find_program(argv[0], cwd, environment)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        os.set_inheritable(theirs.fileno(), True)
        guard = [sys.executable, "-I", "-S", GUARD_PROGRAM, str(theirs.fileno()), program]
        return await _relay(entering(0, cwd, [*guard, *argv]), environment, cwd, "", (ours, theirs))


async def _relay(
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path,
    namespace: str,
    guard: tuple[socket.socket, socket.socket] | None,
) -> int:
    if not (os.isatty(0) and os.isatty(1)):
        return await _Relay(_start(command, environment, cwd, None, guard), guard).run()
    ours, theirs = _open_terminal(namespace)
    try:
        _copy_size(ours)
        process = _start(command, environment, cwd, theirs, guard)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    modes = termios.tcgetattr(0)
    tty.setraw(0, termios.TCSADRAIN)
    try:
        return await _Relay(process, guard, ours, modes).run()
    finally:
        _restore(modes)


def _start(
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path,
    terminal: int | None,
    guard: tuple[socket.socket, socket.socket] | None,
) -> subprocess.Popen[bytes]:
    passed = () if guard is None else (guard[1].fileno(),)
    process = subprocess.Popen(  # noqa: S603 a list and no shell
        command,
        pass_fds=passed,
        cwd=cwd,
        env=environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    if guard is not None:
        guard[1].close()
    return process


def _open_terminal(namespace: str) -> tuple[int, int]:
    """Return both ends of a new terminal; a program in namespaces finds its name there."""
    if not namespace:
        return pty.openpty()
    ours = os.open(f"/proc/{namespace}/root/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
    try:
        fcntl.ioctl(ours, _TIOCSPTLCK, struct.pack("i", 0))
        return ours, fcntl.ioctl(ours, _TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY)
    except BaseException:
        os.close(ours)
        raise


def _copy_size(terminal: int) -> None:
    with contextlib.suppress(OSError):  # ours may be gone
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))


def _restore(modes: Modes) -> None:
    with contextlib.suppress(termios.error):  # our terminal is gone
        termios.tcsetattr(0, termios.TCSADRAIN, modes)


class _Relay:
    """A running program and, if it has one, our end of its terminal."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        guard: tuple[socket.socket, socket.socket] | None,
        terminal: int | None = None,
        modes: Modes | None = None,
    ) -> None:
        self._process = process
        self._guard = guard
        self._terminal = terminal
        self._modes = modes
        """Modes of our terminal before raw mode."""
        self._loop = asyncio.get_running_loop()
        self._closed = asyncio.Event()
        """True after the last process closed the terminal."""
        self._pending = bytearray()
        """Keys that the program has not read yet."""

    async def run(self) -> int:
        for number in FORWARDED:
            self._loop.add_signal_handler(number, self._send, number)
        if self._terminal is not None:
            os.set_blocking(self._terminal, False)
            self._loop.add_signal_handler(signal.SIGWINCH, _copy_size, self._terminal)
            self._loop.add_signal_handler(signal.SIGTSTP, self._stop_here, self._terminal)
            self._loop.add_reader(0, self._take_keys)
            self._loop.add_reader(self._terminal, self._show)
        waiting = asyncio.ensure_future(asyncio.to_thread(self._process.wait))
        try:
            status = await asyncio.shield(waiting)
            if self._terminal is not None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_DRAIN):
                        await self._closed.wait()
            return status
        finally:
            if self._guard is not None:
                self._guard[0].close()  # then it ends all
            else:
                self._send(signal.SIGKILL)
            self._close()
            await asyncio.shield(waiting)

    def _send(self, number: int) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)  # the guard keeps it to the program

    def _close(self) -> None:
        for number in FORWARDED:
            self._loop.remove_signal_handler(number)
        if self._terminal is not None:
            self._loop.remove_signal_handler(signal.SIGWINCH)
            self._loop.remove_signal_handler(signal.SIGTSTP)
            self._loop.remove_reader(0)
            self._stop()
            os.close(self._terminal)

    def _stop(self) -> None:
        assert self._terminal is not None  # noqa: S101 only then
        self._loop.remove_reader(self._terminal)
        self._loop.remove_writer(self._terminal)
        self._closed.set()

    def _stop_here(self, terminal: int) -> None:
        """Stop this process with its terminal as before, until it is continued."""
        assert self._modes is not None  # noqa: S101 it has a terminal
        _restore(self._modes)
        os.kill(os.getpid(), signal.SIGSTOP)
        tty.setraw(0, termios.TCSADRAIN)
        _copy_size(terminal)

    def _take_keys(self) -> None:
        keys = os.read(0, _CHUNK)
        if not keys:  # our terminal is gone, and the program's with it
            self._loop.remove_reader(0)
            self._send(signal.SIGHUP)
            return
        self._pending += keys
        self._pass_on()

    def _pass_on(self) -> None:
        """Write keys without blocking, even if the program does not read."""
        assert self._terminal is not None  # noqa: S101 only then
        try:
            del self._pending[: os.write(self._terminal, self._pending)]
        except BlockingIOError:
            pass
        except OSError:
            self._pending.clear()  # no process has it open
        if self._pending:
            self._loop.add_writer(self._terminal, self._pass_on)
        else:
            self._loop.remove_writer(self._terminal)

    def _show(self) -> None:
        assert self._terminal is not None  # noqa: S101 only then
        try:
            data = os.read(self._terminal, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # Linux: EIO when the last process closed it
        if not data:
            self._stop()
        left = memoryview(data)
        while left:
            left = left[os.write(1, left) :]
