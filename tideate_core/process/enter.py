"""Run a program in another process's namespaces: ``python -I -S enter.py PID DIRECTORY PROGRAM ARGV…``.

A program with a slash is a path relative to the directory; any other is looked up in PATH, both as seen in
the namespaces. Entering needs a process without threads, hence this separate one. Only its child is in the
pid namespace: the process itself forwards signals and ends as the child does, and the child ends with it.
This file imports nothing of this package: it must start within milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

USER, PIDS, MOUNTS = ("user", 0x10000000), ("pid", 0x20000000), ("mnt", 0x00020000)
PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
CAP_SYS_ADMIN = 21
NOT_RUN = 127
"""Exit status for a program that cannot be run, as in a shell."""
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals ignored by Python, which the program would inherit."""


PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)

libc = ctypes.CDLL(None, use_errno=True)


def enter(process: int) -> int:
    """Fork a child in the user, pid and mount namespace of another process of this user.

    :returns: its pid; 0 in the child.
    :raises OSError: the process is gone, or the system does not allow it.
    """
    # in this order: entering the first namespace gives the right to enter the others
    users, pids, mounts = (
        (os.open(f"/proc/{process}/ns/{name}", os.O_RDONLY), kind) for name, kind in (USER, PIDS, MOUNTS)
    )
    _set(*users)
    _set(*pids)
    child = os.fork()
    if not child:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _set(*mounts)
        # root would keep this capability there and could unmount file systems
        libc.prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0)
    return child


def _set(descriptor: int, kind: int) -> None:
    if libc.setns(descriptor, kind):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    os.close(descriptor)


def _end_like(child: int) -> None:
    """Wait for the child's end and end in the same way; only the child keeps its streams and socket open."""
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(child, number))
    os.closerange(0, 256)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    import resource

    ended_by = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's own core is enough
    if ended_by != signal.SIGKILL:
        signal.signal(ended_by, signal.SIG_DFL)
    os.kill(os.getpid(), ended_by)
    os._exit(128 + ended_by)


def main() -> None:
    """Replace this process by the given program in the namespaces of the given process."""
    try:
        if child := enter(int(sys.argv[1])):
            _end_like(child)
        os.chdir(sys.argv[2])
        for number in IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_DFL)
        os.execvp(sys.argv[3], sys.argv[3:])  # noqa: S606 argv and no shell
    except OSError as error:
        sys.stderr.write(f"{sys.argv[3]} cannot be run: {error.strerror}\n")
        sys.exit(NOT_RUN)


if __name__ == "__main__":
    main()
