"""Changes in an overlay, read from its upper directory without the mount."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.snapshots.scratch.difference import Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.snapshots.scratch.ignoring import IgnoredNames

OPAQUE: Final = "user.overlay.opaque"
ORIGIN: Final = "user.overlay.origin"
"""Attribute of copied-up files; a move keeps it."""
WHITEOUT: Final = "user.overlay.whiteout"


def changed_in_upper(upper: Path, lower: Path, names: IgnoredNames) -> Iterator[Found]:
    """Yield the paths that may differ from the lower directory, outer ones first; blocking.

    :param names: directories that are reported but not entered.
    :raises OSError: a directory cannot be read.
    """
    pending = [("", False)]
    while pending:
        directory, hides = pending.pop()
        here = upper / directory
        hides = hides or _has(here, OPAQUE, b"y")
        seen: set[str] = set()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except PermissionError as error:
            yield Found(directory or ".", here, problem=f"cannot be read: {error.strerror}")
            continue
        for entry in entries:
            seen.add(entry.name)
            path = f"{directory}/{entry.name}" if directory else entry.name
            found = _found(path, Path(entry.path), entry.stat(follow_symlinks=False))
            yield found
            if entry.is_dir(follow_symlinks=False) and not names.has(path, directory=True):
                pending.append((path, hides))
        if hides:
            for name in sorted(_names(lower / directory) - seen):
                yield Found(f"{directory}/{name}", None, existed=True)


def _found(path: str, where: Path, status: os.stat_result) -> Found:
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
        return Found(path, None, existed=True)
    if stat.S_ISREG(status.st_mode) and not status.st_size and _has(where, WHITEOUT):
        return Found(path, None, existed=True)
    return Found(path, where, existed=_has(where, ORIGIN))


def _has(path: Path, name: str, value: bytes | None = None) -> bool:
    """Return whether a path has an attribute, optionally with this value."""
    try:
        found = os.getxattr(path, name, follow_symlinks=False)
    except OSError:
        return False  # none, or a link or device without attributes
    return value is None or found == value


def _names(directory: Path) -> set[str]:
    try:
        return set(os.listdir(directory))  # noqa: PTH208 the names are wanted
    except (FileNotFoundError, NotADirectoryError):
        return set()
