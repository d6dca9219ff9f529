"""Frozen dataclasses written to and read from the store: runs, steps, events, checkpoints, leases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
"""Status of a run: the values of `machines.ExecutionState`."""

TERMINAL: Final = ("completed", "failed", "cancelled")
"""Statuses of runs that ended."""

StepStatus = Literal["pending", "running", "completed", "failed", "skipped"]

State = Literal["cancelled", "completed", "failed", "interrupted", "paused", "running"]
"""State of a run as shown to a person; `interrupted`: its process ended before the run did."""


@dataclass(frozen=True, slots=True)
class Message:
    """A person's message to the model of a run."""

    text: str
    id: int = 0
    """Its number in the store while it waits there to be read; 0 before."""

    def __str__(self) -> str:
        return "say"


ControlRequest: TypeAlias = Literal["pause", "resume", "cancel"] | Message
"""A request of another process to a run's owner."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph of a run's steps: `edges` lead from a dependency to its dependent."""

    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]
    execution_order: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of a run, stored by the hash of its text."""

    workflow_id: str
    """A UUID, equal for all versions of a workflow with one name and source."""
    name: str
    kind: Literal["graph", "machine"]
    text: str
    """JSON, or the text of a `.workflow` file; complete, so that a run can continue with it."""
    description: str = ""
    version: str = "1.0.0"
    source: str = ""
    """See `workflows.Source`."""
    path: str | None = None
    """The file that it was read from; None if there is none."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token usage of models; `cost` in US dollars, None if unknown."""

    input: int = 0
    output: int = 0
    cost: float | None = None
    cached: int = 0
    """Input tokens that were in the provider's cache."""


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that starts. Times are milliseconds since the epoch."""

    id: str
    """32 hexadecimal digits."""
    definition: Definition
    request: dict[str, Any]
    """JSON of the engine's `RunRequest`."""
    total_steps: int
    """0 for a machine: unknown in advance."""
    started_at: int
    graph: Graph | None = None
    """None for a machine."""
    parent: str | None = None
    """The run that has this run as a step; None for a top-level run."""
    parent_step: str | None = None
    status: Status = "idle"
    steps: tuple[tuple[str, str, str], ...] = ()
    """Id, name and worker (an agent, a handler, …) of every step of a graph, in order."""


@dataclass(frozen=True, slots=True)
class StepStart:
    """The start of a step, or of another attempt."""

    step: str
    """Unique in the run; `for_each` items end in `[0]`, repeated visits of a machine's state in `#2`."""
    name: str
    agent: str
    """The worker: an agent's name, `handler`, `tool`, `workflow` or `machine`."""
    task: str
    """Its task; the store truncates it."""
    attempt: int
    """From 1, counted over all processes."""
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
    """Paths of changed files."""


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
    """Reason of a cancelled run: `declined` or `cancelled`."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The process that owns a run."""

    owner: str
    """Globally unique."""
    pid: int
    host: str
    process_started: str
    """Distinguishes a process from a later one with the same pid."""
    heartbeat_at: int
    """Milliseconds since the epoch."""
    alive: bool
    """As far as this machine can tell: the process exists here, or its heartbeat is recent."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as shown in lists."""

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
    """None if no process owns it."""
    workflow_id: str
    definition_hash: str
    path: str | None
    source: str
    restored_from: str | None = None
    """The checkpoint that it was forked from; None otherwise."""
    continues: str | None = None
    """The run that it continues, which may be gone."""
    forked_from: str | None = None
    """The run that it was forked from, which may be gone; None if it was not forked."""
    forked_step: str | None = None
    """The first step that it ran itself after the fork."""
    reused: int = 0
    """Steps with an `order` up to this were done by another run."""
    compared: tuple[str, ...] = ()
    """The models of its comparison, including its own; empty without a comparison."""

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL

    @property
    def resumable(self) -> bool:
        """It has not ended, and no living process owns it."""
        return not self.ended and (self.lease is None or not self.lease.alive)


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run found by a search."""

    number: int
    """Ascending in the order of the runs' starts."""
    run: str
    """Its id, or the id of the run around it."""
    excerpt: str
    """Text around the match."""


