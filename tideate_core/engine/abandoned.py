"""Ends a run that no process has, as cancelled: what its owner would have done."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from tideate_core.engine.events import EventName
from tideate_core.engine.recording import Recorder, now_ms, tokens_of
from tideate_core.engine.reports import summary_of, write_summary
from tideate_core.engine.resuming import load_past
from tideate_core.errors import RunLost, RunNotActive, StoreError
from tideate_core.store import Ending

if TYPE_CHECKING:
    from tideate_core.engine.confirmation import ConfirmationRequest
    from tideate_core.engine.events import Event
    from tideate_core.engine.resuming import Past
    from tideate_core.store import RunLog, RunRow, Store
    from tideate_core.workflows import Decision
    from tideate_core.workspace import Workspace

__all__ = ["end_adopted", "give_up", "let_go", "put_back"]

logger = logging.getLogger(__name__)

MOST_RUNS: Final = 100_000
"""Unfinished runs among which those that are a run's steps are looked for."""


class _Nobody:
    """Watches a run that is only written to its end; implements the engine's `FrontEnd`."""

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        raise AssertionError(f"a run that is given up asks nothing: {request.message}")

    def emit(self, event: Event) -> None:
        """Nobody watches."""

    async def present(self, text: str, filetype: str) -> None:
        """Nobody watches."""


async def give_up(store: Store, run: RunRow) -> dict[str, frozenset[str]]:
    """End a run as cancelled, and the runs that are its steps.

    :returns: the steps whose work stays, of each run that was ended, for `put_back`.
    :raises RunNotActive: it is a step of another run and ends with that one.
    :raises RunIsOwned: a living process has it.
    :raises RunEnded: it has ended.
    :raises StoreError: it cannot be written.
    """
    if run.parent is not None and not run.ended:
        raise RunNotActive(
            f"run {run.id[:8]} is a step of the run {run.parent[:8]}, and no process has it; "
            f"cancel {run.parent[:8]}, that ends both"
        )
    return await _give_up(store, run)


async def end_adopted(store: Store, log: RunLog, run: RunRow) -> dict[str, frozenset[str]]:
    """End a run of this process as cancelled, and the runs that are its steps; returns as `give_up` does.

    :raises RunIsOwned: a living process has a run that is its step.
    :raises StoreError: it cannot be written.
    """
    _, _, past = await load_past(store, run.id)
    recorder = Recorder(log, _Nobody(), agents=past.agents, checkpoints=past.checkpoints)
    data = {"reason": "cancelled", "message": "", "step": run.current_step, "duration_ms": past.elapsed_ms}
    recorder.event(EventName.WORKFLOW_CANCELLED, data)
    ending = _ending(past)
    await recorder.ended(ending)
    if run.parent is None:
        summary = summary_of(ending, workflow=run.name, total_steps=run.total_steps, recorder=recorder)
        try:
            await asyncio.to_thread(write_summary, store.private, summary)
        except StoreError:  # the run has ended all the same
            logger.exception("run %s has no summary", run.id)
    given_up = {run.id: frozenset(past.finished)}
    # after it: were this process to end here, nothing could take it up any more
    for child in await asyncio.to_thread(_children, store, run.id):
        given_up |= await _give_up(store, child)
    return given_up


async def let_go(log: RunLog) -> None:
    """Leave a run to others because of an error, which this one never hides; nothing if it has ended."""
    try:
        await log.release()
    except RunLost:
        return  # it is not this process's any more
    except StoreError:
        # its lease runs out by itself
        logger.warning("run %s was left without a word to the store", log.run_id, exc_info=True)


async def put_back(workspace: Workspace, given_up: dict[str, frozenset[str]]) -> list[str]:
    """Undo what steps wrote that did not finish before their run was given up; returns what was restored.

    :raises RollbackConflict: something was changed since; what that run wrote stays.
    :raises WorkspaceError: the journal is damaged, or a file cannot be written.
    """
    restored: list[str] = []
    # a run's steps end after those of the run within them: what was written last goes first
    for run, finished in reversed(given_up.items()):
        restored += await workspace.put_back_unfinished(run, finished)
    return restored


async def _give_up(store: Store, run: RunRow) -> dict[str, frozenset[str]]:
    log = await store.adopt(run.id)
    try:
        return await end_adopted(store, log, run)
    except BaseException:
        await let_go(log)
        raise


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


def _children(store: Store, run_id: str) -> list[RunRow]:
    unfinished = store.reader().runs(limit=MOST_RUNS, unfinished=True, parents_only=False)
    return [run for run in unfinished if run.parent == run_id]
