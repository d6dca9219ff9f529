"""Changes in the upper layer of an overlay, read without a mount."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tideate_core.snapshots.guarded.difference import Found
from tideate_core.snapshots.guarded.layers import is_opaque, is_whiteout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tideate_core.snapshots.guarded.ignoring import IgnoredNames


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
        here = upper / directory
        hides = hides or is_opaque(str(here))
        seen: set[str] = set()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except PermissionError as error:
            yield Found(directory or ".", here, problem=f"cannot be read: {error.strerror}")
            continue
        for entry in entries:
            path = f"{directory}/{entry.name}" if directory else entry.name
            seen.add(path)
            gone = is_whiteout(entry.path, entry.stat(follow_symlinks=False))
            yield Found(path, None if gone else upper / path)
            if entry.is_dir(follow_symlinks=False) and not names.has(path, directory=True):
                pending.append((path, hides))
        if hides:
            for path in below(directory):
                if path not in seen:
                    yield Found(path, None)
