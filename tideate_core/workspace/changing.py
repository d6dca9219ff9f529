"""Making a run's changes and taking them back: what a workspace does beside reading."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workspace.commit import MAX_REBASES, Committer
from tideate_core.workspace.journal import FamilyJournal, Journal
from tideate_core.workspace.rollback import Rollback, written_by
from tideate_core.workspace.staging import Stager

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from tideate_core.workspace.adopting import OutsideChanges
    from tideate_core.workspace.buffers import Buffers
    from tideate_core.workspace.commit import Committed
    from tideate_core.workspace.edits import FileChange
    from tideate_core.workspace.paths import Root
    from tideate_core.workspace.staging import Plan
    from tideate_core.workspace.unwound import TakenBack

__all__ = ["Applied", "Changing"]


@dataclass(frozen=True, slots=True)
class Applied:
    """What one `Workspace.apply` wrote."""

    execution_id: str
    paths: tuple[str, ...]
    """Where changes were made, in the order they were given; a moved file's is its new one."""
    rebased: tuple[str, ...] = ()
    """Of these, files and buffers that a person had changed elsewhere meanwhile."""
    committed: Committed | None = None
    """None if there was nothing to write."""


class Changing:
    """All or nothing, journalled first; `Workspace` says what each of these promises.

    :param private: gives the directory in which the journal is kept, made if it is missing.
    :param step: of the run, that writes.
    """

    def __init__(
        self, root: Root, buffers: Buffers | None, private: Callable[[], Path], step: str | None
    ) -> None:
        self._root = root
        self._buffers = buffers
        self._private = private
        self._step = step

    async def apply(self, changes: Sequence[FileChange], execution_id: str) -> Applied:
        plan = await Stager(self._root, self._buffers).stage(changes)
        if not (plan.files or plan.buffers or plan.moves):
            return Applied(execution_id, ())
        committer = self._committer()
        writing = self._written(committer, plan, changes, execution_id)
        committed = await run_uncancelled(writing, revert=committer.put_back)
        wanted = [change for change in changes if change.action != "modify" or change.before != change.after]
        paths = tuple(change.move_to or change.path for change in wanted)
        rebased = [done.change.path for done in committed.buffers if done.before != done.change.before]
        rebased += committed.rebased
        return Applied(execution_id, paths, tuple(rebased), committed)

    async def _written(
        self, committer: Committer, plan: Plan, changes: Sequence[FileChange], execution_id: str
    ) -> Committed:
        """Write, again for what is saved in between."""
        for _ in range(MAX_REBASES):
            try:
                return await committer.commit(plan, execution_id)
            except EditConflict as error:
                try:
                    plan = await Stager(self._root, self._buffers).stage(changes)
                except EditConflict:
                    raise error from None  # it says what happened first
        return await committer.commit(plan, execution_id)

    async def adopt(self, changes: OutsideChanges, execution_id: str) -> list[str]:
        from tideate_core.workspace.adopting import adopt

        journal = Journal(self._private())
        paths = await asyncio.to_thread(adopt, self._root, journal, changes, execution_id, self._step)
        if self._buffers is not None and paths:
            await self._buffers.changed_on_disk(paths)
        return [self._root.relative(path) for path in paths]

    async def revert(self, applied: Applied) -> None:
        if applied.committed is None:
            return
        await run_uncancelled(self._committer().put_back(applied.committed))

    async def rollback(self, execution_id: str) -> TakenBack:
        rollback = Rollback(self._root, self._buffers, Journal(self._private()))
        return await run_uncancelled(rollback.run(execution_id))

    async def take_back(self, execution_id: str, members: Sequence[str]) -> TakenBack:
        journal = FamilyJournal(self._private(), members or [execution_id])
        rollback = Rollback(self._root, self._buffers, journal)
        return await run_uncancelled(rollback.as_far_as_possible(execution_id))

    async def put_back_unfinished(
        self,
        execution_id: str,
        finished: Collection[str],
        only: str | None,
        on_left: Callable[[str], None] | None,
    ) -> list[str]:
        rollback = Rollback(self._root, self._buffers, Journal(self._private()))
        return await run_uncancelled(rollback.unfinished(execution_id, finished, only, on_left))

    async def written_by(self, execution_id: str, steps: Collection[str]) -> list[str]:
        records = await asyncio.to_thread(Journal(self._private()).records, execution_id)
        return written_by(records, steps)

    def _committer(self) -> Committer:
        return Committer(self._root, self._buffers, Journal(self._private()), self._step, merges=True)
