"""Initial state of a scratch copy: the project at that time, and the files laid over it."""

from __future__ import annotations

import os
import stat
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tideate_core.snapshots.entries import NEVER, above
from tideate_core.snapshots.gitignore import IgnoreQuery
from tideate_core.snapshots.limits import MIB
from tideate_core.snapshots.scratch.cloning import Cloner
from tideate_core.util.private_files import make_private_directory
from tideate_core.workspace import ABSENT, FileImage, is_temporary, read_image

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from tideate_core.snapshots.gitignore import IgnoredPaths


LARGEST_KEPT: Final = MIB
"""Bytes of a file; larger ones are not merged."""
MOST_KEPT: Final = 20_000
MOST_KEPT_BYTES: Final = 256 * MIB


class KeptFiles:
    """Copies made by a thread while the scratch copy is in use, without ignored and large files.

    :param root: of the project.
    :param place: directory to create for them.
    :param began: files changed after this time are not kept; nanoseconds.
    :param without: tideate's own directories below the root.
    """

    def __init__(self, root: Path, place: Path, began: int, without: Collection[Path]) -> None:
        self._root = root
        self._place = place
        self._began = began
        self._without = frozenset(without)
        self._stop = threading.Event()
        make_private_directory(place, exist_ok=False)
        self._thread = threading.Thread(target=self._keep, name="tideate-scratch-keep", daemon=True)
        self._thread.start()

    def image(self, path: str) -> FileImage | None:
        """Return a kept file or link, or None; waits for the thread.

        :raises OSError: it cannot be read.
        """
        self._thread.join()
        found = read_image(self._place / path)
        return found if found.state.kind in {"file", "link"} else None

    def close(self) -> None:
        """Stop the thread."""
        self._stop.set()
        self._thread.join()

    def _keep(self) -> None:
        with IgnoreQuery(self._root) as query:
            ignored = query.answer()
        cloner = Cloner()
        size = 0
        for count, (path, status) in enumerate(self._files(ignored), 1):
            size += status.st_size
            if count > MOST_KEPT or size > MOST_KEPT_BYTES or self._stop.is_set():
                return
            with suppress(OSError):  # removed or unreadable: not kept
                self._copy(path, status, cloner)

    def _files(self, ignored: IgnoredPaths) -> Iterator[tuple[str, os.stat_result]]:
        pending = [""]
        while pending:
            directory = pending.pop()
            for entry in self._entries(directory):
                path = f"{directory}/{entry.name}" if directory else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if not ignored.has_directory(path, entry.name) and self._root / path not in self._without:
                        pending.append(path)
                elif path not in ignored.files and not is_temporary(entry.name):
                    with suppress(OSError):  # removed or unreadable: not kept
                        status = entry.stat(follow_symlinks=False)
                        if self._is_kept(status):
                            yield path, status

    def _entries(self, directory: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self._root / directory) as entries:
                found = [entry for entry in entries if entry.name.casefold() not in NEVER]
        except OSError:
            return []  # removed or unreadable
        return found

    def _is_kept(self, status: os.stat_result) -> bool:
        is_small_file = stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_KEPT
        return (stat.S_ISLNK(status.st_mode) or is_small_file) and status.st_ctime_ns < self._began

    def _copy(self, path: str, status: os.stat_result, cloner: Cloner) -> None:
        source, target = self._root / path, self._place / path
        make_private_directory(target.parent)
        if stat.S_ISLNK(status.st_mode):
            target.symlink_to(source.readlink())
        else:
            cloner.copy(source, target)
            target.chmod(stat.S_IMODE(status.st_mode))
        if source.lstat().st_ctime_ns != status.st_ctime_ns:
            target.unlink()  # it changed during the copy


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
        names = {name for name in names_in(self.root / path) if self.laid.get(f"{path}/{name}") is None}
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

    def _stat(self, path: str) -> os.stat_result | None:
        return lstat(self.root / path)


def names_in(path: Path) -> list[str]:
    """Return the names in a directory; empty if it is missing or unreadable: it could not be deleted."""
    try:
        return os.listdir(path)  # noqa: PTH208 the names are wanted
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def lstat(path: Path) -> os.stat_result | None:
    """Return the status of a path without following it, or None if it does not exist."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_bounded_image(path: Path) -> FileImage:
    """Read the image of a path without following its last component.

    :raises OSError: it cannot be read.
    :raises TooLarge: it is too large.
    """
    if (found := lstat(path)) is not None and found.st_size > LARGEST:
        raise TooLarge
    return read_image(path)
