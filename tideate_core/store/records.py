"""Records that go into the store and come out of it: plain, frozen, JSON inside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "TERMINAL",
    "CheckpointRow",
    "ControlRequest",
    "Definition",
    "Ending",
    "EventRow",
    "Fork",
    "FoundRun",
    "Graph",
    "Lease",
    "Message",
    "NewRun",
    "RunRow",
    "State",
    "Status",
    "StepOutcome",
    "StepRow",
    "StepStart",
    "StepStatus",
    "Tokens",
    "last_result_value",
    "state_of",
]

Status = Literal[
    "idle",
    "parsing",
    "validating_workflow",
    "building_dependency_graph",
    "scheduling_steps",
    "executing_steps",
    "awaiting_completion",
    "creating_checkpoint",
    "restoring_from_checkpoint",
    "aggregating_results",
    "completed",
    "failed",
    "paused",
    "cancelled",
]
"""Of a run: the values of `machines.ExecutionState`."""

TERMINAL: Final = ("completed", "failed", "cancelled")
"""Statuses of runs that ended."""

StepStatus = Literal["pending", "running", "completed", "failed", "skipped"]

State = Literal["cancelled", "completed", "failed", "interrupted", "paused", "running"]
"""Of a run, for a person: `interrupted` is one that its process did not bring to an end."""


@dataclass(frozen=True, slots=True)
class Message:
    """A person's message to the model that works in a run."""

    text: str
    id: int = 0
    """Its number in the store, where it is kept until a model reads it or its run ends; 0 before."""

    def __str__(self) -> str:
        return "say"


ControlRequest: TypeAlias = Literal["pause", "resume", "cancel"] | Message
"""Asked of a run's owner by another process."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph of a run's steps: `edges` lead from a dependency to its dependent."""

    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]
    execution_order: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition that a run was started from, kept by the hash of its text."""

    workflow_id: str
    """A UUID, the same for every version of a workflow of one name and source."""
    name: str
    kind: Literal["graph", "machine"]
    text: str
    """The definition as JSON, or a `.workflow` file's text: whole, a run is continued with it."""
    description: str = ""
    version: str = "1.0.0"
    source: str = ""
    """As `workflows.Source`."""
    path: str | None = None
    """The file that it was read from, None where there is none."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens that models were asked and answered with; `cost` in US dollars, None where nobody knows."""

    input: int = 0
    output: int = 0
    cost: float | None = None
    cached: int = 0
    """Of the input, those that a provider had in its cache."""


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that begins. Times are milliseconds since the epoch."""

    id: str
    """32 hexadecimal digits."""
    definition: Definition
    request: dict[str, Any]
    """JSON of the engine's `RunRequest`."""
    total_steps: int
    """0 of a machine: nobody knows how many there will be."""
    started_at: int
    graph: Graph | None = None
    """None of a machine."""
    parent: str | None = None
    """The run whose step this is, None of a run by itself."""
    parent_step: str | None = None
    status: Status = "idle"
    steps: tuple[tuple[str, str, str], ...] = ()
    """Id, name and what does it (an agent, a handler, …) of every step of a graph, in its order."""


