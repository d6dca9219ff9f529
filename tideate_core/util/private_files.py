"""Creation of private files and directories, with modes 0600 and 0700 under any umask."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from tideate_core.util.regular_files import open_regular

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_full", "make_private_directory", "open_private", "tighten"]

_DIRECTORY: Final = 0o700
_FILE: Final = 0o600
_OTHERS: Final = 0o077
_SMALLEST: Final = 4096
"""Bytes without which nothing can be written."""


def make_private_directory(path: Path, *, exist_ok: bool = True) -> None:
    """Create a private directory and its missing parents.

    Directories that are there keep their modes.

    :raises FileExistsError: it is there and `exist_ok` is False, or it is no directory.
    :raises OSError: it cannot be made.
    """
    try:
        path.mkdir(mode=_DIRECTORY)
    except FileNotFoundError:
        make_private_directory(path.parent)
        make_private_directory(path, exist_ok=exist_ok)
    except FileExistsError:
        if not exist_ok or not path.is_dir():
            raise
    else:
        path.chmod(_DIRECTORY)  # a umask may take the person's bits, a directory above may give its own


def open_private(path: Path, flags: int) -> int:
    """Open a regular file that only the person may read, and return its descriptor; links are refused.

    A file that others may read or write is the person's alone from now on, if it is opened to write.

    :param flags: as of `os.open`.
    :raises OSError: it cannot be opened, or something else than a regular file has the name.
    """
    descriptor = open_regular(path, flags | os.O_NOFOLLOW, _FILE)
    try:
        if flags & os.O_ACCMODE != os.O_RDONLY and stat.S_IMODE(os.fstat(descriptor).st_mode) != _FILE:
            os.fchmod(descriptor, _FILE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def tighten(path: Path) -> None:
    """Take the rights of others from a file or directory that is there; a link is left as it is.

    :raises OSError: the file is not the person's.
    """
    mode = path.lstat().st_mode
    if not stat.S_ISLNK(mode) and mode & _OTHERS:
        path.chmod(stat.S_IMODE(mode) & ~_OTHERS)


def is_full(directory: Path) -> bool:
    """Tell whether a directory's disk has no room for a page; a disk that does not say has room."""
    try:
        found = os.statvfs(directory)
    except OSError:
        return False
    return found.f_blocks > 0 and found.f_bavail * found.f_frsize < _SMALLEST
