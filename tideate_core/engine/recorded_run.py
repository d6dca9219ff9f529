"""Recorded past of a run, read from the store: ended steps, memos, usage, result."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import Usage
from tideate_core.engine.driver import Settled
from tideate_core.engine.driver_hooks import driver_hooks
from tideate_core.engine.events import EventName
from tideate_core.engine.memory import CONTEXT, FAILED, ITEM_DONE, PENDING_END, RUN, spent_on
from tideate_core.engine.recording import Recorder
from tideate_core.engine.result import WorkflowResult
from tideate_core.engine.run import RunRequest
from tideate_core.errors import RunNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.events import WorkflowHooks
    from tideate_core.store import CheckpointRow, Definition, EventRow, Reader, RunRow, StepRow, Store, Tokens

__all__ = [
    "RecordedRun",
    "find_run",
    "load_recorded_run",
    "recorded_executed",
    "recorded_result",
    "recorder_of",
    "settled_of",
]


_ALL: Final = 1_000_000
"""Checkpoints of a run that are read; there is one for a completed step, and those that a person wanted."""
_ENDED: Final = ("completed", "failed", "skipped")


@dataclass(frozen=True)
class RecordedRun:
    """The part of a run that earlier processes did."""

    settled: Mapping[str, Settled]
    """Ends of steps, in their order."""
    attempts: Mapping[str, int]
    """Failed attempts of steps that have not ended."""
    running: frozenset[str]
    """Steps that started and did not end."""
    memos: Mapping[str, Mapping[str, Any]]
    """Memory of the steps, by step and key."""
    usage: Usage
    """Usage of models, for steps that did not end, too."""
    files: tuple[str, ...]
    """Files that it changed, each once, in their order; none that a step which it reuses did."""
    executed: Mapping[str, dict[str, str]]
    """Of them those that other tools run by themselves, by path."""
    elapsed_ms: int
    """Time that steps were at work; the time between two processes is no part of it."""
    agents: tuple[str, ...]
    """Agents of the steps, in the order of their first."""
    checkpoints: tuple[str, ...]
    """Their ids, the oldest first."""
    forked: bool = False
    """It has not begun yet: what there is of it is of the run that it was forked from."""
    moves: int = 0
    """The number of the last move of a machine that is among the events."""

    @property
    def finished(self) -> frozenset[str]:
        """The steps whose work stays as it is, and the items that are done of a step that is not."""
        items = (
            f"{step}[{key.removeprefix(ITEM_DONE)}]"
            for step, kept in self.memos.items()
            for key in kept
            if key.startswith(ITEM_DONE)
        )
        return frozenset(self.settled).union(items)

    @property
    def results(self) -> dict[str, Any]:
        """Of the completed steps."""
        return {step: one.value for step, one in self.settled.items() if one.status == "completed"}

    @property
    def context(self) -> dict[str, Any]:
        """Values that steps gave names of the run's context."""
        kept = self.memos.get(RUN, {})
        return {key.removeprefix(CONTEXT): value for key, value in kept.items() if key.startswith(CONTEXT)}

    @property
    def pending_end(self) -> dict[str, Any] | None:
        """The end that was coming when the rollback of its writes began; None: it goes on."""
        kept: dict[str, Any] | None = self.memos.get(RUN, {}).get(PENDING_END)
        return kept


async def load_recorded_run(store: Store, run_id: str) -> tuple[RunRequest, Definition, RecordedRun]:
    """Read what a run was started with and how far it came.

    :raises RunNotFound: no run has this id.
    :raises StoreError: the store cannot be read.
    """
    return await asyncio.to_thread(_load, store, run_id)


async def find_run(store: Store, run_id: str) -> RunRow | None:
    """Return what there is of a run, None where it never began.

    :raises StoreError: the store cannot be read.
    """
    try:
        return await asyncio.to_thread(store.reader().run, run_id)
    except RunNotFound:
        return None


def recorded_result(reader: Reader, run: RunRow) -> WorkflowResult:
    """Return how a run ended that ended in an earlier process; blocking.

    :raises StoreError: it cannot be read.
    """
    tokens = run.tokens
    results = {row.step: row.result for row in reader.steps(run.id) if row.status == "completed"}
    hooks = driver_hooks(run.name, run.kind, run.source)
    summary = hooks.summary(results)
    back = reader.last_event(run.id, EventName.ROLLED_BACK.value) if hooks.is_reversible else None
    return WorkflowResult(
        run.id,
        run.name,
        ok=run.status == "completed",
        response=reader.response(run.id),
        results=results,
        error=run.error,
        error_code=run.error_code,
        cancelled=run.status == "cancelled",
        reason=run.reason,
        files=list(run.files),
        executed=[one for one in recorded_executed(reader, run.id).values() if one["path"] in run.files],
        usage=_usage_of(tokens),
        duration_ms=run.duration_ms or 0,
        rollback_performed=_all_back(back) if hooks.is_reversible else None,
        attempts=summary.attempts,
        result=summary.result,
        task=str(reader.request(run.id).get("prompt", "")) if hooks.is_reversible else None,
    )


