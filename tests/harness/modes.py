"""Modes of files below a directory, and programs that are run with another umask."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["UMASKS", "new_mode", "umask", "wider_than_private"]

UMASKS = (0o000, 0o002, 0o022, 0o077)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    """Have a umask, which programs that are started meanwhile inherit."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def wider_than_private(top: Path) -> list[str]:
    """Return the files below a directory that others can access, with their modes.

    Programs in scratch copies keep the modes that they have in the project.
    """
    found = []
    for path in (top, *sorted(top.rglob("*"))):
        mode = stat.S_IMODE(path.lstat().st_mode)
        allowed = 0o700 if path.is_dir() or "scratch" in path.relative_to(top).parts else 0o600
        if not path.is_symlink() and mode & ~allowed:
            found.append(f"{path.relative_to(top)} {mode:o}")
    return found


def new_mode(wanted: int = 0o666) -> int:
    """Return the mode that a new file has here."""
    mask = os.umask(0)
    os.umask(mask)
    return wanted & ~mask
