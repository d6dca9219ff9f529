"""Find the files and directories that block a path from becoming a file, link or directory."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tideate_core.workspace.paths import PROTECTED, holds_repository

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path


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