@dataclass(frozen=True, slots=True)
class Fork:
    """A new run that copies the results of another run."""

    source: str
    run: str
    """The new run's id, 32 hexadecimal digits."""
    at: int
    """Its start, in milliseconds since the epoch."""
    cursor: int
    """Position in the source; steps that ended later are not copied."""
    again: tuple[str, ...] = ()
    """Steps that are not copied; the new run runs them."""
    step: str | None = None
    """The step named by the person; None for a checkpoint."""
    checkpoint: str | None = None
    memos_before: int | None = None
    """Run-level memos made before this many steps had ended are copied; None: `cursor`."""
    memos: tuple[str, ...] = ()
    """Keys of run-level memos that are always copied."""
    no_memos: tuple[str, ...] = ()
    """Keys of run-level memos that are never copied."""
    request: dict[str, Any] | None = None
    """Its request; None: the source's."""
    results: Mapping[str, Any] = field(default_factory=dict)
    """Replaced results of copied steps, by step."""
    until: int | None = None
    """Memos of `step`, its items and the whole run from before this event are copied."""
    step_memos: Mapping[str, Any] = field(default_factory=dict)
    """Memos of `step` to add, or to replace, by key."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step's row."""

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
    """Its order among the ended steps, from 1; None before it ends."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event of a run."""

    sequence: int
    """From 1, without gaps, in order."""
    name: str
    at: int
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A position at which a run can be forked: a cursor into its ended steps, not a copy of them."""

    id: str
    run: str
    step: str
    """The step before it."""
    cursor: int
    """Includes all steps with an `order` up to this."""
    created_at: int
    memory: int
    """Peak memory of the process at that time, in bytes."""
    manual: bool = False
    """Created by a person; retention keeps it."""


@dataclass(frozen=True, slots=True)
class MetricsRow:
    """Counts of a workflow's runs on one day (UTC), maintained by triggers."""

    workflow_id: str
    name: str
    date: str
    total: int
    successful: int
    failed: int
    avg_duration_ms: float | None
    avg_steps_completed: float | None
    checkpoints: int
    last_executed_at: int | None


@dataclass(frozen=True, slots=True)
class CostRow:
    """Answers of one model on one day (UTC)."""

    date: str
    model: str
    runs: int
    answers: int
    tokens: Tokens
    unpriced: int
    """Answers of unknown price."""


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """One decision of one gate."""

    gate: int
    passed: bool
    auto_fixed: bool
    duration_ms: int
    at: int
    """Milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class GateCount:
    """Counts of one gate's decisions."""

    gate: int
    passed: int = 0
    failed: int = 0
    auto_fixed: int = 0
    """Included in `passed`."""
    total_ms: int = 0
    longest_ms: int = 0
    last_at: int = 0
    """Milliseconds since the epoch."""


def state_of(run: RunRow) -> State:
    """Return the lifecycle state of a run; people see `state_word`."""
    if run.status in ("completed", "failed", "cancelled"):
        return run.status
    if run.status == "paused":
        return "paused"
    return "interrupted" if run.resumable else "running"


def state_word(run: RunRow) -> str:
    """Return the word for a run's state; a run cancelled by the person's answer is `declined`."""
    return "declined" if run.status == "cancelled" and run.reason == "declined" else state_of(run)


def last_result_value(steps: Iterable[StepRow], key: str) -> dict[str, Any] | None:
    """Return the value of a key in the last completed step's result that has the key.

    For a task's plan, this is the confirmed plan, not the first draft.
    """
    ended = sorted((row for row in steps if row.status == "completed"), key=lambda row: row.started_at or 0)
    found = [row.result[key] for row in ended if isinstance(row.result, dict) and row.result.get(key)]
    return found[-1] if found else None