@dataclass(frozen=True, slots=True)
class StepStart:
    """A step that starts, or starts again."""

    step: str
    """Unique in the run; of `for_each` with `[0]`, of a machine's second visit with `#2`."""
    name: str
    agent: str
    """The one that does it: an agent's name, `handler`, `tool`, `workflow`, `machine`."""
    task: str
    """Its task; cut by the store where it is long."""
    attempt: int
    """From 1, over all processes that tried."""
    started_at: int
    dependencies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The outcome of a step."""

    step: str
    status: Literal["completed", "failed", "skipped"]
    completed_at: int
    duration_ms: int = 0
    result: Any = None
    """JSON."""
    error: str | None = None
    error_code: str | None = None
    tokens: Tokens = Tokens()
    files: tuple[str, ...] = ()
    """Paths that it changed."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The ending of a run."""

    status: Literal["completed", "failed", "cancelled"]
    completed_at: int
    duration_ms: int
    response: Any = None
    error: str | None = None
    error_code: str | None = None
    tokens: Tokens = Tokens()
    files: tuple[str, ...] = ()
    completed_steps: int = 0
    failed_steps: int = 0
    reason: str | None = None
    """Of a cancelled run: `declined` or `cancelled`."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The process that owns a run."""

    owner: str
    """Unique among all processes there ever were."""
    pid: int
    host: str
    process_started: str
    """Tells a process from a later one with the same id."""
    heartbeat_at: int
    """Milliseconds since the epoch."""
    alive: bool
    """As far as can be told from here: same machine and the process is there, else a recent heartbeat."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as lists show it."""

    id: str
    name: str
    kind: Literal["graph", "machine"]
    status: Status
    started_at: int
    completed_at: int | None
    duration_ms: int | None
    completed_steps: int
    failed_steps: int
    total_steps: int
    current_step: str | None
    prompt: str
    error: str | None
    error_code: str | None
    reason: str | None
    tokens: Tokens
    files: tuple[str, ...]
    parent: str | None
    lease: Lease | None
    """None where no process has it."""
    workflow_id: str
    definition_hash: str
    path: str | None
    source: str
    restored_from: str | None = None
    """The checkpoint that it began with, None of a run from the start."""
    continues: str | None = None
    """The run whose conversation it goes on with, which may be gone."""
    forked_from: str | None = None
    """The run whose results it began with, which may be gone; None of a run from the start."""
    forked_step: str | None = None
    """The step from which on it ran anew what that run had done."""
    reused: int = 0
    """Steps whose `order` is at most this are another run's, which did them."""
    compared: tuple[str, ...] = ()
    """The models of the comparison that it is part of, its own among them; empty: it is part of none."""

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL

    @property
    def resumable(self) -> bool:
        """It has not ended, and no living process has it."""
        return not self.ended and (self.lease is None or not self.lease.alive)


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run with the words that were looked for."""

    number: int
    """Ascending in the order in which runs began."""
    run: str
    """Its id, of a run that is a step of another that one's."""
    excerpt: str
    """Where the words stand."""


@dataclass(frozen=True, slots=True)
class Fork:
    """A new run that begins with what another one did."""

    source: str
    run: str
    """The new one's id, 32 hexadecimal digits."""
    at: int
    """When it begins, milliseconds since the epoch."""
    cursor: int
    """Steps of the source that ended later are not in it."""
    again: tuple[str, ...] = ()
    """Steps that are not in it either; it runs them itself."""
    step: str | None = None
    """The step that a person named; None of a checkpoint."""
    checkpoint: str | None = None
    memos_before: int | None = None
    """Memos of the whole run are in it that were made before so many steps had ended; None: `cursor`."""
    memos: tuple[str, ...] = ()
    """Keys of such memos that are in it whenever they were made."""
    no_memos: tuple[str, ...] = ()
    """Keys of such memos that are not in it."""
    request: dict[str, Any] | None = None
    """What it is started with; None: what the source was."""
    results: Mapping[str, Any] = field(default_factory=dict)
    """Other results of steps that are in it, by step."""
    until: int | None = None
    """Memos of `step`, its items and the whole run are in it that were made before this event."""
    step_memos: Mapping[str, Any] = field(default_factory=dict)
    """Memos of `step` that are in it beside those, or in place of them, by key."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step as the store has it."""

    step: str
    name: str
    agent: str
    task: str
    status: StepStatus
    attempts: int
    dependencies: tuple[str, ...]
    result: Any
    error: str | None
    error_code: str | None
    started_at: int | None
    completed_at: int | None
    duration_ms: int | None
    tokens: Tokens
    files: tuple[str, ...]
    order: int | None
    """Its place among the steps that ended, from 1; None before."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event of a run."""

    sequence: int
    """From 1, without gaps, in the order they happened."""
    name: str
    at: int
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A point that a run can be forked at: a cursor into its ended steps, not a copy of them."""

    id: str
    run: str
    step: str
    """The step after which it was made."""
    cursor: int
    """All steps whose `order` is at most this belong to it."""
    created_at: int
    memory: int
    """Peak memory of the process when it was made, in bytes."""
    manual: bool = False
    """A person wanted it; retention spares it."""


def state_of(run: RunRow) -> State:
    """Return the state of a run, as every list names it."""
    if run.status in ("completed", "failed", "cancelled"):
        return run.status
    if run.status == "paused":
        return "paused"
    return "interrupted" if run.resumable else "running"


def last_result_value(steps: Iterable[StepRow], key: str) -> dict[str, Any] | None:
    """Return the value under a key of the last completed step's result that has it.

    So a task's plan is the one that was agreed on, not the one that was made first.
    """
    ended = sorted((row for row in steps if row.status == "completed"), key=lambda row: row.started_at or 0)
    found = [row.result[key] for row in ended if isinstance(row.result, dict) and row.result.get(key)]
    return found[-1] if found else None
