"""Hold mounted overlays: ``python -I -S holder.py (PLACE LOWER UPPER WORK)…``.

Creates a user, a mount and a pid namespace and mounts each overlay there. The holder is a child of the
program and the first process in the pid namespace: processes inside cannot stop or kill it, and the kernel
kills all of them with it, including those in nested namespaces. It prints `mounted PID` and waits for the end
of its standard input, inherited from the process that started the program; then the other processes have some
time to end. User and group ids stay the same inside. A failure is printed as `ERRNO WHAT`.

The program imports nothing of this package, because it has to start within milliseconds.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
PR_SET_PDEATHSIG = 1
MS_REC = 0x4000
MS_PRIVATE = 1 << 18
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
EVERYBODY = b"0 0 4294967295"
"""Identity map of all ids; only the superuser may write it."""
GRACE = 3.0
"""Seconds; guards give programs two seconds to end."""
POLL = 0.02
MAPS = ("uid_map", "gid_map")

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Create the namespaces, then wait for the holder and all other processes to end."""
    doing = "user namespaces are not available here"
    told, tell = os.pipe()
    try:
        _unshare()
        doing = "processes cannot be started in a pid namespace here"
        holder = os.fork()
    except OSError as error:
        _say(f"{error.errno} {doing}")
        return
    if holder:
        os.write(tell, b"%d" % holder)  # the holder has pid 1 inside and cannot report its outer pid
        os.close(0)
        os.waitpid(holder, 0)
    else:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.close(tell)
        if pid := os.read(told, 16):  # empty if the parent was killed
            _hold(int(pid))


def _hold(pid: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphaned processes inside become its children
    try:
        _check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
        for first in range(1, len(sys.argv), 4):
            _mount(sys.argv[first], sys.argv[first + 1 : first + 4])
    except OSError as error:
        _say(f"{error.errno} an overlay cannot be mounted here")
        return
    # containers may hide parts of /proc: then it keeps showing all processes, which guards detect
    libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None)
    _say(f"mounted {pid}")
    sys.stdin.buffer.read()
    _await_others()


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def _await_others() -> None:
    """Give all other processes time to end, as their guards make them."""
    end = time.monotonic() + GRACE
    while time.monotonic() < end:
        try:
            os.kill(-1, 0)
        except ProcessLookupError:
            return
        time.sleep(POLL)


def _unshare() -> None:
    """Enter new namespaces, with the same user and group ids."""
    uid, gid = os.geteuid(), os.getegid()
    ours, theirs = os.pipe()
    here = os.getpid()
    child = os.fork()
    if not child:  # outside of the new namespace, where the superuser has its rights
        os.close(theirs)
        os.read(ours, 1)
        os._exit(_map_everybody(here))
    _check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID))
    os.close(theirs)
    _, status = os.waitpid(child, 0)
    if status:
        if not uid:
            raise OSError(
                errno.EPERM, "files of the superuser's projects may belong to users that the namespace lacks"
            )
        _write("/proc/self/setgroups", b"deny")
        _write("/proc/self/uid_map", b"%d %d 1" % (uid, uid))
        _write("/proc/self/gid_map", b"%d %d 1" % (gid, gid))


def _map_everybody(process: int) -> int:
    try:
        for name in MAPS:
            _write(f"/proc/{process}/{name}", EVERYBODY)
    except OSError:
        return 1
    return 0


def _mount(place: str, layers: Sequence[str]) -> None:
    # by descriptor: a path may contain characters that end an option
    opened = [os.open(layer, os.O_PATH | os.O_DIRECTORY) for layer in layers]
    lower, upper, work = (f"/proc/self/fd/{descriptor}" for descriptor in opened)
    options = f"lowerdir={lower},upperdir={upper},workdir={work},userxattr"
    _check(libc.mount(b"overlay", os.fsencode(place), b"overlay", 0, options.encode()))
    for descriptor in opened:
        os.close(descriptor)


def _write(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
