"""Creation of private files and directories, with modes 0600 and 0700 under any umask."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from tideate_core.util.regular_files import open_regular

if TYPE_CHECKING:
    from pathlib import Path

_DIRECTORY: Final = 0o700
_FILE: Final = 0o600
_OTHERS: Final = 0o077
_SMALLEST: Final = 4096
"""Bytes below which a disk counts as full."""


def make_private_directory(path: Path, *, exist_ok: bool = True) -> None:
    """Create a private directory and its missing parents.

    Existing directories keep their modes.

    :raises FileExistsError: it exists and `exist_ok` is False, or it is not a directory.
    :raises OSError: it cannot be created.
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
        path.chmod(_DIRECTORY)  # the umask may remove bits, and the parent directory may pass on its own


def open_private(path: Path, flags: int) -> int:
    """Open a regular file that only the user may read, and return its descriptor; links are rejected.

    If it is opened for writing, other users' permissions are removed.

    :param flags: as for `os.open`.
    :raises OSError: it cannot be opened, or is not a regular file.
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
    """Remove other users' permissions from an existing file or directory; links are left unchanged.

    :raises OSError: the file belongs to another user.
    """
    mode = path.lstat().st_mode
    if not stat.S_ISLNK(mode) and mode & _OTHERS:
        path.chmod(stat.S_IMODE(mode) & ~_OTHERS)


def is_full(directory: Path) -> bool:
    """Return whether a directory's disk has no room for a page; False if unknown."""
    try:
        found = os.statvfs(directory)
    except OSError:
        return False
    return found.f_blocks > 0 and found.f_bavail * found.f_frsize < _SMALLEST
