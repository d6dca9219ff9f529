"""Changes in a real copy, detected by the stamps of its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.snapshots.scratch.copying import stamp_of
from tideate_core.snapshots.scratch.difference import Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.snapshots.scratch.copying import Copied
    from tideate_core.snapshots.scratch.ignoring import IgnoredNames


def changed_in_copy(tree: Path, copied: Copied, names: IgnoredNames) -> Iterator[Found]:
    """Yield the paths that may differ from the original, outer ones first; blocking.

    :param names: for ignored directories, only the outermost one is reported if its content changed.
    :raises OSError: the copy cannot be read.
    """
    return _Walk(tree, copied, names).found()


class _Walk:
    def __init__(self, tree: Path, copied: Copied, names: IgnoredNames) -> None:
        self._tree = tree
        self._copied = copied
        self._names = names
        self._missing = set(copied.stamps) - {""}

    def found(self) -> Iterator[Found]:
        pending = [""]
        while pending:
            directory = pending.pop()
            try:
                entries = list(self._entries(directory))
            except PermissionError as error:
                self._missing = {path for path in self._missing if not path.startswith(f"{directory}/")}
                yield Found(directory or ".", None, problem=f"cannot be read: {error.strerror}")
                continue
            for path, entry in entries:
                is_directory = entry.is_dir(follow_symlinks=False)
                if is_directory and self._names.has(path, directory=True):
                    changed = self._has_changes(path, entry)
                else:
                    changed = self._differs(path, entry)
                    pending += [path] if is_directory else []
                if changed:
                    yield Found(path, Path(entry.path), existed=path in self._copied.stamps)
        for path in sorted(self._missing):
            yield Found(path, None, existed=True)
        for path in sorted(self._copied.linked):
            if not (self._tree / path).is_symlink():
                yield Found(path, None, existed=True)

    def _entries(self, directory: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        for entry in sorted(os.scandir(self._tree / directory), key=lambda entry: entry.name):
            path = f"{directory}/{entry.name}" if directory else entry.name
            if not (path in self._copied.linked and entry.is_symlink()):
                yield path, entry

    def _differs(self, path: str, entry: os.DirEntry[str]) -> bool:
        self._missing.discard(path)
        return self._copied.stamps.get(path) != stamp_of(entry.stat(follow_symlinks=False))

    def _has_changes(self, directory: str, entry: os.DirEntry[str]) -> bool:
        """Return whether anything in a directory changed; marks all of it as seen."""
        changed = self._differs(directory, entry)
        pending = [directory]
        while pending:
            try:
                entries = list(self._entries(pending.pop()))
            except PermissionError:
                changed = True  # it was readable when it was copied
                continue
            for path, inner in entries:
                changed = self._differs(path, inner) or changed
                pending += [path] if inner.is_dir(follow_symlinks=False) else []
        gone = {path for path in self._missing if path.startswith(f"{directory}/")}
        self._missing -= gone
        return changed or bool(gone)
