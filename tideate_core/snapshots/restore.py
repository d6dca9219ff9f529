"""Restore of a snapshot, all or nothing, even if the process is killed.

It has two journalled steps: removals, then writes. The journal of a finished restore is renamed at once; one
that still has its name belongs to a killed process and is rolled back before the next write.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.errors import EditConflict, RollbackConflict, TideateError, WorkspaceError
from tideate_core.snapshots.compare import image_of
from tideate_core.snapshots.entries import Below, above, checked_path
from tideate_core.snapshots.packs import digest
from tideate_core.util.atomic_files import fsync_directory
from tideate_core.workspace import (
    ABSENT,
    CommittedPlan,
    Committer,
    DirectoryOperation,
    FileEntry,
    FileImage,
    FileOperation,
    Journal,
    ModeOperation,
    Root,
    WritePlan,
    read_image,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.snapshots.compare import Comparison, Tree
    from tideate_core.snapshots.entries import Entry
    from tideate_core.snapshots.packs import Packs
    from tideate_core.workspace import Buffers


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
    files = [was for was, _ in restore.written if was.kind == "file"]
    files.sort(key=lambda entry: packs.order(entry.hash))  # read each frame once
    contents = {entry.path: image_of(entry, packs) for entry in files}
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


def _operation(root: Path, entry: Entry, now: Entry | None, after: FileImage) -> FileOperation:
    path = root / entry.path
    try:
        before = read_image(path)
    except OSError as error:
        raise WorkspaceError(
            f"{entry.path} cannot be read: {error.strerror}; nothing was restored"
        ) from error
    if not _matches(before, now):
        raise EditConflict(f"{entry.path} changed just now, so nothing was restored; try again")
    return FileOperation(entry.path, path, before, after)


def _matches(found: FileImage, expected: Entry | None) -> bool:
    if expected is None:
        return found.state.kind == "absent"
    if found.state.kind != expected.kind:
        return False
    if expected.kind == "link":
        return found.data == os.fsencode(expected.target)
    return digest(found.data) == expected.hash


_DONE: Final = ".done"


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """Result of a restore. Directories end with ``/``."""

    snapshot: str
    before: str | None
    """Snapshot created before the restore; None if there was no difference."""
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """Created after the snapshot, and kept."""
    left: dict[str, str] = field(default_factory=dict)
    """Paths that were not restored, with the reason."""


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """Result of rolling back restores of killed processes."""

    restored: tuple[str, ...]
    left: tuple[str, ...]
    """Conflicts that were left unchanged, with the reason."""


class Restorer:
    """Writes restores of one project and rolls back interrupted ones. The caller holds the lock.

    :param directory: of the snapshots; the journal is below it, apart from the journal of runs.
    """

    def __init__(self, root: Path, directory: Path, buffers: Buffers | None) -> None:
        self._root = root
        self._journal = Journal(directory)
        self._records = directory / "journal"
        self._committer = Committer(Root(root), buffers, self._journal)

    async def restore(self, plan: RestorePlan, packs: Packs, run: str) -> None:
        """Execute a restore, or raise and leave everything unchanged.

        :param run: name of its journal.
        :raises EditConflict: a file changed meanwhile.
        :raises WorkspaceError: a file cannot be written.
        """
        first = await asyncio.to_thread(plan_removal, self._root, plan)
        done = [await self._committer.commit(first, run)] if first else []
        try:
            second = await asyncio.to_thread(plan_writing, self._root, plan, packs)
            if second:
                done.append(await self._committer.commit(second, run))
        except (OSError, TideateError) as error:
            await self._revert_after(error, done)
            raise
        if done:
            await asyncio.to_thread(self._close_journal, run)

    def interrupted_paths(self) -> list[str]:
        """Return the paths that `recover` would roll back; blocking.

        :raises WorkspaceError: the journal is damaged.
        """
        found: dict[str, None] = {}
        for run in self._interrupted():
            for record in self._journal.records(run):
                found |= {e.path: None for e in record.manifest.entries if isinstance(e, FileEntry)}
        return sorted(found)

    async def recover(self) -> tuple[list[str], list[str]]:
        """Roll back the writes of interrupted restores.

        :returns: restored paths, and conflicts that were left unchanged.
        """
        names, left = list[str](), list[str]()
        for run in await asyncio.to_thread(self._interrupted):
            for record in reversed(await asyncio.to_thread(self._journal.records, run)):
                kept: tuple[str, ...] = ()
                try:
                    await self._committer.revert(CommittedPlan(record))
                except RollbackConflict as conflict:
                    left.append(str(conflict))
                    kept = conflict.names
                    await asyncio.to_thread(self._journal.drop, record)
                files = [entry.path for entry in record.manifest.entries if isinstance(entry, FileEntry)]
                names += [name for name in files if name not in kept]
            await asyncio.to_thread(shutil.rmtree, self._records / run, ignore_errors=True)
        for ended in self._records.glob(f"*{_DONE}"):
            await asyncio.to_thread(shutil.rmtree, ended, ignore_errors=True)
        return names, left

    async def _revert_after(self, error: Exception, done: Sequence[CommittedPlan]) -> None:
        try:
            for committed in reversed(done):
                await self._committer.revert(committed)
        except (OSError, TideateError) as failure:
            raise WorkspaceError(
                f"{error}. Not everything could be rolled back ({failure}); the snapshot that was made "
                "before the restore has it: `tideate snapshot list`"
            ) from error

    def _close_journal(self, run: str) -> None:
        directory = self._records / run
        ended = directory.with_name(run + _DONE)
        directory.rename(ended)
        fsync_directory(self._records)
        shutil.rmtree(ended, ignore_errors=True)

    def _interrupted(self) -> list[str]:
        if not self._records.is_dir():
            return []
        return sorted(path.name for path in self._records.iterdir() if not path.name.endswith(_DONE))


def restore_result(snapshot_id: str, before: str | None, plan: RestorePlan) -> RestoreResult:
    """Return the result of a completed plan."""

    def name(entry: Entry) -> str:
        return entry.path + "/" if entry.kind == "directory" else entry.path

    return RestoreResult(
        snapshot_id,
        before,
        tuple(name(was) for was, _ in plan.written),
        tuple(sorted(name(entry) for entry in plan.deleted)),
        tuple(sorted(plan.added)),
        plan.left,
    )
