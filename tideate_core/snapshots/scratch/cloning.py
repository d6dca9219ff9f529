"""File copies by the fastest method of the file system."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

FICLONE: Final = 0x40049409
"""Linux's ioctl to share all blocks of a file."""
_NEVER: Final = frozenset(
    {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.ENOTSUP}
)
"""The file systems lack it; other files need not be tried."""
_CHUNK: Final = 1 << 24
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Cloner:
    """Copies files; the first one that cannot share its blocks decides for all later ones."""

    def __init__(self) -> None:
        self.shares = sys.platform in {"darwin", "linux"}

    def copy(self, source: Path | str, target: Path | str) -> None:
        """Copy a regular file's bytes to a new path, following no link.

        :raises OSError: it cannot be read or written.
        """
        if sys.platform == "darwin" and self.shares and self._shared(_clone_on_macos, source, target):
            return
        read = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            write = os.open(target, _NEW, 0o600)
            try:
                self.copy_open(read, write)
            finally:
                os.close(write)
        finally:
            os.close(read)

    def copy_open(self, read: int, write: int) -> None:
        """Copy a regular file's bytes to an empty file, both given by descriptors.

        :raises OSError: it cannot be read or written.
        """
        if sys.platform == "linux" and self.shares and self._shared(_clone_on_linux, read, write):
            return
        if sys.platform == "linux":
            while os.sendfile(write, read, None, _CHUNK):
                pass
            return
        while data := os.read(read, _CHUNK):
            while data:
                data = data[os.write(write, data) :]

    def _shared(self, clone: Callable[[Any, Any], None], source: object, target: object) -> bool:
        try:
            clone(source, target)
        except OSError as error:
            if error.errno not in _NEVER:
                raise
            self.shares = False
        return self.shares


def _clone_on_linux(read: int, write: int) -> None:
    import fcntl

    fcntl.ioctl(write, FICLONE, read)


def _clone_on_macos(source: Path | str, target: Path | str) -> None:
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
