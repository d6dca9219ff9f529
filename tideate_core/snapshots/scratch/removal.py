"""Removal of directory trees with hostile permissions, depth and names."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def remove_tree(place: Path) -> None:
    """Remove a directory and its content, following no link; a missing directory is accepted.

    Nested directories are first moved to the top, so that no path gets too long and no recursion too deep.

    :raises OSError: a file belongs to another user, or the file system is read-only.
    """
    pending = [place] if os.path.lexists(place) else []
    while pending:
        inner = _empty(pending[-1], place)
        if inner:
            pending += inner
        else:
            pending.pop().rmdir()


def _empty(directory: Path, top: Path) -> list[Path]:
    """Remove a directory's files and move its directories to the top; return their new paths."""
    os.chmod(directory, 0o700)  # noqa: PTH101 of a directory that was found as one
    moved: list[Path] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)  # noqa: PTH108 there are many
                continue
            target = Path(entry.path)
            if directory != top:
                target = top / secrets.token_hex(16)
                os.chmod(entry.path, 0o700)  # noqa: PTH101 to move it one must be able to write to it
                os.rename(entry.path, target)  # noqa: PTH104
            moved.append(target)
    return moved
