"""File copies by the fastest method of the file system."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

FICLONE: Final = 0x40049409
"""Linux's ioctl to share all blocks of a file."""
_NEVER: Final = frozenset(
    {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.ENOTSUP}
)
"""The file systems lack it; other files need not be tried."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Cloner:
    """Copies files; the first one that cannot share its blocks decides for all later ones."""

    def __init__(self) -> None:
        self.shares = True

    def copy(self, source: Path, target: Path) -> None:
        """Copy a regular file's bytes to a new path, following no link.

        :raises OSError: it cannot be read or written.
        """
        if self.shares and self._clone(source, target):
            return
        shutil.copyfile(source, target, follow_symlinks=False)

    def _clone(self, source: Path, target: Path) -> bool:
        try:
            if sys.platform == "darwin":
                _clone_on_macos(source, target)
            elif sys.platform == "linux":
                _clone_on_linux(source, target)
            else:
                self.shares = False
        except OSError as error:
            if error.errno not in _NEVER:
                raise
            self.shares = False
        return self.shares


def _clone_on_linux(source: Path, target: Path) -> None:
    import fcntl

    read = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        write = os.open(target, _NEW, 0o600)
        try:
            fcntl.ioctl(write, FICLONE, read)
        finally:
            os.close(write)
    finally:
        os.close(read)


def _clone_on_macos(source: Path, target: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    no_follow = 1
    if libc.clonefile(os.fsencode(source), os.fsencode(target), no_follow):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def shares_blocks(source: Path, directory: Path) -> bool:
    """Return whether copies between two directories share blocks; blocking.

    :raises OSError: the directories cannot be used.
    """
    cloner = Cloner()
    file = next(
        (Path(entry.path) for entry in os.scandir(source) if entry.is_file(follow_symlinks=False)), None
    )
    if file is None or source.stat().st_dev != directory.stat().st_dev:
        return False
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        cloner.copy(file, Path(folder) / "copy")
    return cloner.shares
