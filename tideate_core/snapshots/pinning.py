"""Who still needs a snapshot, so that it is not tidied away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.snapshots.manifest import find, headers, parts, write

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["pinned", "released"]


def pinned(directory: Path, snapshot_id: str, by: str) -> None:
    """Note in a snapshot who needs it. The caller has the lock.

    :raises SnapshotNotFound: there is none with this id.
    :raises WorkspaceError: it is damaged.
    :raises OSError: it cannot be written.
    """
    header, rest = parts(find(directory, snapshot_id))
    if by not in header.pinned:
        write(directory, header.model_copy(update={"pinned": (*header.pinned, by)}), rest)


def released(directory: Path, by: str) -> None:
    """Take a name out of all snapshots that note it. The caller has the lock.

    :raises WorkspaceError: one is damaged.
    :raises OSError: one cannot be written.
    """
    for found in headers(directory)[0]:
        if by in found.pinned:
            header, rest = parts(find(directory, found.id))
            others = tuple(one for one in header.pinned if one != by)
            write(directory, header.model_copy(update={"pinned": others}), rest)
