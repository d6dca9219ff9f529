"""What became of a project's paths since a snapshot, with what it takes to go back."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from tideate_core.workspace import ABSENT, FileImage, OutsideChanges, read_image

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.snapshots.comparing import Comparison, FileDiff, Tree
    from tideate_core.snapshots.entries import Entry
    from tideate_core.snapshots.packs import Packs

__all__ = ["Since", "since"]

_States: TypeAlias = "tuple[FileImage, FileImage]"


@dataclass(frozen=True, slots=True)
class Since(OutsideChanges):
    """What changed since a snapshot; what git ignores is not in it."""

    diffs: list[FileDiff] = field(default_factory=list)


def since(root: Path, found: Comparison, now: Tree, packs: Packs, diffs: list[FileDiff]) -> Since:
    """Read what differs.

    :param diffs: of the same comparison.
    :raises OSError: something cannot be read.
    :raises WorkspaceError: a content of the snapshot is damaged.
    """
    seen = [entry for entry in found.added if not _is_ignored(entry.path, now)]
    pairs: list[tuple[Entry | None, Entry | None]] = [
        *((None, entry) for entry in seen),
        *((entry, None) for entry in found.deleted),
        *((was, entry) for was, entry in found.modified if not _is_ignored(entry.path, now)),
    ]
    told = {entry.path for pair in pairs for entry in pair if entry is not None}
    files: dict[str, _States] = {}
    for was, current in pairs:
        kinds = {entry.kind for entry in (was, current) if entry is not None}
        if kinds != {"directory"} and _changes(was, current):
            path = next(entry.path for entry in (was, current) if entry is not None)
            files[path] = (_then(was, packs), read_image(root / path))
    return Since(
        dict(sorted(files.items())),
        {
            was.path: (was.mode, current.mode)
            for was, current in found.modified
            if was.kind == current.kind != "link" and was.mode != current.mode and was.path in told
        },
        sorted(entry.path for entry in seen if entry.kind == "directory"),
        {entry.path: entry.mode for entry in sorted(found.deleted) if entry.kind == "directory"},
        [diff for diff in diffs if diff.path.rstrip("/") in told],
    )


def _is_ignored(path: str, now: Tree) -> bool:
    return path in now.ignored_files or path in now.ignored


def _changes(was: Entry | None, now: Entry | None) -> bool:
    return was is None or now is None or not now.holds_same_as(was)


def _then(was: Entry | None, packs: Packs) -> FileImage:
    if was is None or was.kind == "directory":
        return FileImage(ABSENT)
    if was.kind == "link":
        return FileImage.of_link(os.fsencode(was.target))
    return FileImage.of_file(packs.read(was.hash), was.mode)
