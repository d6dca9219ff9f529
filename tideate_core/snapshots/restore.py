"""Restore of a snapshot, all of it or nothing, also when the process is killed in the middle.

It is written in two steps, each journalled: first what goes, then what comes. The journal of a restore that
came to its end is renamed in one go; one that still has its name is of a process that was killed, and is
rolled back when the person asks for something that writes.
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

__all__ = ["RecoveryResult", "RestoreResult", "Restorer", "restore_result"]

_DONE: Final = ".done"


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """Result of a restore. Directories have a ``/`` at their end."""

    snapshot: str
    before: str | None
    """Snapshot of the files as they stood until then, to go back to; None if nothing differed."""
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """Made since the snapshot, and left where they are."""
    left: dict[str, str] = field(default_factory=dict)
    """Reasons, by path, why it is not as it was."""


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """Result of rolling back restores whose process was killed."""

    restored: tuple[str, ...]
    left: tuple[str, ...]
    """Reasons for what was changed since and stays as it is."""


class Restorer:
    """Writes restores of one project, and rolls back those that were interrupted. The caller has the lock.

    :param directory: of the snapshots; the journal is below it, apart from the one of runs.
    """

    def __init__(self, root: Path, directory: Path, buffers: Buffers | None) -> None:
        self._root = root
        self._journal = Journal(directory)
        self._records = directory / "journal"
        self._committer = Committer(Root(root), buffers, self._journal)

    async def restore(self, plan: RestorePlan, packs: Packs, run: str) -> None:
        """Do a restore, or raise and leave everything as it was.

        :param run: what it is journalled as.
        :raises EditConflict: a file changed meanwhile.
        :raises WorkspaceError: something cannot be written.
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
        """Return the paths that `recover` would roll back; blocking, and nothing is written.

        :raises WorkspaceError: the journal is damaged.
        """
        found: dict[str, None] = {}
        for run in self._interrupted():
            for record in self._journal.records(run):
                found |= {e.path: None for e in record.manifest.entries if isinstance(e, FileEntry)}
        return sorted(found)

    async def recover(self) -> tuple[list[str], list[str]]:
        """Roll back what interrupted restores wrote.

        :returns: paths that were rolled back, and those that somebody changed since: they stay as they are.
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
    """Return what was done, where all that was chosen was."""

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
