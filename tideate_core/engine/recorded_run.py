"""Recorded past of a run: ended steps, memos, usage and time, read from the store."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import Usage
from tideate_core.engine.driver import Settled
from tideate_core.engine.events import EventName
from tideate_core.engine.lifecycle import executed_of
from tideate_core.engine.memory import FAILED, RUN, TAKING_BACK, spent_on
from tideate_core.engine.run import RunRequest
from tideate_core.engine.run_store import new_run
from tideate_core.engine.stored_definition import definition_for, stored_definition
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.engine.run import Execution
    from tideate_core.store import CheckpointRow, Definition, StepRow, Store, Tokens
    from tideate_core.workflows import MachineWorkflow, Registration
    from tideate_core.workspace import Workspace

__all__ = [
    "Past",
    "definition_for",
    "found_again",
    "keep_definition",
    "load_past",
    "put_back",
    "settled_of",
    "still_there",
]


_ALL: Final = 1_000_000
"""Checkpoints of a run that are read; there is one for a completed step, and those that a person wanted."""
_ENDED: Final = ("completed", "failed", "skipped")
_ITEM_DONE: Final = "choice:item:"
"""Stands in the keys of the results of a `for_each`, before the item's index."""


@dataclass(frozen=True)
class Past:
    """What earlier processes did of a run."""

    settled: Mapping[str, Settled]
    """How steps ended, in that order."""
    attempts: Mapping[str, int]
    """Failed attempts of steps that have not ended."""
    running: frozenset[str]
    """Steps that started and did not end."""
    memos: Mapping[str, Mapping[str, Any]]
    """What the steps remember, by key."""
    usage: Usage
    """What models took, for steps that did not end, too."""
    files: tuple[str, ...]
    """What was changed, each once, in that order."""
    executed: Mapping[str, dict[str, str]]
    """Of them those that other tools run by themselves, by path."""
    elapsed_ms: int
    """How long steps were at work; the time between two processes is no part of it."""
    agents: tuple[str, ...]
    """What did the steps, in the order of their first."""
    checkpoints: tuple[str, ...]
    """Their ids, the oldest first."""
    moves: int = 0
    """The number of the last move of a machine that is among the events."""

    @property
    def finished(self) -> frozenset[str]:
        """The steps whose work stays as it is, and the items that are done of a step that is not."""
        items = (
            f"{step}[{key.removeprefix(_ITEM_DONE)}]"
            for step, kept in self.memos.items()
            for key in kept
            if key.startswith(_ITEM_DONE)
        )
        return frozenset(self.settled).union(items)

    @property
    def broken_off(self) -> dict[str, Any] | None:
        """How the run was going to end when what it wrote began to be taken back; None: it goes on."""
        kept: dict[str, Any] | None = self.memos.get(RUN, {}).get(TAKING_BACK)
        return kept

    def has_told(self, name: EventName, data: Mapping[str, Any]) -> bool:
        """Tell whether this is a move that an earlier process wrote down before it ended."""
        return name is EventName.TRANSITION and data["move"] <= self.moves


async def load_past(store: Store, run_id: str) -> tuple[RunRequest, Definition, Past]:
    """Read what a run was started with and how far it came.

    :raises RunNotFound: no run has this id.
    :raises StoreError: the store cannot be read.
    """
    return await asyncio.to_thread(_load, store, run_id)


async def keep_definition(
    store: Store, stored: Definition, registration: Registration, execution: Execution
) -> None:
    """Write down what a run of this process goes on with, where it is another one than it began with.

    :raises StoreError: it cannot be written.
    """
    chosen = stored_definition(registration)
    if (chosen.kind, chosen.text) != (stored.kind, stored.text):
        await store.change_definition(new_run(execution, chosen, None))


async def found_again(request: RunRequest, workspace: Workspace) -> RunRequest:
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


async def put_back(
    workspace: Workspace, run_id: str, past: Past, definition: WorkflowDefinition | MachineWorkflow
) -> list[str]:
    """Undo what unfinished steps wrote, but for those that a person has to be asked about first.

    :returns: what could not be undone, because a finished step wrote over it.
    :raises WorkspaceError: something was changed since, or the journal is damaged.
    """
    left: list[str] = []
    steps = definition.steps if isinstance(definition, WorkflowDefinition) else ()
    asked = {step.id for step in steps if not step.idempotent}
    await workspace.put_back_unfinished(run_id, past.finished | asked, on_left=left.append)
    return left


def still_there(name: str, step: str = "") -> dict[str, Any]:
    """Return the notice of what could not be undone before a step starts again."""
    message = (
        f"{name} was written by a step that did not finish, and then by one that did: it was left as it is, "
        "and the step that starts again finds there what it wrote itself"
    )
    return {"step": step, "message": message, "level": "warn"}


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


def _load(store: Store, run_id: str) -> tuple[RunRequest, Definition, Past]:
    reader = store.reader()
    request = RunRequest.model_validate(reader.request(run_id))
    rows = reader.steps(run_id)
    memos = reader.memos(run_id)
    ended = sorted((row for row in rows if row.status in _ENDED), key=lambda row: row.order or 0)
    running = [row for row in rows if row.status == "running"]
    settled = {row.step: settled_of(row) for row in ended}
    moved = reader.last_event(run_id, EventName.TRANSITION.value)
    past = Past(
        settled=settled,
        attempts={row.step: failed for row in running if (failed := _failed_attempts(row, memos))},
        running=frozenset(row.step for row in running),
        memos=memos,
        usage=_usage(settled, memos),
        files=tuple(dict.fromkeys(path for row in ended for path in row.files)),
        executed=executed_of(reader, run_id),
        elapsed_ms=_time_at_work([*ended, *running]),
        agents=tuple(dict.fromkeys(row.agent for row in ended if row.attempts)),
        checkpoints=_checkpoints(reader.checkpoints(run_id, limit=_ALL)),
        moves=moved.data["move"] if moved else 0,
    )
    return request, reader.definition(run_id), past


def _failed_attempts(row: StepRow, memos: Mapping[str, Mapping[str, Any]]) -> int:
    """Count the attempts that failed; the last that started was perhaps only cut off."""
    kept = memos.get(row.step, {}).get(FAILED)
    return max(row.attempts - 1, kept["attempt"] if kept else 0)


def _usage(settled: Mapping[str, Settled], memos: Mapping[str, Mapping[str, Any]]) -> Usage:
    recorded = [ended.usage for ended in settled.values()]
    beside = [spent_on(kept, late=step in settled) for step, kept in memos.items()]
    return sum([*recorded, *beside], Usage())


def _usage_of(tokens: Tokens) -> Usage:
    return Usage(tokens.input, tokens.output, tokens.cost)


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
