"""Rollback of a run's changes."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.engine.ending import rollback_fields
from tideate_core.engine.events import EventName
from tideate_core.engine.past import release_lease
from tideate_core.engine.recorder import now_ms
from tideate_core.engine.recovery import end_adopted
from tideate_core.errors import InvalidInput, RunNotFound, StoreError
from tideate_core.store import Reader
from tideate_core.workspace import Journal, Rollback, Root, plan_rollback

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tideate_core.store import RunRow, Store
    from tideate_core.workspace import Buffers, RollbackPlan, RollbackResult


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RollbackOutcome:
    """Outcome of a rollback."""

    restored: list[str]
    """Files and buffers; empty if everything was as before the run."""
    cancelled: bool
    """The run had not ended and was cancelled, because its changes are gone."""
    merged: list[str] = field(default_factory=list)
    """Restored files in which later changes were kept."""


def nothing_changed_error(reader: Reader, wanted: str) -> InvalidInput:
    """Return the error that explains why a run has nothing to roll back.

    :raises RunNotFound: there is no such run.
    :raises StoreError: the store cannot be read.
    """
    run = reader.run(wanted)
    if run.files:
        return InvalidInput(
            f"run {run.id[:8]} of {run.name} can no longer be rolled back: its journal was deleted"
        )
    return InvalidInput(f"run {run.id[:8]} of {run.name} changed no file")


def forget_changes(private: Path, run: str) -> None:
    """Delete the journal of a run's changes; it cannot be rolled back afterwards.

    :raises WorkspaceError: the journal is damaged.
    """
    journal = Journal(private)
    for record in reversed(journal.records(run)):
        journal.drop(record)


class RunRollback:
    """Rollback of the changes of runs in one project.

    :param root: the project's root; None: only buffers were changed.
    :param private: directory of the journal and the store.
    :param buffers: the editor's buffers; None outside an editor.
    """

    def __init__(self, root: Path | None, private: Path, buffers: Buffers | None = None) -> None:
        self._root = Root(root)
        self._private = private
        self._buffers = buffers

    def preview(self, members: Sequence[str]) -> RollbackPlan:
        """Return the files that a rollback would restore on disk, and its conflicts; blocking.

        :raises WorkspaceError: the journal is damaged, or a file cannot be read.
        """
        return plan_rollback(self._root, Journal(self._private).records(*members), None)

    async def plan(self, members: Sequence[str]) -> RollbackPlan:
        """Return the preview with the editor's buffers.

        :raises WorkspaceError: as `preview`.
        """
        return await Rollback(self._root, self._buffers, Journal(self._private)).plan(members)

    async def restore_files(
        self, members: Sequence[str], on_write: Callable[[], object] = lambda: None
    ) -> RollbackResult:
        """Restore all files that runs wrote, or none; return the restored ones.

        :param on_write: called before the first file is written.
        :raises RollbackConflict: a file was changed since; nothing was restored.
        :raises WorkspaceError: the journal is damaged, or a file cannot be written.
        """
        rollback = Rollback(self._root, self._buffers, Journal(self._private))
        return await rollback.rollback_all(members, on_write)

    async def roll_back(
        self,
        run_id: str,
        members: Sequence[str],
        store: Callable[[], AbstractAsyncContextManager[Store]],
        on_write: Callable[[], object] = lambda: None,
    ) -> RollbackOutcome:
        """Roll back a run, and end it if it has not ended.

        :param members: the runs whose changes belong to it.
        :param store: opened only for a known run, to record the restored files.
        :param on_write: called before the first file is written.
        :raises RunIsOwned: a living process has it.
        :raises RollbackConflict: a file was changed since; nothing was restored or ended.
        :raises WorkspaceError: the journal is damaged, or a file cannot be written.
        :raises StoreError: the run's end cannot be written.
        """
        run = await asyncio.to_thread(_known, self._private, run_id)
        if run is None:
            return _outcome(await self.restore_files(members, on_write), cancelled=False)
        if run.ended:
            done = await self.restore_files(members, on_write)
            if done.restored or done.merged:
                await _record(store, run, done)
            return _outcome(done, cancelled=False)
        async with store() as opened:
            owned = await opened.adopt(run.id)  # otherwise another process could continue it meanwhile
            try:
                done = await self.restore_files(members, on_write)
                await end_adopted(opened, owned, run, rolled_back=done)
            except BaseException:
                await release_lease(owned)
                raise
        return _outcome(done, cancelled=True)


def _outcome(done: RollbackResult, *, cancelled: bool) -> RollbackOutcome:
    return RollbackOutcome([*done.restored, *done.merged], cancelled, done.merged)


async def _record(
    store: Callable[[], AbstractAsyncContextManager[Store]], run: RunRow, done: RollbackResult
) -> None:
    """Add the restored files to an ended run's record; if that fails, only the journal has them."""
    try:
        async with store() as opened:
            fields = rollback_fields(done, None, "", ())
            await opened.add_event(run.id, EventName.ROLLED_BACK.value, now_ms(), fields)
    except StoreError as error:
        log.warning("run %s was rolled back, but the rollback is not in its record: %s", run.id, error)


def _known(private: Path, run_id: str) -> RunRow | None:
    reader = Reader(private)
    try:
        return reader.run(run_id)
    except (RunNotFound, StoreError):
        return None  # a deleted run or an unreadable store: the journal is enough
    finally:
        reader.close()
