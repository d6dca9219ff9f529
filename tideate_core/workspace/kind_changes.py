"""Order of writes if a path changes its kind: file, link or directory.

Files and links above or below a new path are removed first, then directories in its place. Applies, rollbacks
and restores use the same order.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tideate_core.workspace.paths import PROTECTED, holds_repository

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from tideate_core.workspace.staging import DirectoryOperation, FileOperation


def in_order(
    files: Iterable[FileOperation],
    made: Iterable[DirectoryOperation],
    removed: Iterable[DirectoryOperation],
) -> tuple[
    list[FileOperation],
    list[DirectoryOperation],
    list[DirectoryOperation],
    list[FileOperation],
    list[DirectoryOperation],
]:
    """Sort operations into execution order.

    :param files: files and links to write or, with an absent image, to remove.
    :param made: directories, outer ones first.
    :param removed: directories, inner ones first.
    :returns: files and directories in the way, new directories, other files, other directories.
    """
    # a moved file is written at its new path before its old path is removed
    files = sorted(files, key=lambda file: file.after.state.kind == "absent")
    made, removed = list(made), list(removed)
    written = {file.path for file in files if file.after.state.kind != "absent"}
    directories = {directory.path for directory in made}
    directories.update(parent for path in (*written, *directories) for parent in path.parents)

    def is_in_the_way(path: Path) -> bool:
        return path in directories or path in written or not written.isdisjoint(path.parents)

    first = [file for file in files if file.path not in written and is_in_the_way(file.path)]
    emptied = [
        directory
        for directory in removed
        if directory.path in written or not written.isdisjoint(directory.path.parents)
    ]
    return (
        first,
        emptied,
        made,
        [file for file in files if file not in first],
        [directory for directory in removed if directory not in emptied],
    )


def non_directory_above(path: Path, root: Path | None) -> tuple[Path, str] | None:
    """Return the outermost file or link on the path to a file and its kind in words, or None."""
    for parent in reversed(path.parents):
        if root is not None and not (parent != root and parent.is_relative_to(root)):
            continue
        try:
            mode = parent.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISDIR(mode):
            return parent, "a symbolic link" if stat.S_ISLNK(mode) else "a file"
    return None


def blocking_entries(directory: Path, going: Collection[Path]) -> tuple[list[Path], Path | None]:
    """Find the files that prevent the removal of a directory.

    :param going: files and links that are removed before.
    :returns: the directories to remove, inner ones first, and one path that stays, if any.
    :raises OSError: a directory cannot be read.
    """
    directories: list[Path] = []
    for path, is_directory in _walk(directory):
        if path.name.casefold() in PROTECTED or (is_directory and holds_repository(path)):
            return [], path
        if is_directory:
            directories.append(path)
        elif path not in going:
            return [], path
    return [*directories[::-1], directory], None


def _walk(top: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the paths below a directory, outer ones first, without following links."""
    with os.scandir(top) as found:
        entries = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)
    for name, is_directory in entries:
        path = top / name
        yield path, is_directory
        if is_directory and name.casefold() not in PROTECTED:
            yield from _walk(path)
