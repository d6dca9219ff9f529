"""Fingerprints of a directory: content, modes, times and link targets."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

__all__ = ["Marks", "changes", "marks", "shallow_marks"]

Marks = dict[str, tuple[object, ...]]
"""Path relative to the directory → fingerprint."""

MOST_ENTRIES: Final = 1_000
"""Most entries of a directory that are fingerprinted individually; otherwise its own time is used."""


def marks(top: Path, leave_out: Collection[str] = ()) -> Marks:
    """Return the fingerprints of everything below a directory, including contents."""
    found: Marks = {}
    _walk(top, "", found, leave_out, _deep)
    return found


def shallow_marks(top: Path) -> Marks:
    """Return the fingerprints of a path and everything below it, with times instead of contents."""
    try:
        found: Marks = {"": _shallow(os.fspath(top), os.lstat(top))}
    except FileNotFoundError:
        return {}
    if stat.S_ISDIR(os.lstat(top).st_mode):
        _walk(top, "", found, (), _shallow)
    return found


def changes(before: Marks, after: Marks) -> list[str]:
    """Return created, changed or removed names, with the kind of change."""
    told = []
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            told.append(f"{name} made")
        elif name not in after:
            told.append(f"{name} removed")
        elif before[name] != after[name]:
            told.append(f"{name} changed")
    return told


def _walk(
    top: Path | str,
    prefix: str,
    found: Marks,
    leave_out: Collection[str],
    look: Callable[[str, os.stat_result], tuple[object, ...]],
) -> None:
    try:
        with os.scandir(top) as listing:
            entries = [entry for entry, _ in zip(listing, range(MOST_ENTRIES + 1), strict=False)]
    except PermissionError:
        return
    if len(entries) > MOST_ENTRIES:
        return
    for entry in entries:
        name = f"{prefix}{entry.name}"
        if name in leave_out:
            continue
        at = entry.stat(follow_symlinks=False)
        found[name] = look(entry.path, at)
        if stat.S_ISDIR(at.st_mode):
            _walk(entry.path, f"{name}/", found, leave_out, look)


def _shallow(path: str, at: os.stat_result) -> tuple[object, ...]:
    target = os.readlink(path) if stat.S_ISLNK(at.st_mode) else ""  # noqa: PTH115 there may be thousands
    return (at.st_mode, at.st_mtime_ns, at.st_size, target)


def _deep(path: str, at: os.stat_result) -> tuple[object, ...]:
    content = b""
    if stat.S_ISREG(at.st_mode):
        with open(path, "rb") as file:  # noqa: PTH123 the path has no Path yet
            content = hashlib.blake2b(file.read(), digest_size=16).digest()
    return (*_shallow(path, at), content)
