"""Restore of a snapshot, all or nothing, even if the process is killed.

It has two journalled steps: removals, then writes. The journal of a finished restore is renamed at once; one
that still has its name belongs to a killed process and is rolled back before the next write.
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.errors import RollbackConflict, TideateError, WorkspaceError
from tideate_core.snapshots.restore_plan import plan_removal, plan_writing
from tideate_core.util.atomic_files import fsync_directory
from tideate_core.workspace import CommittedPlan, Committer, FileEntry, Journal, Root

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.snapshots.entries import Entry
    from tideate_core.snapshots.packs import Packs
    from tideate_core.snapshots.restore_plan import RestorePlan
    from tideate_core.workspace import Buffers

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
                    await self._committer.revert(CommittedPlan(record, (), ()))
                except RollbackConflict as conflict:
                    left.append(str(conflict))
                    kept = conflict.names
                    await asyncio.to_thread(self._journal.drop, record)
                files = [entry.path for entry in record.manifest.entries if isinstance(entry, FileEntry)]
                names += [name for name in files if name not in kept]
            await asyncio.to_thread(shutil.rmtree, self._records / run, ignore_errors=True)
        await asyncio.to_thread(self._remove_done)
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

    def _remove_done(self) -> None:
        for path in self._records.glob(f"*{_DONE}"):
            shutil.rmtree(path, ignore_errors=True)


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
