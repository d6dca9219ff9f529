"""Relay the person's terminal to a program on a terminal of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import termios
import tty
from typing import TYPE_CHECKING, Final, TypeAlias

from tideate_core.process.started import copy_size, start_on_terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.process.started import StartedProgram

Modes: TypeAlias = "list[int | list[bytes | int]]"

_CHUNK: Final = 1 << 16
_DRAIN: Final = 0.5
"""Seconds for the last output after the program's end, while other programs keep the terminal open."""
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
    :returns: see `relay_terminal`.
    :raises OSError: it cannot be started.
    :raises ProgramMissing: there is no such program.
    :raises ProgramNotExecutable: it exists but cannot be run.
    """
    return await relay_terminal(start_on_terminal(argv, environment=environment, cwd=cwd))


async def relay_terminal(started: StartedProgram) -> int:
    """Relay our terminal and signals to a program until it ends; a cancellation ends it.

    :returns: its exit status, or the negative number of the signal that ended it; that of SIGHUP, too, if our
        terminal was closed.
    """
    if started.terminal is None:
        return await _Relay(started, None).run()
    modes = termios.tcgetattr(0)
    tty.setraw(0, termios.TCSADRAIN)
    try:
        return await _Relay(started, modes).run()
    finally:
        _restore(modes)


def _restore(modes: Modes) -> None:
    with contextlib.suppress(termios.error):  # our terminal is gone
        termios.tcsetattr(0, termios.TCSADRAIN, modes)


class _Relay:
    def __init__(self, started: StartedProgram, modes: Modes | None) -> None:
        self._process = started.process
        self._guard = started.guard
        self._terminal = started.terminal
        self._modes = modes
        """Modes of our terminal before raw mode."""
        self._loop = asyncio.get_running_loop()
        self._closed = asyncio.Event()
        """True after the last process closed the terminal."""
        self._pending = bytearray()
        """Keys that the program has not taken yet."""
        self._hung_up = False
        """Our terminal was closed."""

    async def run(self) -> int:
        for number in FORWARDED:
            self._loop.add_signal_handler(number, self._send, number)
        if self._terminal is not None:
            os.set_blocking(self._terminal, False)
            self._loop.add_signal_handler(signal.SIGWINCH, copy_size, self._terminal)
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
            return -signal.SIGHUP if self._hung_up else status
        finally:
            if self._guard is not None:
                self._guard.close()  # then it ends all
            else:
                self._send(signal.SIGKILL)
            self._close()
            await asyncio.shield(waiting)

    def _send(self, number: int) -> None:
        self._hung_up = self._hung_up or number == signal.SIGHUP
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)  # the guard keeps it to the program

    def _close(self) -> None:
        for number in FORWARDED:
            self._loop.remove_signal_handler(number)
        if self._hung_up:  # the system and the shell both send it
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
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
        copy_size(terminal)

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
