"""Changes in the upper layer of an overlay, read without a mount."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from tideate_core.project import open_directory_below
from tideate_core.snapshots.guarded.difference import Found
from tideate_core.snapshots.guarded.layers import is_opaque, is_whiteout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tideate_core.snapshots.guarded.ignoring import IgnoredNames

DEEPEST: Final = 100
"""Directories above a path; each costs time for all that is below it."""
LONGEST: Final = 3_000
"""Bytes of a path: the system takes 4,096 with that of the layer."""


def changed_in_upper(
    upper: Path, below: Callable[[str], Iterable[str]], names: IgnoredNames
) -> Iterator[Found]:
    """Yield the paths that may differ from the lower layers, outer ones first; blocking.

    :param below: returns the paths that the lower layers have directly in a directory.
    :param names: directories that are reported but not entered.
    :raises OSError: a directory cannot be read.
    """
    pending = [("", False)]
    while pending:
        directory, hides = pending.pop()
        seen: set[str] = set()
        try:
            opaque, entries = _entries(upper, directory)
        except (FileNotFoundError, NotADirectoryError):
            continue  # a running program removed or replaced it
        except PermissionError as error:
            yield Found(directory or ".", upper / directory, problem=f"cannot be read: {error.strerror}")
            continue
        hides = hides or opaque
        for name, kind in entries:
            path = f"{directory}/{name}" if directory else name
            seen.add(path)
            if path.count("/") >= DEEPEST or len(os.fsencode(path)) > LONGEST:
                yield Found(path, upper / path, problem="its path is too long")
                continue
            yield Found(path, None if kind == "gone" else upper / path)
            if kind == "directory" and not names.has(path, directory=True):
                pending.append((path, hides))
        if hides:
            for path in below(directory):
                if path not in seen:
                    yield Found(path, None)


def _entries(upper: Path, directory: str) -> tuple[bool, list[tuple[str, str]]]:
    """Return whether a directory is opaque, and its names with their kinds; links are not followed."""
    with open_directory_below(upper, directory.split("/") if directory else ()) as handle:
        here = f"/proc/self/fd/{handle}"
        with os.scandir(handle) as listed:
            entries = [(entry.name, _kind(here, entry)) for entry in listed]
        return is_opaque(f"{here}/."), sorted(entries)


def _kind(here: str, entry: os.DirEntry[str]) -> str:
    if is_whiteout(f"{here}/{entry.name}", entry.stat(follow_symlinks=False)):
        return "gone"
    return "directory" if entry.is_dir(follow_symlinks=False) else "file"
