"""Guard process that ends a program's group with its parent: ``python -I guard.py SOCKET PROGRAM ARGV…``.

It leads the program's process group, ends in the same way as the program, and ends the group when the other
side of the socket closes: the program stops when the process that wanted its result is killed. Where the
system supports it, orphaned descendants become the guard's children, so that none escapes by leaving the
group.

Run as a program, it imports nothing of this package: it must start within milliseconds.
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

PR_SET_CHILD_SUBREAPER = 36
LOOKS = 10
"""Attempts to kill processes that start others meanwhile."""
GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL for the group."""
LEFT = b"left"
"""Sent over the socket if processes that had left the group were ended."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals to the group that are meant for the program, not for its guard."""
SET_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals ignored by Python; the program must not inherit that."""


def main() -> None:
    """Run the given program until it or the parent ends."""
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
        with contextlib.suppress(OSError):  # the parent no longer listens
            os.write(wanted, LEFT)
    _end_like(status)


def _adopt() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _status_of(child: int) -> int | None:
    """Reap ended children; returns the program's status, None while it runs."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid in (0, child):
            return status if pid else None


def _end_group() -> None:
    """End the whole group, including this process."""
    os.killpg(os.getpgrp(), signal.SIGTERM)
    _wait_for_end(lambda: descendants(os.getpid()))
    kill_descendants(os.getpid())
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _end_strays() -> bool:
    """End processes that left the group; the parent ends the group itself."""
    if not (found := _strays()):
        return False
    for pid in found:
        _kill(pid, signal.SIGTERM)
    _wait_for_end(_strays)
    _wait_for_end(_killed_strays)
    return True


def _killed_strays() -> list[int]:
    """Kill processes that left the group; returns the ones found, since a kill takes time."""
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
    """Return a guard's report.

    :returns: the `errno` of a failed start, 0 after a successful one, and whether the guard ended processes
        that had left the group.
    :param connection: our side, which becomes non-blocking.
    """
    connection.setblocking(False)
    try:
        said = connection.recv(16)
    except OSError:
        return 0, False
    return int(said) if said.isdigit() else 0, said == LEFT


def descendants(pid: int) -> list[int]:
    """Return all descendants of a process.

    Empty without Linux's /proc, or if /proc belongs to another pid namespace.
    """
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 importing pathlib takes longer than all of this
        if os.readlink("/proc/self") != str(os.getpid()):  # noqa: PTH115 as above
            return []
    except FileNotFoundError:
        return []
    for name in names:
        if name.isdigit():
            # any process may end meanwhile
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
    """Kill a process's descendants; returns whether there were any."""
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
