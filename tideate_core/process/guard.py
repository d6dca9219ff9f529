"""Guard process that ends a program's group with its parent: ``python -I guard.py SOCKET PROGRAM ARGV…``.

It leads the program's process group, ends as the program ends, and ends the group when the socket's other
side is gone: a program does not go on when the process that wanted its result was killed. What loses its
parent in here becomes its child, where the system has that, so that nothing gets away by leaving the group.

Run as a program, it imports nothing of this package: it has to be there in milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

__all__ = ["descendants", "kill_descendants", "read_guard_report"]

PR_SET_CHILD_SUBREAPER = 36
LOOKS = 10
"""For processes that start others while they are killed."""
GRACE = 2.0
"""Seconds between asking the group to end and killing it."""
LEFT = b"left"
"""Sent over the socket where processes that had left the group were ended."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals that the group is sent: for the program, not for its guard."""
SET_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""Ignored by Python; the program is not to inherit that."""


def main() -> None:
    """Run the program of the arguments to its end, or to ours."""
    wanted, program, argv = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    os.set_inheritable(wanted, False)
    _adopt()
    ended, wake = os.pipe()
    os.set_blocking(ended, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake)
    for number in PASSED_ON:
        signal.signal(number, signal.SIG_IGN)
    try:
        child = os.posix_spawn(program, argv, os.environ, setsigdef=(*PASSED_ON, *SET_BY_PYTHON))
    except OSError as error:
        os.write(wanted, str(error.errno).encode())
        os._exit(127)
    while (status := _status_of(child)) is None:
        ready, _, _ = select.select([wanted, ended], [], [])
        if wanted in ready:
            _end_group()
        os.read(ended, 4096)
    if _end_strays():
        with contextlib.suppress(OSError):  # nobody wants to know any more
            os.write(wanted, LEFT)
    _end_like(status)


def _adopt() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _status_of(child: int) -> int | None:
    """Take the status of whatever child has ended; returns that of the program, None while it runs."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid in (0, child):
            return status if pid else None


def _end_group() -> None:
    """End all, this process too."""
    os.killpg(os.getpgrp(), signal.SIGTERM)
    _wait_for_end(lambda: descendants(os.getpid()))
    kill_descendants(os.getpid())
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _end_strays() -> bool:
    """End what has left the group; the group itself is ended by whoever started it."""
    if not (found := _strays()):
        return False
    for pid in found:
        _kill(pid, signal.SIGTERM)
    _wait_for_end(_strays)
    _wait_for_end(_killed_strays)
    return True


def _killed_strays() -> list[int]:
    """Kill what left the group; returns what was still there, as a killed process takes its time to end."""
    found = _strays()
    for pid in found:
        _kill(pid, signal.SIGKILL)
    return found


def _strays() -> list[int]:
    return [pid for pid in descendants(os.getpid()) if _group_of(pid) not in (None, os.getpgrp())]


def _wait_for_end(left: Callable[[], list[int]]) -> None:
    end = time.monotonic() + GRACE
    while left() and time.monotonic() < end:
        time.sleep(0.02)


def read_guard_report(connection: socket) -> tuple[int, bool]:
    """Return the report of a guard.

    :returns: the `errno` with which it could not start the program, 0 if it did, and whether it ended
        something that had left the group.
    :param connection: our side, which this makes non-blocking.
    """
    connection.setblocking(False)
    try:
        said = connection.recv(16)
    except OSError:
        return 0, False
    return int(said) if said.isdigit() else 0, said == LEFT


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they did.

    None without Linux's /proc, or where it has the pids of another namespace.
    """
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 pathlib takes longer to import than all of this
        if os.readlink("/proc/self") != str(os.getpid()):  # noqa: PTH115 as above
            return []
    except FileNotFoundError:
        return []
    for name in names:
        if name.isdigit():
            # each may end meanwhile
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                state, parent, *_ = file.read().rpartition(b") ")[2].split()
                if state not in b"ZX":
                    children.setdefault(int(parent), []).append(int(name))
    found, left = [], [pid]
    while left:
        some = children.get(left.pop(), [])
        found += some
        left += some
    return found


def kill_descendants(pid: int) -> bool:
    """Kill what a process started; returns whether there was anything."""
    for turn in range(LOOKS):
        found = descendants(pid)
        if not found:
            return turn > 0
        for one in found:  # each may have started another before it was killed
            _kill(one, signal.SIGKILL)
    return True


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _end_like(status: int) -> None:
    if not os.WIFSIGNALED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    import resource

    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's own core is enough
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


if __name__ == "__main__":
    main()
