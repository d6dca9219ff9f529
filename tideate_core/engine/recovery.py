"""Recovery of runs that no process has: rollback of unfinished steps; resumption, or the end as cancelled."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tideate_core.engine.driver_hooks import driver_hooks
from tideate_core.engine.events import EventName, identity
from tideate_core.engine.lifecycle import write_run_documents
from tideate_core.engine.memory import PENDING_END, RUN
from tideate_core.engine.recorded_run import load_recorded_run
from tideate_core.engine.recording import Recorder, now_ms, tokens_of
from tideate_core.engine.run_store import new_run, release_lease
from tideate_core.engine.stored_definition import stored_definition, stored_graph
from tideate_core.errors import RunNotActive
from tideate_core.store import Ending
from tideate_core.util.escaping import counted
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.engine.confirmation import ConfirmationRequest
    from tideate_core.engine.events import Event
    from tideate_core.engine.recorded_run import RecordedRun
    from tideate_core.engine.run import Execution, RunRequest
    from tideate_core.store import Definition, RunLog, RunRow, Store
    from tideate_core.workflows import Decision, MachineWorkflow, Registration
    from tideate_core.workspace import RollbackResult, Workspace

__all__ = [
    "EndedRun",
    "UnfinishedRollback",
    "end_abandoned_run",
    "end_adopted",
    "leftover_notice",
    "rebind_buffer",
    "restored_notices",
    "roll_back_abandoned_run",
    "roll_back_unfinished_steps",
    "store_chosen_definition",
]


logger = logging.getLogger(__name__)


async def store_chosen_definition(
    store: Store, stored: Definition, registration: Registration, execution: Execution
) -> None:
    """Write down what a run of this process goes on with, where it is another one than it began with.

    :raises StoreError: it cannot be written.
    """
    chosen = stored_definition(registration)
    if (chosen.kind, chosen.text) != (stored.kind, stored.text):
        await store.change_definition(new_run(execution, chosen, None))


async def rebind_buffer(request: RunRequest, workspace: Workspace) -> RunRequest:
    """Return the request with its buffer as the editor has it now.

    An editor that was started again numbers its buffers anew, and this one may not be loaded at all: then
    edits go to the file. The text stays the one that the run began with, so that an edit is refused where
    the person has changed it since.
    """
    context = request.context
    buffer = context.buffer
    if buffer is None or buffer.number is None:
        return request
    number, tick = await workspace.find_again(buffer.path, buffer.number, buffer.text) or (None, None)
    change: dict[str, Any] = {"buffer": buffer.model_copy(update={"number": number, "tick": tick})}
    if number is None and workspace.root is not None:
        change["cwd"] = str(workspace.root)  # the path of an edit to a file is relative to the root
    return request.model_copy(update={"context": context.model_copy(update=change)})


async def roll_back_unfinished_steps(
    workspace: Workspace, run_id: str, recorded: RecordedRun, definition: WorkflowDefinition | MachineWorkflow
) -> list[dict[str, Any]]:
    """Roll back what unfinished steps wrote, but for those that a person has to be asked about first.

    :returns: notices of restored files, and of files left because a finished step wrote over them.
    :raises WorkspaceError: something was changed since, or the journal is damaged.
    """
    left: list[str] = []
    steps = definition.steps if isinstance(definition, WorkflowDefinition) else ()
    asked = {step.id for step in steps if not step.idempotent}
    finished = recorded.finished | asked
    restored = await workspace.rollback_unfinished_steps(run_id, finished, on_left=left.append)
    return [*restored_notices(restored), *map(leftover_notice, left)]


def restored_notices(restored: Sequence[str], step: str = "") -> list[dict[str, Any]]:
    """Return the notice of files rolled back before a step starts again; empty without files."""
    message = f"{counted(restored=restored)}; the unfinished step starts again"
    return [{"step": step, "message": message, "level": "info"}] if restored else []


def leftover_notice(name: str, step: str = "") -> dict[str, Any]:
    """Return the notice of what could not be rolled back before a step starts again."""
    message = (
        f"{name} was written by a step that did not finish, and then by one that did: it was left as it is, "
        "and the step that starts again finds there what it wrote itself"
    )
    return {"step": step, "message": message, "level": "warn"}


class _Nobody:
    """Watches a run that is only written to its end; implements the engine's `FrontEnd`."""

    editor = None

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        raise AssertionError(f"a run that is only ended asks nothing: {request.message}")

    def emit(self, event: Event) -> None:
        """Nobody watches."""

    async def present(self, text: str, filetype: str) -> None:
        """Nobody watches."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that was ended while steps of it had not."""

    finished: frozenset[str]
    """The steps whose work stays, and items that are done of others."""
    kept: frozenset[str] = frozenset()
    """Steps that had not ended and must not be done twice: what they did may be done for good, and what they
    wrote, a receipt perhaps, is all that tells of it. It stays until the person rolls it back."""
    rollback: RollbackResult | None = None
    """The outcome of its rollback as a whole, of an all-or-nothing run."""


