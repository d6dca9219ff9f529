"""Planning of a restore: paths to delete, to write and to leave, with the reasons; writes nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict, WorkspaceError
from tideate_core.snapshots.compare import image_of
from tideate_core.snapshots.entries import Below, above, checked_path
from tideate_core.snapshots.packs import digest
from tideate_core.workspace import (
    ABSENT,
    DirectoryOperation,
    FileImage,
    FileOperation,
    ModeOperation,
    WritePlan,
    read_image,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tideate_core.snapshots.compare import Comparison, Tree
    from tideate_core.snapshots.entries import Entry
    from tideate_core.snapshots.packs import Packs

_NEW = 0o755
_IGNORED = "git ignores it, so it was not deleted"


@dataclass(slots=True)
class RestorePlan:
    """Paths of a restore."""

    written: list[tuple[Entry, Entry | None]] = field(default_factory=list)
    """Entries to write, including directories, each with the current one."""
    deleted: list[Entry] = field(default_factory=list)
    """Created after the snapshot."""
    cleared: list[Entry] = field(default_factory=list)
    """Entries to remove because their kind differs."""
    added: list[str] = field(default_factory=list)
    """Created after the snapshot, and kept."""
    left: dict[str, str] = field(default_factory=dict)
    """Paths that are not restored, with the reason."""

    def __bool__(self) -> bool:
        return bool(self.written or self.deleted)

    @property
    def touched(self) -> list[str]:
        """Files and links that will change or be removed."""
        others = (was for was, now in self.written if now is None or not now.holds_same_as(was))
        entries = (*others, *self.deleted, *self.cleared)
        return list(dict.fromkeys(entry.path for entry in entries if entry.kind != "directory"))


def plan_restore(found: Comparison, now: Tree, *, delete_added: bool) -> RestorePlan:
    """Decide on every differing path.

    :raises OutsideRoot: the snapshot contains a protected path.
    """
    result = RestorePlan(left=dict(found.left))
    kept = _deletions(found.added, now, result, delete_added=delete_added)
    for was in found.deleted:
        result.written.append((was, None))
    for was, current in found.modified:
        if current.kind == "directory" != was.kind:
            if was.path in kept:
                result.left[was.path] = "a directory is there now, with files made since"
                continue
            result.cleared.append(current)
        elif was.kind == "directory" != current.kind:
            result.cleared.append(current)
        result.written.append((was, current))
    for was, _ in result.written:
        checked_path(was.path)
    result.written.sort(key=lambda pair: pair[0].path)
    return result


def _deletions(added: list[Entry], now: Tree, result: RestorePlan, *, delete_added: bool) -> set[str]:
    """Sort newer paths into deleted and kept; return the directories with kept content."""
    ignored = Below(now.ignored)
    stays = set(now.ignored) | set(now.skipped)
    for entry in added:
        if entry.kind == "directory":
            continue
        if not delete_added:
            result.added.append(entry.path)
        elif entry.path in ignored or entry.path in now.ignored_files:
            result.left[entry.path] = _IGNORED
        else:
            result.deleted.append(entry)
            continue
        stays.add(entry.path)
    kept = {directory for path in stays for directory in above(path)}
    for entry in added:
        if entry.kind == "directory":
            if delete_added and entry.path not in kept and entry.path not in ignored:
                result.deleted.append(entry)
            else:
                result.added.append(entry.path + "/")
                kept.update(above(entry.path))
    return kept


def plan_removal(root: Path, restore: RestorePlan) -> WritePlan:
    """Return the removals, which come first.

    :raises EditConflict: a file changed meanwhile.
    """
    going = [*restore.deleted, *restore.cleared]
    plan = WritePlan(
        files=[
            _operation(root, entry, entry, FileImage(ABSENT)) for entry in going if entry.kind != "directory"
        ]
    )
    directories = [entry for entry in going if entry.kind == "directory"]
    plan.removed = [
        DirectoryOperation(root / entry.path, entry.mode)
        for entry in sorted(directories, key=lambda entry: entry.path, reverse=True)
    ]
    return plan


def plan_writing(root: Path, restore: RestorePlan, packs: Packs) -> WritePlan:
    """Return the writes, which follow the removals.

    :raises EditConflict: a file changed meanwhile.
    :raises WorkspaceError: a content is damaged.
    """
    plan, directories = WritePlan(), list[ModeOperation]()
    cleared = {entry.path for entry in restore.cleared}
    contents = _contents(packs, (was for was, _ in restore.written))
    for was, now in restore.written:
        path, there = root / was.path, None if was.path in cleared else now
        if was.kind == "directory":
            if there is None:
                plan.made.append(DirectoryOperation(path, was.mode))
            # a created directory starts with a writable mode
            directories.append(ModeOperation(path, _NEW if there is None else there.mode, was.mode))
            continue
        if there is None or not there.holds_same_as(was):
            after = contents.get(was.path) or FileImage.of_link(os.fsencode(was.target))
            plan.files.append(_operation(root, was, there, after))
        if there is not None and there.kind == was.kind == "file" and there.mode != was.mode:
            plan.modes.append(ModeOperation(path, there.mode, was.mode))
    plan.modes += reversed(directories)  # inner ones first: the mode of an outer directory may forbid access
    return plan


def _contents(packs: Packs, entries: Iterable[Entry]) -> dict[str, FileImage]:
    """Read contents pack by pack, frame by frame."""
    files = sorted(
        (entry for entry in entries if entry.kind == "file"), key=lambda entry: packs.order(entry.hash)
    )
    return {entry.path: image_of(entry, packs) for entry in files}


def _operation(root: Path, entry: Entry, now: Entry | None, after: FileImage) -> FileOperation:
    path = root / entry.path
    try:
        before = read_image(path)
    except OSError as error:
        raise WorkspaceError(
            f"{entry.path} cannot be read: {error.strerror}; nothing was restored"
        ) from error
    if not _is(before, now):
        raise EditConflict(f"{entry.path} changed just now, so nothing was restored; try again")
    return FileOperation(entry.path, path, before, after)


def _is(found: FileImage, expected: Entry | None) -> bool:
    if expected is None:
        return found.state.kind == "absent"
    if found.state.kind != expected.kind:
        return False
    if expected.kind == "link":
        return found.data == os.fsencode(expected.target)
    return digest(found.data) == expected.hash
