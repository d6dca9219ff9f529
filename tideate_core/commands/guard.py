"""Stands between us and a program: ``python -I guard.py SOCKET PROGRAM ARGV…``.

It leads the program's process group, ends as the program ends, and ends the group when the socket's other
side is gone: a program does not go on when the process that wanted its result was killed.

Run as a program, it imports nothing of this package: it has to be there in milliseconds.
"""

from __future__ import annotations

import os
import select
import signal
import sys

GRACE = 2.0
"""Seconds between asking the group to end and killing it."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals that the group is sent: for the program, not for its guard."""
SET_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""Ignored by Python; the program is not to inherit that."""


def main() -> None:
    """Run the program of the arguments to its end, or to ours."""
    socket, program, argv = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    os.set_inheritable(socket, False)
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake)
    for number in PASSED_ON:
        signal.signal(number, signal.SIG_IGN)
    try:
        child = os.posix_spawn(program, argv, os.environ, setsigdef=(*PASSED_ON, *SET_BY_PYTHON))
    except OSError as error:
        os.write(socket, str(error.errno).encode())
        os._exit(127)
    ready, _, _ = select.select([socket, ended], [], [])
    if socket in ready:
        _end_group(ended)
    _end_like(os.waitpid(child, 0)[1])


def _end_group(ended: int) -> None:
    group = os.getpgrp()
    os.killpg(group, signal.SIGTERM)
    select.select([ended], [], [], GRACE)
    os.killpg(group, signal.SIGKILL)  # this process is in it


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
