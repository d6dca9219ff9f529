"""Copies of a project's files at the start of a scratch copy, to merge concurrent changes."""

from __future__ import annotations

import os
import stat
import threading
from typing import TYPE_CHECKING, Final

from tideate_core.snapshots.entries import NEVER
from tideate_core.snapshots.gitignore import IgnoreQuery
from tideate_core.snapshots.limits import MIB
from tideate_core.snapshots.scratch.cloning import Cloner
from tideate_core.util.private_files import make_private_directory
from tideate_core.workspace import FileImage, is_temporary, read_image

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from tideate_core.snapshots.gitignore import IgnoredPaths

LARGEST: Final = MIB
"""Bytes of a file; larger ones are not merged."""
MOST: Final = 20_000
MOST_BYTES: Final = 256 * MIB


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
        count = size = 0
        for path, status in self._files(ignored):
            count += 1
            size += status.st_size
            if count > MOST or size > MOST_BYTES or self._stop.is_set():
                return
            try:
                self._copy(path, status, cloner)
            except OSError:
                continue  # removed or unreadable: not kept

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
                    status = self._status(entry)
                    if status is not None:
                        yield path, status

    def _entries(self, directory: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self._root / directory) as entries:
                found = [entry for entry in entries if entry.name.casefold() not in NEVER]
        except OSError:
            return []  # removed or unreadable
        return found

    def _status(self, entry: os.DirEntry[str]) -> os.stat_result | None:
        """Return the status of a path to keep, or None."""
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return None
        kept = stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST)
        return status if kept and status.st_ctime_ns < self._began else None

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
