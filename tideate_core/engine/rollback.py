"""Rollback on request: preview what runs wrote, and roll it back."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.engine.automatic_rollback import rollback_fields
from tideate_core.engine.events import EventName
from tideate_core.engine.recording import now_ms
from tideate_core.engine.recovery import end_adopted
from tideate_core.engine.run_store import release_lease
from tideate_core.errors import InvalidInput, RunNotFound, StoreError
from tideate_core.store import Reader
from tideate_core.workspace import Journal, Rollback, Root, plan_rollback

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tideate_core.store import RunRow, Store
    from tideate_core.workspace import Buffers, RollbackPlan, RollbackResult

__all__ = [
    "RollbackOutcome",
    "RunRollback",
    "forget_changes",
    "nothing_changed_error",
]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RollbackOutcome:
    """The outcome of a rollback."""

    restored: list[str]
    """Files and buffers; empty if everything was as before the run."""
    cancelled: bool
    """The run had not ended, and has now: it would not find what it wrote."""
    merged: list[str] = field(default_factory=list)
    """Those of what was restored in which changes made since were kept."""


def nothing_changed_error(reader: Reader, wanted: str) -> InvalidInput:
    """Return the error that says why there is nothing to roll back of a run.

    :raises RunNotFound: there is no such run.
    :raises StoreError: the store cannot be read.
    """
    run = reader.run(wanted)
    if run.files:
        return InvalidInput(
            f"run {run.id[:8]} of {run.name} cannot be rolled back any more: what it changed was forgotten"
        )
    return InvalidInput(f"run {run.id[:8]} of {run.name} changed no file")


def forget_changes(private: Path, run: str) -> None:
    """Forget what a run changed: it cannot be rolled back any more.

    :raises WorkspaceError: the journal is damaged.
    """
    journal = Journal(private)
    for record in reversed(journal.records(run)):
        journal.drop(record)


class RunRollback:
    """Rollback of what families of runs wrote in one project.

    :param root: of the project; None where there is none, then only buffers were changed.
    :param private: where its journal and its store are.
    :param buffers: the editor's, None outside it.
    """

    def __init__(self, root: Path | None, private: Path, buffers: Buffers | None = None) -> None:
        self._root = Root(root)
        self._private = private
        self._buffers = buffers

    def preview(self, members: Sequence[str]) -> RollbackPlan:
        """Return what a rollback would restore on disk, and what stands in its way; blocking.

        :raises WorkspaceError: the journal is damaged, or something cannot be read.
        """
        return plan_rollback(self._root, Journal(self._private).records(*members), None)

    async def plan(self, members: Sequence[str]) -> RollbackPlan:
        """Return the same with the editor's buffers in view.

        :raises WorkspaceError: as of `preview`.
        """
        return await Rollback(self._root, self._buffers, Journal(self._private)).plan(members)

    async def restore_files(
        self, members: Sequence[str], on_write: Callable[[], object] = lambda: None
    ) -> RollbackResult:
        """Restore all that runs wrote, or nothing; returns what was restored.

        :param on_write: called before the first file is written.
        :raises RollbackConflict: something was changed since; nothing was restored.
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
        """Roll back a run, and end it if it could still go on.

        :param members: the runs whose changes are its.
        :param store: opened only for a known run, to record the restored files.
        :param on_write: called before the first file is written.
        :raises RunIsOwned: a living process has it.
        :raises RollbackConflict: something was changed since; nothing was restored or ended.
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
            owned = await opened.adopt(run.id)  # or another process would continue it meanwhile
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
        return None  # a run that was forgotten, or a store that cannot be read: the journal is enough
    finally:
        reader.close()
