"""Become a program in namespaces of another process: ``python -I -S enter.py PID DIRECTORY PROGRAM ARGV…``.

A program with a slash is a path from the directory, else it is looked up in PATH, as seen in there. Entering
wants a process without threads, so it is done in one of its own. Run as a program, it imports nothing of
this package: it has to be there in milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

NAMESPACES = (("user", 0x10000000), ("mnt", 0x00020000))
"""In this order: who is in the first may enter the second."""
PR_CAPBSET_DROP = 24
CAP_SYS_ADMIN = 21
NOT_RUN = 127
"""The status of a program that cannot be run, as in a shell."""
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""The program would inherit that."""


def enter(process: int) -> None:
    """Enter the user and mount namespace of a process that this person's own process made.

    :raises OSError: it is gone, or the system does not allow it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    opened = [(os.open(f"/proc/{process}/ns/{name}", os.O_RDONLY), kind) for name, kind in NAMESPACES]
    for descriptor, kind in opened:
        if libc.setns(descriptor, kind):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        os.close(descriptor)
    # the superuser would keep it in there, and could unmount what is mounted
    libc.prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0)


def main() -> None:
    """Become the program of the arguments in the namespaces of the process named first."""
    try:
        enter(int(sys.argv[1]))
        os.chdir(sys.argv[2])
        for number in IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_DFL)
        os.execvp(sys.argv[3], sys.argv[3:])  # noqa: S606 argv and no shell
    except OSError as error:
        sys.stderr.write(f"{sys.argv[3]} cannot be run: {error.strerror}\n")
        sys.exit(NOT_RUN)


if __name__ == "__main__":
    main()
