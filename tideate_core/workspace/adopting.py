"""Counting changes as a run's that something else made: a check that formats files, say."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.workspace.journal import (
    DirectoryEntry,
    Entry,
    FileEntry,
    Images,
    Journal,
    ModeEntry,
    RemovedEntry,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workspace.files import FileImage
    from tideate_core.workspace.paths import Root

__all__ = ["OutsideChanges", "adopt"]


@dataclass(frozen=True, slots=True)
class OutsideChanges:
    """Changes that something else than a run made; paths relative to the root."""

    files: dict[str, tuple[FileImage, FileImage]] = field(default_factory=dict)
    """What stood there before, and what does now: files and links."""
    modes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Permission bits before and now, of what stood there all the time."""
    made: list[str] = field(default_factory=list)
    """Directories, outer ones first."""
    removed: dict[str, int] = field(default_factory=dict)
    """Directories with their permission bits, outer ones first."""

    def __bool__(self) -> bool:
        return bool(self.files or self.modes or self.made or self.removed)


def adopt(root: Root, journal: Journal, changes: OutsideChanges, run: str, step: str | None) -> list[Path]:
    """Journal the changes as an apply of the run, which wrote them already; returns the files.

    :raises OutsideRoot: a path is one that no workflow touches.
    :raises WorkspaceError: it cannot be written.
    """
    none = Images()
    entries: list[tuple[Entry, Images]] = []
    paths: list[Path] = []

    def name(path: str) -> str:
        return root.relative(root.entry(path))

    entries += [(DirectoryEntry(path=name(path)), none) for path in changes.made]
    for path, (before, after) in changes.files.items():
        if "other" in (before.state.kind, after.state.kind):
            continue  # of a directory or a device there is no image
        paths.append(root.entry(path))
        temp = f".tideate-{secrets.token_hex(8)}.tmp"  # nothing has this name
        entry = FileEntry(path=name(path), before=before.state, after=after.state, temp=temp)
        kept = after.data if after.state.kind == "file" else None
        entries.append((entry, Images(before.data, kept)))
    # the journal goes back from the last one: outer directories are made again first
    entries += [(RemovedEntry(path=name(path), mode=mode), none) for path, mode in changes.removed.items()][
        ::-1
    ]
    entries += [
        (ModeEntry(path=name(path), before=then, after=now), none)
        for path, (then, now) in changes.modes.items()
    ]
    if entries:
        journal.record(run, [entry for entry, _ in entries], [image for _, image in entries], step)
    return paths