@dataclass(frozen=True, slots=True)
class UnfinishedRollback:
    """The outcome for the files that unfinished steps had written."""

    restored: list[str]
    kept: list[str]
    """Left as they are: written by a step that must not be done twice."""


async def end_abandoned_run(
    store: Store, run: RunRow, workspace: Workspace | None = None
) -> dict[str, EndedRun]:
    """End a run as cancelled, and the runs that are its steps.

    :param workspace: in which an all-or-nothing run is rolled back before it is ended; None: it is not.
    :returns: each run that was ended, for `roll_back_abandoned_run`.
    :raises RunNotActive: it is a step of another run and ends with that one.
    :raises RunIsOwned: a living process has it.
    :raises RunEnded: it has ended.
    :raises WorkspaceError: it cannot be rolled back, so it was not ended; resumed, it is rolled back.
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
    """End a run of this process as cancelled, and the runs that are its steps, as `end_abandoned_run`.

    :param keep_all: the run is the work of a step that must not be done twice.
    :param rolled_back: the outcome of a rollback that came before.
    :raises RunIsOwned: a living process has a run that is its step.
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
    ending, rollback = _ending(recorded), None
    hooks = driver_hooks(definition.name, definition.kind, definition.source)
    ids = identity(run.id, hooks.summary(recorded.results).plan_id or run.name)
    recorder.identify = lambda: ids
    if rolled_back is not None:
        from tideate_core.engine.automatic_rollback import rollback_fields

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
    # after it: were this process to end here, nothing could resume it any more
    for child in await asyncio.to_thread(store.reader().unfinished_within, run.id):
        # of several such steps nobody knows here which one the child is: rather keep too much
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
    """Roll back a run that is all or nothing.

    :param snapshot: that was made before it wrote.
    :raises WorkspaceError: the journal is damaged, or a file cannot be written.
    """
    # here, because few runs are
    from tideate_core.engine.automatic_rollback import (
        foreign_changes,
        release_snapshots,
        roll_back_run,
        rollback_fields,
    )

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
    """Roll back what steps wrote that did not finish before their run was ended, but for what is to be kept.

    :raises RollbackConflict: something was changed since; what that run wrote stays.
    :raises WorkspaceError: the journal is damaged, or a file cannot be written.
    """
    done = UnfinishedRollback([], [])
    # a run's steps end after those of the run within them: what was written last goes first
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
    """Return the steps that must not be done twice, and those of them that are runs of their own."""
    once = [step for step in stored_graph(definition).steps if not step.idempotent]
    return frozenset(step.id for step in once), frozenset(step.id for step in once if step.is_run)


def _ending(recorded: RecordedRun) -> Ending:
    steps = [settled.status for settled in recorded.settled.values()]
    return Ending(
        "cancelled",
        now_ms(),
        recorded.elapsed_ms,
        tokens=tokens_of(recorded.usage),
        files=recorded.files,
        completed_steps=steps.count("completed"),
        failed_steps=steps.count("failed"),
        reason="cancelled",
    )
