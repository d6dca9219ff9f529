"""Recovery of runs left by a dead process: unfinished steps, end of the run; rollback of any run."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tideate_core.engine.context.memory import PENDING_END, RUN
from tideate_core.engine.driver import driver_hooks
from tideate_core.engine.ending import (
    counts_of,
    roll_back_and_report,
    rollback_fields,
    write_run_documents,
)
from tideate_core.engine.events import EventName, identity
from tideate_core.engine.past import (
    load_recorded_run,
    release_lease,
    stored_definition,
    stored_graph,
)
from tideate_core.engine.policy import PolicyFrontEnd
from tideate_core.engine.recorder import Recorder, now_ms, tokens_of
from tideate_core.errors import InvalidInput, RunNotActive, RunNotFound, StoreError
from tideate_core.store import Ending, Reader
from tideate_core.util.escaping import counted
from tideate_core.workflows import WorkflowDefinition
from tideate_core.workspace import Journal, Rollback, Root, plan_rollback

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tideate_core.engine.request import RunRequest
    from tideate_core.engine.run import Run
    from tideate_core.store import Definition, RunLog, RunRow, Store
    from tideate_core.workflows import MachineWorkflow
    from tideate_core.workspace import Buffers, RollbackPlan, RollbackResult, Workspace

logger = logging.getLogger(__name__)


async def store_chosen_definition(store: Store, stored: Definition, run: Run) -> None:
    """Store the definition that a resumed run continues with, if it differs from the one it began with.

    :raises StoreError: it cannot be written.
    """
    chosen = stored_definition(run.registration)
    if (chosen.kind, chosen.text) != (stored.kind, stored.text):
        await store.change_definition(run.row(chosen))


async def rebind_buffer(request: RunRequest, workspace: Workspace) -> RunRequest:
    """Return the request with the buffer's current number in the editor.

    A restarted editor renumbers its buffers; if this one is not loaded, edits go to the file. The text stays
    the one that the run began with, so that an edit is refused if the person changed it since.
    """
    context = request.context
    buffer = context.buffer
    if buffer is None or buffer.number is None:
        return request
    number, tick = await workspace.find_again(buffer.path, buffer.number, buffer.text) or (None, None)
    change: dict[str, Any] = {"buffer": buffer.model_copy(update={"number": number, "tick": tick})}
    if number is None and workspace.root is not None:
        change["cwd"] = str(workspace.root)  # paths of edits to files are relative to the root
    return request.model_copy(update={"context": context.model_copy(update=change)})


async def roll_back_unfinished_steps(
    workspace: Workspace, run_id: str, finished: frozenset[str], only: str | None = None
) -> list[dict[str, Any]]:
    """Roll back the changes of unfinished steps before they start again.

    :param finished: steps whose changes stay.
    :param only: the step to roll back; None: all.
    :returns: notices about restored files, and about files left because a finished step overwrote them.
    :raises WorkspaceError: a file was changed since, or the journal is damaged.
    """
    left: list[str] = []
    restored = await workspace.rollback_unfinished_steps(run_id, finished, only=only, on_left=left.append)
    words = [(f"{counted(restored=restored)}; the unfinished step starts again", "info")] if restored else []
    words += [
        (
            f"{name} was written by a step that did not finish, and then by one that did: it was left as it "
            "is, and the step that starts again finds its own earlier text there",
            "warn",
        )
        for name in left
    ]
    return [{"step": only or "", "message": message, "level": level} for message, level in words]


def steps_once(definition: WorkflowDefinition | MachineWorkflow) -> frozenset[str]:
    """Return the steps that must not run twice; the person is asked before their changes are rolled back."""
    steps = definition.steps if isinstance(definition, WorkflowDefinition) else ()
    return frozenset(step.id for step in steps if not step.idempotent)


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that was ended with unfinished steps."""

    finished: frozenset[str]
    """Ended steps, and completed items of others."""
    kept: frozenset[str] = frozenset()
    """Unfinished steps that must not run twice: their changes stay until the person rolls them back, because
    they may be the only trace of work that is done for good."""
    rollback: RollbackResult | None = None
    """Outcome of the rollback of an all-or-nothing run."""


@dataclass(frozen=True, slots=True)
class UnfinishedRollback:
    """Outcome for files that unfinished steps had written."""

    restored: list[str]
    kept: list[str]
    """Files left unchanged, written by a step that must not run twice."""


async def end_abandoned_run(
    store: Store, run: RunRow, workspace: Workspace | None = None
) -> dict[str, EndedRun]:
    """End a run and its nested runs as cancelled.

    :param workspace: rolls back an all-or-nothing run before its end; None: it is not rolled back.
    :returns: the ended runs, for `roll_back_abandoned_run`.
    :raises RunNotActive: it is nested and ends with the run around it.
    :raises RunIsOwned: a living process has it.
    :raises RunEnded: it has ended.
    :raises WorkspaceError: it cannot be rolled back and was not ended; a resumed run is rolled back.
    :raises StoreError: it cannot be written.
    """
    if run.parent is not None and not run.ended:
        raise RunNotActive(
            f"run {run.id[:8]} is a step of the run {run.parent[:8]}, and no process has it; "
            f"cancel {run.parent[:8]}, that ends both"
        )
    return await _end_run(store, run, workspace)


