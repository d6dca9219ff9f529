"""Recovery of runs that no process has: cancellation and rollback of unfinished steps."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tideate_core.engine.driver_hooks import driver_hooks
from tideate_core.engine.events import EventName
from tideate_core.engine.memory import RUN, TAKING_BACK
from tideate_core.engine.recorded_run import load_past
from tideate_core.engine.recording import Recorder, now_ms, tokens_of
from tideate_core.engine.reports import summary_of, write_summary
from tideate_core.engine.run_store import let_go
from tideate_core.engine.stored_definition import stored_graph
from tideate_core.errors import RunNotActive, StoreError
from tideate_core.store import Ending

if TYPE_CHECKING:
    from tideate_core.engine.confirmation import ConfirmationRequest
    from tideate_core.engine.events import Event
    from tideate_core.engine.recorded_run import Past
    from tideate_core.store import Definition, RunLog, RunRow, Store
    from tideate_core.workflows import Decision
    from tideate_core.workspace import TakenBack, Workspace

__all__ = ["GivenUp", "PutBack", "end_adopted", "give_up", "put_back"]


logger = logging.getLogger(__name__)


class _Nobody:
    """Watches a run that is only written to its end; implements the engine's `FrontEnd`."""

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        raise AssertionError(f"a run that is given up asks nothing: {request.message}")

    def emit(self, event: Event) -> None:
        """Nobody watches."""

    async def present(self, text: str, filetype: str) -> None:
        """Nobody watches."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A run that was ended while steps of it had not."""

    finished: frozenset[str]
    """The steps whose work stays, and items that are done of others."""
    kept: frozenset[str] = frozenset()
    """Steps that had not ended and must not be done twice: what they did may be done for good, and what they
    wrote, a receipt perhaps, is all that tells of it. It stays until the person takes it back."""
    back: TakenBack | None = None
    """What came of taking it back as a whole, of a run that is all or nothing."""


@dataclass(frozen=True, slots=True)
class PutBack:
    """What became of the files that unfinished steps had written."""

    restored: list[str]
    kept: list[str]
    """Left as they are: written by a step that must not be done twice."""


async def give_up(store: Store, run: RunRow, workspace: Workspace | None = None) -> dict[str, GivenUp]:
    """End a run as cancelled, and the runs that are its steps.

    :param workspace: in which a run that is all or nothing is taken back before it is ended; None: it is not.
    :returns: each run that was ended, for `put_back`.
    :raises RunNotActive: it is a step of another run and ends with that one.
    :raises RunIsOwned: a living process has it.
    :raises RunEnded: it has ended.
    :raises WorkspaceError: it cannot be taken back, so it was not ended; resumed, it is taken back.
    :raises StoreError: it cannot be written.
    """
    if run.parent is not None and not run.ended:
        raise RunNotActive(
            f"run {run.id[:8]} is a step of the run {run.parent[:8]}, and no process has it; "
            f"cancel {run.parent[:8]}, that ends both"
        )
    return await _give_up(store, run, workspace)


async def end_adopted(
    store: Store, log: RunLog, run: RunRow, workspace: Workspace | None = None, *, keep_all: bool = False
) -> dict[str, GivenUp]:
    """End a run of this process as cancelled, and the runs that are its steps; returns as `give_up` does.

    :param keep_all: the run is the work of a step that must not be done twice.
    :raises RunIsOwned: a living process has a run that is its step.
    :raises StoreError: it cannot be written.
    """
    _, definition, past = await load_past(store, run.id)
    recorder = Recorder(log, _Nobody(), agents=past.agents, checkpoints=past.checkpoints)
    data = {"reason": "cancelled", "message": "", "step": run.current_step, "duration_ms": past.elapsed_ms}
    ending, back = _ending(past), None
    hooks = driver_hooks(definition.name, definition.kind, definition.source)
    if workspace is not None and hooks.is_reversible:
        snapshot = hooks.snapshot(past.settled)
        back = await _take_back(workspace, log, recorder, past, run, snapshot)
        ending = replace(ending, files=tuple(back.left))
    await recorder.ended(ending, EventName.WORKFLOW_CANCELLED, data)
    if run.parent is None:
        summary = summary_of(ending, workflow=run.name, total_steps=run.total_steps, recorder=recorder)
        try:
            await asyncio.to_thread(write_summary, store.documents, summary)
        except StoreError:  # the run has ended all the same
            logger.exception("run %s has no summary", run.id)
    once, nests = _done_once(definition)
    kept = past.running if keep_all else past.running & once
    given_up = {run.id: GivenUp(frozenset(past.finished), kept, back)}
    # after it: were this process to end here, nothing could take it up any more
    for child in await asyncio.to_thread(store.reader().unfinished_within, run.id):
        # of several such steps nobody knows here which one the child is: rather keep too much
        given_up |= await _give_up(store, child, workspace, keep_all=bool(kept & nests) or keep_all)
    return given_up


async def _take_back(
    workspace: Workspace, log: RunLog, recorder: Recorder, past: Past, run: RunRow, snapshot: str | None
) -> TakenBack:
    """Take back a run that is all or nothing.

    :param snapshot: that was made before it wrote.
    :raises WorkspaceError: the journal is damaged, or a file cannot be written.
    """
    # here, because few runs are
    from tideate_core.engine.automatic_rollback import release_snapshots, rolled_back, take_back, tell_strays

    if past.broken_off is None:
        end = {"step": run.current_step, "reason": "cancelled", "message": "", "error": None}
        await log.remember(RUN, TAKING_BACK, {**end, "error_code": None})
    back = await take_back(workspace, run.id, past.files, snapshot)
    recorder.event(EventName.ROLLED_BACK, rolled_back(back, snapshot, ""))
    await tell_strays(recorder, workspace, run.current_step, snapshot, back)
    await release_snapshots(workspace, run.id)
    return back


async def put_back(workspace: Workspace, given_up: dict[str, GivenUp]) -> PutBack:
    """Undo what steps wrote that did not finish before their run was given up, but for what is to be kept.

    :raises RollbackConflict: something was changed since; what that run wrote stays.
    :raises WorkspaceError: the journal is damaged, or a file cannot be written.
    """
    done = PutBack([], [])
    # a run's steps end after those of the run within them: what was written last goes first
    for run, ended in reversed(given_up.items()):
        if ended.back is not None:
            done.restored.extend([*ended.back.restored, *ended.back.merged])
            continue
        done.restored.extend(await workspace.put_back_unfinished(run, ended.finished | ended.kept))
        done.kept.extend(await workspace.written_by(run, ended.kept))
    return done


async def _give_up(
    store: Store, run: RunRow, workspace: Workspace | None, *, keep_all: bool = False
) -> dict[str, GivenUp]:
    log = await store.adopt(run.id)
    try:
        return await end_adopted(store, log, run, workspace, keep_all=keep_all)
    except BaseException:
        await let_go(log)
        raise


def _done_once(definition: Definition) -> tuple[frozenset[str], frozenset[str]]:
    """Return the steps that must not be done twice, and those of them that are runs of their own."""
    once = [step for step in stored_graph(definition).steps if not step.idempotent]
    return frozenset(step.id for step in once), frozenset(step.id for step in once if step.is_run)


def _ending(past: Past) -> Ending:
    steps = [settled.status for settled in past.settled.values()]
    return Ending(
        "cancelled",
        now_ms(),
        past.elapsed_ms,
        tokens=tokens_of(past.usage),
        files=past.files,
        completed_steps=steps.count("completed"),
        failed_steps=steps.count("failed"),
        reason="cancelled",
    )
