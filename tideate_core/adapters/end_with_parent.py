"""Program that executes another program and makes it end when its parent process ends.

Usage: ``python -I end_with_parent.py PARENT PROGRAM [ARGUMENT…]``. This program imports nothing of the
package. Python cannot run safely between fork and exec in a host with threads, so the setup is in a
program of its own.
"""

from __future__ import annotations

import os
import signal
import sys

PR_SET_PDEATHSIG = 1
NOT_RUN = 127
"""Exit status of a program that cannot be run, as in a shell."""


def end_with_parent(parent: int) -> None:
    """Ask Linux to kill this process when its parent ends, even if the parent is killed."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)  # the parent ended before the kernel was asked


def main() -> None:
    """Become the program in the arguments, tied to the life of the process named first."""
    end_with_parent(int(sys.argv[1]))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and programs inherit that
    try:
        os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - the person's own command, or our own file
    except OSError as error:
        sys.stderr.write(f"cannot be run: {error.strerror}\n")
        sys.exit(NOT_RUN)


if __name__ == "__main__":
    main()
