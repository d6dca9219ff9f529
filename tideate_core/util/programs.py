"""Programs that are found by their names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def find_on_path(name: str, environment: Mapping[str, str], seen: Path | None = None) -> Path | None:
    """Return the first executable file of a name in PATH, else the first file of any mode.

    Relative directories are skipped: they could make a project's file the program.

    :param seen: location of the namespace's `/` in ours; None for our own.
    """
    first = None
    for directory in environment.get("PATH", os.defpath).split(os.pathsep):
        path = Path(directory) / name
        if not path.is_absolute() or not os.path.isfile(within(seen, path)):  # noqa: PTH113 one may not be entered
            continue
        if os.access(within(seen, path), os.X_OK):
            return path
        first = first or path
    return first


def within(seen: Path | None, path: Path) -> Path:
    """Return a path of a namespace in ours; see `find_on_path`."""
    return path if seen is None else seen / path.relative_to(path.anchor)
