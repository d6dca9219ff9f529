"""Changes in the upper layer of an overlay, read without a mount."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from tideate_core.project import open_directory_below
from tideate_core.snapshots.guarded.difference import Found
from tideate_core.snapshots.guarded.layers import is_opaque, is_whiteout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tideate_core.snapshots.guarded.ignoring import IgnoredNames

DEEPEST: Final = 100
"""Directories above a path; each costs time for all that is below it."""
LONGEST: Final = 3_000
"""Bytes of a path: the system takes 4,096 with that of the layer."""
AT_ONCE: Final = 1_000
"""Paths that git is asked about at once."""


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
            with open_directory_below(upper, directory.split("/") if directory else ()) as handle:
                here = f"/proc/self/fd/{handle}"
                hides = hides or is_opaque(f"{here}/.")
                with os.scandir(handle) as listed:
                    present = sorted(entry.name for entry in listed)
                for found, is_directory in _entries(upper, directory, present, here, names):
                    seen.add(found.path)
                    yield found
                    if is_directory and not names.has(found.path, directory=True):
                        pending.append((found.path, hides))
        except (FileNotFoundError, NotADirectoryError):
            continue  # a running program removed or replaced it
        except PermissionError as error:
            yield Found(directory or ".", upper / directory, problem=f"cannot be read: {error.strerror}")
            continue
        if hides:
            for path in below(directory):
                if path not in seen:
                    yield Found(path, None)


def _entries(
    upper: Path, directory: str, present: Sequence[str], here: str, names: IgnoredNames
) -> Iterator[tuple[Found, bool]]:
    """Yield the entries of a directory, and whether to enter them; links are not followed.

    :param present: their names, of which there may be a million.
    :param here: the directory for this process.
    """
    prefix = f"{directory}/" if directory else ""
    for at in range(0, len(present), AT_ONCE):
        part = present[at : at + AT_ONCE]
        kinds = [_kind(f"{here}/{name}") for name in part]
        paths = [prefix + name for name in part]
        names.look_up([(path, kind == "directory") for path, kind in zip(paths, kinds, strict=True)])
        for path, kind in zip(paths, kinds, strict=True):
            if path.count("/") >= DEEPEST or len(os.fsencode(path)) > LONGEST:
                yield Found(path, upper / path, problem="its path is too long"), False
            else:
                yield Found(path, None if kind == "gone" else upper / path), kind == "directory"


def _kind(path: str) -> str:
    try:
        status = os.lstat(path)
    except FileNotFoundError:  # a running program removed it
        return "gone"
    if is_whiteout(path, status):
        return "gone"
    return "directory" if stat.S_ISDIR(status.st_mode) else "file"
