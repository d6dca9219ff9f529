"""Start a program on a terminal of its own, without importing `asyncio`."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import socket
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.process.programs import ENTER_PROGRAM, GUARD_PROGRAM, entering, find_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_TIOCGPTPEER: Final = 0x5441
"""Linux: open the other end of a terminal."""
_TIOCSPTLCK: Final = 0x40045431


@dataclass(frozen=True, slots=True)
class StartedProgram:
    """Running program; `relay_terminal` shows its terminal and waits for its end."""

    process: subprocess.Popen[bytes]
    terminal: int | None
    """Our end of its terminal, if it has one."""
    guard: socket.socket | None
    """Connection to its guard, if it has one."""


def start_on_terminal(argv: Sequence[str], *, environment: Mapping[str, str], cwd: Path) -> StartedProgram:
    """Start a program as `run_on_terminal` does; blocking.

    :raises OSError: it cannot be started.
    :raises ProgramMissing: there is no such program.
    :raises ProgramNotExecutable: it exists but cannot be run.
    """
    if ENTER_PROGRAM in argv:
        return _start(argv, environment, cwd, argv[argv.index(ENTER_PROGRAM) + 1], None)
    program = find_program(argv[0], cwd, environment)
    ours, theirs = socket.socketpair()
    with theirs:
        guard = [sys.executable, "-I", "-S", GUARD_PROGRAM, str(theirs.fileno()), program]
        try:
            return _start(entering(0, cwd, [*guard, *argv]), environment, cwd, "", (ours, theirs))
        except BaseException:
            ours.close()
            raise


def copy_size(terminal: int) -> None:
    """Give a terminal the size of ours."""
    with contextlib.suppress(OSError):  # ours may be gone
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))


def _start(
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path,
    namespace: str,
    guard: tuple[socket.socket, socket.socket] | None,
) -> StartedProgram:
    connection = None if guard is None else guard[0]
    if not (os.isatty(0) and os.isatty(1)):
        return StartedProgram(_spawn(command, environment, cwd, None, guard), None, connection)
    ours, theirs = _open_terminal(namespace)
    try:
        copy_size(ours)
        return StartedProgram(_spawn(command, environment, cwd, theirs, guard), ours, connection)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)


def _spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path,
    terminal: int | None,
    guard: tuple[socket.socket, socket.socket] | None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 a list and no shell
        command,
        pass_fds=() if guard is None else (guard[1].fileno(),),
        cwd=cwd,
        env=environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )


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
