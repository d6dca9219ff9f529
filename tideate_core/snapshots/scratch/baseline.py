"""The state that a scratch copy began with: the project at that time, and the files laid over it."""

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

__all__ = ["LARGEST", "Baseline", "TooLarge", "read_bounded_image"]

LARGEST: Final = 64 * MIB
"""Bytes of a file whose two sides are read."""
_COARSE_CLOCK: Final = getattr(time, "CLOCK_REALTIME_COARSE", None)
"""The clock by which Linux dates changes of files; it is some milliseconds behind."""


class TooLarge(Exception):
    """A file has more bytes than `LARGEST`."""


class Baseline:
    """The project as a scratch copy began, as far as it still stands; nothing of it was read then.

    :param root: of the project, real.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.laid: dict[str, FileImage] = {}
        """What was laid over, by path; an absent image was deleted."""
        self.made: set[str] = set()
        """Directories that had to be made for it."""
        self.kept: KeptFiles | None = None
        """Copies of the project's files; None where that was not wanted."""
        self.began = time.time_ns() if _COARSE_CLOCK is None else time.clock_gettime_ns(_COARSE_CLOCK)

    def image(self, path: str, *, existed: bool) -> FileImage | None:
        """Return what stood at a path; None: it was changed in the project since, and was not kept.

        Of a directory the kind is `other`.

        :param existed: as of `was_changed`.
        :raises OSError: it cannot be read.
        :raises TooLarge: it is.
        """
        if (laid := self.laid.get(path)) is not None:
            return laid
        if not self.was_changed(path, existed=existed):
            return self.current(path)
        return None if self.kept is None else self.kept.image(path)

    def current(self, path: str) -> FileImage:
        """Return what stands in the project now; blocking.

        :raises OSError: it cannot be read.
        :raises TooLarge: it is.
        """
        return read_bounded_image(self.root / path)

    def directory_mode(self, path: str) -> int | None:
        """Return the permission bits of a directory, None where there was none."""
        found = None if path in self.laid else self._stat(path)
        return stat.S_IMODE(found.st_mode) if found is not None and stat.S_ISDIR(found.st_mode) else None

    def was_changed(self, path: str, *, existed: bool) -> bool:
        """Tell whether the project's own file or directory was changed since; blocking.

        :param existed: the scratch copy says that something stood there, unless it was moved there.
        """
        found = self._stat(path)
        if found is None:
            was_there = existed and self.laid.get(path, FileImage(ABSENT)).state == ABSENT
            return was_there and self._names_were_changed(path)
        if stat.S_ISDIR(found.st_mode):
            return False  # what is in it tells
        return found.st_ctime_ns >= self.began

    def below(self, path: str) -> Iterator[str]:
        """Return what stood in a directory, without what was in its directories."""
        names = {name for name in self._names(path) if self.laid.get(f"{path}/{name}") is None}
        for laid, image in self.laid.items():
            rest = laid.removeprefix(f"{path}/")
            if rest != laid and image.state != ABSENT:
                names.add(rest.partition("/")[0])
        return (f"{path}/{name}" for name in sorted(names))

    def _names_were_changed(self, path: str) -> bool:
        """Tell whether anything was made or removed in the project's directory of a path, or it went, too."""
        for directory in above(path):
            if (found := self._stat(directory)) is not None:
                return found.st_mtime_ns >= self.began
        return self.root.stat().st_mtime_ns >= self.began

    def _names(self, path: str) -> list[str]:
        try:
            return os.listdir(self.root / path)  # noqa: PTH208 the names are wanted
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return []  # what cannot be read could not be deleted either

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            return (self.root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None


def read_bounded_image(path: Path) -> FileImage:
    """Read the image of a path without following its last name.

    :raises OSError: it cannot be read.
    :raises TooLarge: it is.
    """
    try:
        if path.lstat().st_size > LARGEST:
            raise TooLarge
    except (FileNotFoundError, NotADirectoryError):
        return FileImage(ABSENT)
    return read_image(path)
