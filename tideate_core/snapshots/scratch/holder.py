"""Hold mounted overlays: ``python -I -S holder.py (PLACE LOWER UPPER WORK)…``.

Makes a user and a mount namespace of its own, in which each overlay stands at its place, says `mounted` and
waits for the end of its standard input, which is that of the process that started it. Then it ends what is
left in the namespace: the mount is gone with the last process in there. The person is the same in there.
What fails is said as `ERRNO WHAT`.

Run as a program, it imports nothing of this package: it has to be there in milliseconds.
"""

from __future__ import annotations

import contextlib
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
MS_REC = 0x4000
MS_PRIVATE = 1 << 18
EVERYBODY = b"0 0 4294967295"
"""A map of ids that only the superuser may write: in there, each is the same."""
GRACE = 3.0
"""Seconds; guards give programs 2 of them to end."""
POLL = 0.02
MAPS = ("uid_map", "gid_map")

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Mount, say so, and wait."""
    doing = "user namespaces are not available here"
    try:
        _unshare()
        doing = "an overlay cannot be mounted here"
        _check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
        for first in range(1, len(sys.argv), 4):
            _mount(sys.argv[first], sys.argv[first + 1 : first + 4])
    except OSError as error:
        _say(f"{error.errno} {doing}")
        return
    _say("mounted")
    sys.stdin.buffer.read()
    _end_others()


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def _end_others() -> None:
    """Wait for the end of all others in the namespace, who have their own guards, then kill them."""
    ours = os.readlink("/proc/self/ns/mnt")  # noqa: PTH115 as below
    end = time.monotonic() + GRACE
    while others := _others(ours):
        if time.monotonic() > end:
            for process in others:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        time.sleep(POLL)


def _others(namespace: str) -> list[int]:
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 pathlib takes longer to import than all of this
        # most are not ours to look into, and each may end meanwhile
        with contextlib.suppress(OSError):
            if name.isdigit() and os.readlink(f"/proc/{name}/ns/mnt") == namespace:  # noqa: PTH115
                found.append(int(name))
    return [process for process in found if process != os.getpid()]


def _unshare() -> None:
    """Be in new namespaces, as the same person."""
    uid, gid = os.geteuid(), os.getegid()
    ours, theirs = os.pipe()
    here = os.getpid()
    child = os.fork()
    if not child:  # outside of the new namespace, where the superuser is one
        os.close(theirs)
        os.read(ours, 1)
        os._exit(_map_everybody(here))
    _check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    os.close(theirs)
    _, status = os.waitpid(child, 0)
    if status:
        if not uid:
            raise OSError(
                errno.EPERM, "the superuser's files belong to anybody, who would be nobody in there"
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
    # by descriptor: a path may have characters that end an option
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
