"""Initial state of a scratch copy: the project at that time, and the files laid over it."""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING, Final

from tideate_core.snapshots.entries import above
from tideate_core.snapshots.limits import MIB
from tideate_core.workspace import ABSENT, FileImage, read_image

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tideate_core.snapshots.scratch.kept import KeptFiles

LARGEST: Final = 64 * MIB
"""Bytes of a file that is compared."""
_COARSE_CLOCK: Final = getattr(time, "CLOCK_REALTIME_COARSE", None)
"""Linux's clock for file changes; some milliseconds behind."""


class TooLarge(Exception):
    """A file is larger than `LARGEST`."""


class Baseline:
    """Project at the start of a scratch copy, as far as it is unchanged; read only on demand.

    :param root: of the project, real.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.laid: dict[str, FileImage] = {}
        """Files laid over it, by path; an absent image is a deletion."""
        self.made: set[str] = set()
        """Directories created for these files."""
        self.kept: KeptFiles | None = None
        """Copies of the project's files; None if not requested."""
        self.began = time.time_ns() if _COARSE_CLOCK is None else time.clock_gettime_ns(_COARSE_CLOCK)

    def image(self, path: str, *, existed: bool) -> FileImage | None:
        """Return the initial image of a path; None if the project changed it later and it was not kept.

        A directory has the kind `other`.

        :param existed: see `was_changed`.
        :raises OSError: it cannot be read.
        :raises TooLarge: it is too large.
        """
        if (laid := self.laid.get(path)) is not None:
            return laid
        if not self.was_changed(path, existed=existed):
            return self.current(path)
        return None if self.kept is None else self.kept.image(path)

    def current(self, path: str) -> FileImage:
        """Return the current image in the project; blocking.

        :raises OSError: it cannot be read.
        :raises TooLarge: it is too large.
        """
        return read_bounded_image(self.root / path)

    def directory_mode(self, path: str) -> int | None:
        """Return the permission bits of a directory, or None."""
        found = None if path in self.laid else self._stat(path)
        return stat.S_IMODE(found.st_mode) if found is not None and stat.S_ISDIR(found.st_mode) else None

    def was_changed(self, path: str, *, existed: bool) -> bool:
        """Return whether the project's own file or directory changed since the start; blocking.

        :param existed: the scratch copy reports that the path existed, unless it was moved there.
        """
        found = self._stat(path)
        if found is None:
            was_there = existed and self.laid.get(path, FileImage(ABSENT)).state == ABSENT
            return was_there and self._names_were_changed(path)
        if stat.S_ISDIR(found.st_mode):
            return False  # its entries show changes
        return found.st_ctime_ns >= self.began

    def below(self, path: str) -> Iterator[str]:
        """Yield the initial paths directly in a directory."""
        names = {name for name in self._names(path) if self.laid.get(f"{path}/{name}") is None}
        for laid, image in self.laid.items():
            rest = laid.removeprefix(f"{path}/")
            if rest != laid and image.state != ABSENT:
                names.add(rest.partition("/")[0])
        return (f"{path}/{name}" for name in sorted(names))

    def _names_were_changed(self, path: str) -> bool:
        """Return whether a name was created or removed in a path's nearest existing directory."""
        for directory in above(path):
            if (found := self._stat(directory)) is not None:
                return found.st_mtime_ns >= self.began
        return self.root.stat().st_mtime_ns >= self.began

    def _names(self, path: str) -> list[str]:
        try:
            return os.listdir(self.root / path)  # noqa: PTH208 the names are wanted
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return []  # an unreadable directory could not be deleted either

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            return (self.root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None


def read_bounded_image(path: Path) -> FileImage:
    """Read the image of a path without following its last component.

    :raises OSError: it cannot be read.
    :raises TooLarge: it is too large.
    """
    try:
        if path.lstat().st_size > LARGEST:
            raise TooLarge
    except (FileNotFoundError, NotADirectoryError):
        return FileImage(ABSENT)
    return read_image(path)