async def end_adopted(
    store: Store,
    log: RunLog,
    run: RunRow,
    workspace: Workspace | None = None,
    *,
    keep_all: bool = False,
    rolled_back: RollbackResult | None = None,
) -> dict[str, EndedRun]:
    """End a run that this process owns and its nested runs as cancelled; see `end_abandoned_run`.

    :param keep_all: the run belongs to a step that must not run twice.
    :param rolled_back: the outcome of an earlier rollback.
    :raises RunIsOwned: a living process has a nested run.
    :raises StoreError: it cannot be written.
    """
    _, definition, recorded = await load_recorded_run(store, run.id)
    recorder = Recorder(run.id, PolicyFrontEnd(accept=None), log, recorded=recorded)
    data = {
        "reason": "cancelled",
        "message": "",
        "step": run.current_step,
        "duration_ms": recorded.elapsed_ms,
    }
    completed, failed = counts_of(recorded.settled)
    ending = Ending(
        "cancelled",
        now_ms(),
        recorded.elapsed_ms,
        tokens=tokens_of(recorded.usage),
        files=recorded.files,
        completed_steps=completed,
        failed_steps=failed,
        reason="cancelled",
    )
    hooks = driver_hooks(definition.name, definition.kind, definition.source)
    ids = identity(run.id, hooks.summary(recorded.results).plan_id or run.name)
    recorder.identify = lambda: ids
    if rolled_back is not None:
        recorder.event(EventName.ROLLED_BACK, rollback_fields(rolled_back))
    rollback = None
    if workspace is not None and hooks.is_reversible:
        if recorded.pending_end is None:
            end = {"step": run.current_step, "reason": "cancelled", "message": "", "error": None}
            await log.remember(RUN, PENDING_END, {**end, "error_code": None})
        snapshot = hooks.summary(recorded.results).snapshot
        rollback = await roll_back_and_report(workspace, recorder, recorded.files, snapshot)
        ending = replace(ending, files=tuple(rollback.left))
    await recorder.ended(ending, EventName.WORKFLOW_CANCELLED, data)
    if run.parent is None:
        await write_run_documents(
            run.id,
            ending,
            store.documents,
            name=run.name,
            total_steps=run.total_steps,
            hooks=hooks,
            results=recorded.results,
            agents=recorder.agents,
            checkpoints=recorder.checkpoints,
        )
    once = [step for step in stored_graph(definition).steps if not step.idempotent]
    nests = {step.id for step in once if step.is_run}
    kept = recorded.running if keep_all else recorded.running.intersection(step.id for step in once)
    ended_runs = {run.id: EndedRun(frozenset(recorded.finished), kept, rollback)}
    # afterwards: if this process ended here, the run could not be resumed
    for child in await asyncio.to_thread(store.reader().unfinished_within, run.id):
        # which of several such steps the nested run is, is unknown here: keep too much rather than too little
        ended_runs |= await _end_run(store, child, workspace, keep_all=bool(kept & nests) or keep_all)
    return ended_runs


async def roll_back_abandoned_run(
    workspace: Workspace, ended_runs: dict[str, EndedRun]
) -> UnfinishedRollback:
    """Roll back the changes of unfinished steps of ended runs, except kept ones.

    :raises RollbackConflict: a file was changed since; the changes of that run stay.
    :raises WorkspaceError: the journal is damaged, or a file cannot be written.
    """
    done = UnfinishedRollback([], [])
    # nested runs end before their step: roll back the last writes first
    for run, ended in reversed(ended_runs.items()):
        if ended.rollback is not None:
            done.restored.extend([*ended.rollback.restored, *ended.rollback.merged])
            continue
        done.restored.extend(await workspace.rollback_unfinished_steps(run, ended.finished | ended.kept))
        done.kept.extend(await workspace.written_by(run, ended.kept))
    return done


async def _end_run(
    store: Store, run: RunRow, workspace: Workspace | None, *, keep_all: bool = False
) -> dict[str, EndedRun]:
    log = await store.adopt(run.id)
    try:
        return await end_adopted(store, log, run, workspace, keep_all=keep_all)
    except BaseException:
        await release_lease(log)
        raise


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
            fields = rollback_fields(done)
            await opened.add_event(run.id, EventName.ROLLED_BACK.value, now_ms(), fields)
    except StoreError as error:
        logger.warning("run %s was rolled back, but the rollback is not in its record: %s", run.id, error)


def _known(private: Path, run_id: str) -> RunRow | None:
    reader = Reader(private)
    try:
        return reader.run(run_id)
    except (RunNotFound, StoreError):
        return None  # a deleted run or an unreadable store: the journal is enough
    finally:
        reader.close()
