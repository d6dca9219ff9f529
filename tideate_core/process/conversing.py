"""Program with which messages are exchanged over its standard streams, in a session of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tideate_core.process.guard import kill_descendants
from tideate_core.process.programs import GUARD_PROGRAM

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

GRACE: Final = 2.0
"""Seconds for a program to exit after its input ends, and again after SIGTERM."""
POLL: Final = 0.005


async def start_conversing(
    program: str,
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    limit: int,
    within: Callable[[Sequence[str]], Sequence[str]] = list,
) -> tuple[Process, socket.socket]:
    """Start a program with pipes; it also ends if this process is killed.

    :param program: absolute path.
    :param argv: its arguments, the first one is its name.
    :param limit: bytes of a line.
    :param within: returns the command that starts a command elsewhere, such as in namespaces.
    :returns: the process, and the socket for `read_guard_report`.
    :raises OSError: the system cannot run it.
    """
    ours, theirs = socket.socketpair()
    guarded = [sys.executable, "-I", "-S", GUARD_PROGRAM, str(theirs.fileno()), program, *argv]
    try:
        process = await asyncio.create_subprocess_exec(
            *within(guarded),
            cwd=cwd,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=limit,
            start_new_session=True,
            pass_fds=(theirs.fileno(),),
        )
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


async def end_conversing(process: Process) -> None:
    """End a program and its children in bounded time: close its input, then send signals."""
    try:
        if process.stdin is not None:
            process.stdin.close()
        if not await _has_ended(process):
            _signal(process, signal.SIGTERM)
            await _has_ended(process)
    finally:
        if process.returncode is None:
            kill_descendants(process.pid)  # including those outside the group
        _signal(process, signal.SIGKILL)
        await _has_ended(process)


async def _has_ended(process: Process) -> bool:
    # not `process.wait()`: it also waits for the pipes, which other processes may keep open
    deadline = asyncio.get_running_loop().time() + GRACE
    while process.returncode is None:
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(POLL)
    return True


def _signal(process: Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
