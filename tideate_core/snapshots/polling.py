"""Changes of a project's files since the last look, by the stamps of all paths; no file is read.

A poll works on every file system and needs no watch for each directory. The caller measures its duration, and
can limit its share of a processor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tideate_core.snapshots.entries import above
from tideate_core.snapshots.scan import scan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.snapshots.limits import SnapshotLimits
    from tideate_core.snapshots.listing import Folder


class Changed(NamedTuple):
    """Paths that differ from the last look. Parents of a path are left out."""

    written: frozenset[str]
    gone: frozenset[str]


class ChangePoll:
    """Poll of all paths below a root.

    :param limits: select the ignored directories to enter. A poll does not use git: it never enters a
        directory with a name in `left_out`, even a tracked one.
    """

    def __init__(self, root: Path, limits: SnapshotLimits) -> None:
        self._root = root
        self._limits = limits
        self._folders: Mapping[str, Folder] = {}

    def look(self) -> Changed:
        """Return the changes since the last look; the first look returns all paths; blocking."""
        limits = self._limits
        found = scan(
            self._root,
            None,
            self._folders,
            enter_all=limits.ignored_directories,
            left_out=limits.left_out,
        )
        self._folders = found.folders
        return Changed(_innermost(found.changed), _innermost(found.gone - found.ignored))


def _innermost(paths: Mapping[str, object] | set[str]) -> frozenset[str]:
    return frozenset(paths) - {directory for path in paths for directory in above(path)}
