"""Recovery of runs that no process has: rollback of unfinished steps; resumption, or the end as cancelled."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tideate_core.engine.context.memory import PENDING_END, RUN
from tideate_core.engine.driver import driver_hooks
from tideate_core.engine.ending import (
    foreign_changes,
    release_snapshots,
    roll_back_run,
    rollback_fields,
    row_of_abandoned,
    write_run_documents,
)
from tideate_core.engine.events import EventName, identity
from tideate_core.engine.past import (
    load_recorded_run,
    release_lease,
    stored_definition,
    stored_graph,
)
from tideate_core.engine.recorder import Recorder
from tideate_core.errors import RunNotActive
from tideate_core.util.escaping import counted
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.engine.events import ConfirmationRequest, Event
    from tideate_core.engine.past import RecordedRun
    from tideate_core.engine.request import RunRequest
    from tideate_core.engine.run import Run
    from tideate_core.store import Definition, RunLog, RunRow, Store
    from tideate_core.workflows import Decision, MachineWorkflow
    from tideate_core.workspace import RollbackResult, Workspace

logger = logging.getLogger(__name__)


async def store_chosen_definition(store: Store, stored: Definition, run: Run) -> None:
    """Store the definition that a resumed run continues with, if it differs from the one it began with.

    :raises StoreError: it cannot be written.
    """
    chosen = stored_definition(run.registration)
    if (chosen.kind, chosen.text) != (stored.kind, stored.text):
        await store.change_definition(run.row(chosen, nested=False))


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
    workspace: Workspace, run_id: str, recorded: RecordedRun, definition: WorkflowDefinition | MachineWorkflow
) -> list[dict[str, Any]]:
    """Roll back the changes of unfinished steps, except of steps that the person is asked about first.

    :returns: notices about restored files, and about files left because a finished step overwrote them.
    :raises WorkspaceError: a file was changed since, or the journal is damaged.
    """
    left: list[str] = []
    steps = definition.steps if isinstance(definition, WorkflowDefinition) else ()
    asked = {step.id for step in steps if not step.idempotent}
    finished = recorded.finished | asked
    restored = await workspace.rollback_unfinished_steps(run_id, finished, on_left=left.append)
    return [*restored_notices(restored), *map(leftover_notice, left)]


def restored_notices(restored: Sequence[str], step: str = "") -> list[dict[str, Any]]:
    """Return the notice about files rolled back before a step starts again; empty without files."""
    message = f"{counted(restored=restored)}; the unfinished step starts again"
    return [{"step": step, "message": message, "level": "info"}] if restored else []


def leftover_notice(name: str, step: str = "") -> dict[str, Any]:
    """Return the notice about a file that could not be rolled back before a step starts again."""
    message = (
        f"{name} was written by a step that did not finish, and then by one that did: it was left as it is, "
        "and the step that starts again finds its own earlier text there"
    )
    return {"step": step, "message": message, "level": "warn"}


class _Nobody:
    """`FrontEnd` of a run that is ended without running."""

    editor = None

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        raise AssertionError(f"a run that is only ended asks nothing: {request.message}")

    def emit(self, event: Event) -> None:
        """Show nothing."""

    async def present(self, text: str, filetype: str) -> None:
        """Show nothing."""


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
    recorder = Recorder(run.id, _Nobody(), log, agents=recorded.agents, checkpoints=recorded.checkpoints)
    data = {
        "reason": "cancelled",
        "message": "",
        "step": run.current_step,
        "duration_ms": recorded.elapsed_ms,
    }
    ending, rollback = row_of_abandoned(recorded), None
    hooks = driver_hooks(definition.name, definition.kind, definition.source)
    ids = identity(run.id, hooks.summary(recorded.results).plan_id or run.name)
    recorder.identify = lambda: ids
    if rolled_back is not None:
        recorder.event(EventName.ROLLED_BACK, rollback_fields(rolled_back, None, "", ()))
    if workspace is not None and hooks.is_reversible:
        snapshot = hooks.summary(recorded.results).snapshot
        rollback = await _roll_back(workspace, log, recorder, recorded, run, snapshot)
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
    once, nests = _done_once(definition)
    kept = recorded.running if keep_all else recorded.running & once
    ended_runs = {run.id: EndedRun(frozenset(recorded.finished), kept, rollback)}
    # afterwards: if this process ended here, the run could not be resumed
    for child in await asyncio.to_thread(store.reader().unfinished_within, run.id):
        # which of several such steps the nested run is, is unknown here: keep too much rather than too little
        ended_runs |= await _end_run(store, child, workspace, keep_all=bool(kept & nests) or keep_all)
    return ended_runs


async def _roll_back(
    workspace: Workspace,
    log: RunLog,
    recorder: Recorder,
    recorded: RecordedRun,
    run: RunRow,
    snapshot: str | None,
) -> RollbackResult:
    """Roll back an all-or-nothing run.

    :param snapshot: made before the first write.
    :raises WorkspaceError: the journal is damaged, or a file cannot be written.
    """
    if recorded.pending_end is None:
        end = {"step": run.current_step, "reason": "cancelled", "message": "", "error": None}
        await log.remember(RUN, PENDING_END, {**end, "error_code": None})
    done = await roll_back_run(workspace, run.id, recorded.files, snapshot)
    foreign = await foreign_changes(workspace, snapshot, done)
    recorder.event(EventName.ROLLED_BACK, rollback_fields(done, snapshot, "", foreign))
    await release_snapshots(workspace, run.id)
    return done


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


def _done_once(definition: Definition) -> tuple[frozenset[str], frozenset[str]]:
    """Return the steps that must not run twice, and the nested runs among them."""
    once = [step for step in stored_graph(definition).steps if not step.idempotent]
    return frozenset(step.id for step in once), frozenset(step.id for step in once if step.is_run)
