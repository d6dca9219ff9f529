"""Access to regular files only: other kinds are rejected with a plain reason, and pipes never block."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_ALWAYS: Final = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS: Final = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


def open_regular(path: Path, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """Open a regular file and return its descriptor; blocking, but never on a pipe.

    :param flags: as for `os.open`. With `O_NOFOLLOW`, a link is rejected.
    :raises FileNotFoundError: the file does not exist.
    :raises OSError: it is not a regular file, or cannot be opened.
    """
    # check first: opening a device may have an effect
    _check(path, follow=not flags & os.O_NOFOLLOW)
    descriptor = os.open(path, flags | _ALWAYS, mode)
    try:
        _check_kind(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: Path, largest: int = -1) -> bytes:
    """Return the content of a regular file; links are followed; blocking.

    :param largest: most bytes to read.
    :raises FileNotFoundError: the file does not exist.
    :raises OSError: it is not a regular file, or cannot be read.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(largest)


def check_regular(path: Path) -> os.stat_result | None:
    """Check that a path is free or a regular file, before a library opens it; links are followed.

    :returns: the file's status; None if there is no file.
    :raises OSError: another kind of file is there.
    """
    return _check(path, follow=True)


def read_bounded(path: Path, largest: int) -> bytes | None:
    """Return a file's content; None if it is not a regular file or too large; blocking.

    :param largest: size limit in bytes.
    """
    with contextlib.suppress(OSError):
        with os.fdopen(open_regular(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            content = file.read(largest + 1)
        return content if len(content) <= largest else None
    return None


def _check(path: Path, *, follow: bool) -> os.stat_result | None:
    try:
        found = path.stat(follow_symlinks=follow)
    except FileNotFoundError:
        if path.is_symlink():
            raise OSError(
                errno.ELOOP, "it is a dangling link; remove it, or create its target", str(path)
            ) from None
        return None
    _check_kind(path, found)
    return found


def _check_kind(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file; move it away", str(path))