def recorded_executed(reader: Reader, run_id: str) -> dict[str, dict[str, str]]:
    """Return what a run wrote in earlier processes that other tools run, by path; blocking."""
    events = reader.events(run_id)
    notices = (event.data.get("executed") for event in events if event.name == EventName.NOTICE.value)
    return {one["path"]: one for one in notices if one}


def settled_of(row: StepRow) -> Settled:
    """Return how a step in the store ended; it did."""
    assert row.status in ("completed", "failed", "skipped")  # noqa: S101 only those are given
    return Settled(
        row.step,
        row.status,
        row.result,
        row.error,
        row.error_code,
        row.duration_ms or 0,
        _usage_of(row.tokens),
        row.files,
    )


def _load(store: Store, run_id: str) -> tuple[RunRequest, Definition, RecordedRun]:
    reader = store.reader()
    # of a run that was forked from a checkpoint, the request has the old one's id
    request = RunRequest.model_validate({**reader.request(run_id), "execution_id": run_id})
    rows, run = reader.steps(run_id), reader.run(run_id)
    reused, forked = run.reused, run.forked_step is not None and not reader.events(run_id, limit=1)
    memos = reader.memos(run_id)
    ended = sorted((row for row in rows if row.status in _ENDED), key=lambda row: row.order or 0)
    running = [row for row in rows if row.status == "running"]
    settled = {row.step: settled_of(row) for row in ended}
    moved = reader.last_event(run_id, EventName.TRANSITION.value)
    recorded = RecordedRun(
        settled=settled,
        # of a fork that begins within a step, too: its memos are those of later attempts
        attempts={
            row.step: failed
            for row in rows
            if row.status not in _ENDED and (failed := _failed_attempts(row, memos))
        },
        running=frozenset(row.step for row in running),
        memos=memos,
        usage=_usage(settled, memos),
        # what a step of another run wrote is that one's to roll back
        files=tuple(dict.fromkeys(path for row in ended if (row.order or 0) > reused for path in row.files)),
        executed=recorded_executed(reader, run_id),
        elapsed_ms=_time_at_work([*ended, *running]),
        agents=tuple(dict.fromkeys(row.agent for row in ended if row.attempts)),
        checkpoints=_checkpoints(reader.checkpoints(run_id, limit=_ALL)),
        forked=forked,
        moves=moved.data["move"] if moved else 0,
    )
    return request, reader.definition(run_id), recorded


def _failed_attempts(row: StepRow, memos: Mapping[str, Mapping[str, Any]]) -> int:
    """Count the attempts that failed; the last that started was perhaps only cut off."""
    kept = memos.get(row.step, {}).get(FAILED)
    return max(row.attempts - 1, kept["attempt"] if kept else 0, 0)


def _usage(settled: Mapping[str, Settled], memos: Mapping[str, Mapping[str, Any]]) -> Usage:
    recorded = [ended.usage for ended in settled.values()]
    beside = [spent_on(kept, late=step in settled) for step, kept in memos.items()]
    return sum([*recorded, *beside], Usage())


def _usage_of(tokens: Tokens) -> Usage:
    return Usage(tokens.input, tokens.output, tokens.cost, tokens.cached)


def _time_at_work(rows: Sequence[StepRow]) -> int:
    """Return the milliseconds in which at least one of the steps was at work."""
    spans = sorted((row.started_at, row.completed_at or row.started_at) for row in rows if row.started_at)
    total = until = 0
    for begun, done in spans:
        total += max(0, done - max(begun, until))
        until = max(until, done)
    return total


def _checkpoints(rows: Iterable[CheckpointRow]) -> tuple[str, ...]:
    return tuple(row.id for row in sorted(rows, key=lambda row: (row.cursor, row.created_at)))


def _all_back(event: EventRow | None) -> bool:
    """Tell whether all that a run wrote was rolled back."""
    return event is not None and event.data["error"] is None and not event.data["left"]


def recorder_of(
    execution_id: str, front: FrontEnd, hooks: WorkflowHooks | None, recorded: RecordedRun | None
) -> Recorder:
    """Return the recorder of a run, which goes on where earlier processes left its record.

    :param recorded: what they did of it; None where it begins.
    """
    if recorded is None:
        return Recorder(execution_id, front, hooks=hooks)
    agents, checkpoints, moves = recorded.agents, recorded.checkpoints, recorded.moves
    return Recorder(execution_id, front, hooks=hooks, agents=agents, checkpoints=checkpoints, moves=moves)
