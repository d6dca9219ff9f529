"""States, events and transition table of a workflow run, its state machine, and its metrics."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from tideate_core.machines.state_machine import PREVIOUS, Choice, StateMachine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.machines.state_machine import Guard, Table, Target


class ExecutionState(StrEnum):
    """A state of a run; the values are stored in the database."""

    IDLE = "idle"
    PARSING = "parsing"
    VALIDATING_WORKFLOW = "validating_workflow"
    BUILDING_DEPENDENCY_GRAPH = "building_dependency_graph"
    SCHEDULING_STEPS = "scheduling_steps"
    EXECUTING_STEPS = "executing_steps"
    AWAITING_COMPLETION = "awaiting_completion"
    CREATING_CHECKPOINT = "creating_checkpoint"
    RESTORING_FROM_CHECKPOINT = "restoring_from_checkpoint"
    AGGREGATING_RESULTS = "aggregating_results"
    COMPLETED = "completed"
    FAILED = "failed"
    PAUSED = "paused"
    CANCELLED = "cancelled"


class ExecutionEvent(StrEnum):
    """An event that moves a run to its next state."""

    INITIATE_WORKFLOW = "initiate_workflow"
    PARSE_WORKFLOW = "parse_workflow"
    WORKFLOW_PARSED = "workflow_parsed"
    PARSE_FAILED = "parse_failed"
    VALIDATE_WORKFLOW = "validate_workflow"
    WORKFLOW_VALID = "workflow_valid"
    WORKFLOW_INVALID = "workflow_invalid"
    BUILD_GRAPH = "build_graph"
    GRAPH_BUILT = "graph_built"
    GRAPH_INVALID = "graph_invalid"
    SCHEDULE_STEPS = "schedule_steps"
    STEPS_SCHEDULED = "steps_scheduled"
    EXECUTE_STEP_BATCH = "execute_step_batch"
    STEP_COMPLETED = "step_completed"
    STEP_FAILED = "step_failed"
    BATCH_COMPLETED = "batch_completed"
    ALL_STEPS_COMPLETED = "all_steps_completed"
    CREATE_CHECKPOINT = "create_checkpoint"
    CHECKPOINT_CREATED = "checkpoint_created"
    RESTORE_CHECKPOINT = "restore_checkpoint"
    CHECKPOINT_RESTORED = "checkpoint_restored"
    AGGREGATE_RESULTS = "aggregate_results"
    COMPLETE_WORKFLOW = "complete_workflow"
    RESULTS_AGGREGATED = "results_aggregated"
    WORKFLOW_FAILED = "workflow_failed"
    PAUSE_WORKFLOW = "pause_workflow"
    RESUME_WORKFLOW = "resume_workflow"
    CANCEL_WORKFLOW = "cancel_workflow"
    RESET = "reset"


_S = ExecutionState
_E = ExecutionEvent

_FLOW: Final[Table[ExecutionState, ExecutionEvent]] = {
    _S.IDLE: {
        _E.INITIATE_WORKFLOW: _S.PARSING,
        _E.RESTORE_CHECKPOINT: _S.RESTORING_FROM_CHECKPOINT,
    },
    _S.PARSING: {
        _E.PARSE_WORKFLOW: _S.PARSING,
        _E.WORKFLOW_PARSED: _S.VALIDATING_WORKFLOW,
        _E.PARSE_FAILED: _S.FAILED,
    },
    _S.VALIDATING_WORKFLOW: {
        _E.VALIDATE_WORKFLOW: _S.VALIDATING_WORKFLOW,
        _E.WORKFLOW_VALID: Choice("has_steps", _S.BUILDING_DEPENDENCY_GRAPH),
        _E.WORKFLOW_INVALID: _S.FAILED,
    },
    _S.BUILDING_DEPENDENCY_GRAPH: {
        _E.BUILD_GRAPH: _S.BUILDING_DEPENDENCY_GRAPH,
        _E.GRAPH_BUILT: _S.SCHEDULING_STEPS,
        _E.GRAPH_INVALID: _S.FAILED,
    },
    _S.SCHEDULING_STEPS: {
        _E.SCHEDULE_STEPS: _S.SCHEDULING_STEPS,
        _E.STEPS_SCHEDULED: Choice("has_graph", _S.EXECUTING_STEPS),
    },
    _S.EXECUTING_STEPS: {
        _E.EXECUTE_STEP_BATCH: _S.AWAITING_COMPLETION,
        _E.CREATE_CHECKPOINT: _S.CREATING_CHECKPOINT,
        _E.PAUSE_WORKFLOW: _S.PAUSED,
    },
    _S.AWAITING_COMPLETION: {
        _E.STEP_COMPLETED: _S.AWAITING_COMPLETION,
        _E.STEP_FAILED: _S.AWAITING_COMPLETION,
        _E.BATCH_COMPLETED: Choice("has_more_batches", _S.EXECUTING_STEPS, _S.AGGREGATING_RESULTS),
        _E.ALL_STEPS_COMPLETED: Choice(
            "has_fatal_failure", _S.FAILED, Choice("all_settled", _S.AGGREGATING_RESULTS)
        ),
        _E.CREATE_CHECKPOINT: _S.CREATING_CHECKPOINT,
        _E.PAUSE_WORKFLOW: _S.PAUSED,
    },
    _S.CREATING_CHECKPOINT: {_E.CHECKPOINT_CREATED: PREVIOUS},
    _S.RESTORING_FROM_CHECKPOINT: {_E.CHECKPOINT_RESTORED: Choice("has_graph", _S.EXECUTING_STEPS)},
    _S.AGGREGATING_RESULTS: {
        _E.AGGREGATE_RESULTS: _S.AGGREGATING_RESULTS,
        _E.COMPLETE_WORKFLOW: _S.AGGREGATING_RESULTS,
        _E.RESULTS_AGGREGATED: _S.COMPLETED,
    },
    _S.PAUSED: {_E.RESUME_WORKFLOW: PREVIOUS, _E.CREATE_CHECKPOINT: _S.CREATING_CHECKPOINT},
}
_TERMINAL: Final = (_S.COMPLETED, _S.FAILED, _S.CANCELLED)
_ENDS: Final[Mapping[ExecutionEvent, Target[ExecutionState]]] = {
    _E.WORKFLOW_FAILED: _S.FAILED,
    _E.CANCEL_WORKFLOW: _S.CANCELLED,
}

EXECUTION_TABLE: Final[Table[ExecutionState, ExecutionEvent]] = {
    **{state: {**row, **_ENDS} for state, row in _FLOW.items()},
    **{state: {_E.RESET: _S.IDLE} for state in _TERMINAL},
}
"""Every non-terminal state can fail or be cancelled; every terminal state can be reset."""


class ExecutionMachine(StateMachine[ExecutionState, ExecutionEvent]):
    """State machine of a run, with its guards.

    :param guards: `has_steps`, `has_graph`, `has_more_batches`, `has_fatal_failure`, `all_settled`.
    """

    def __init__(self, guards: Mapping[str, Guard]) -> None:
        super().__init__(EXECUTION_TABLE, ExecutionState.IDLE, guards=guards, reset=ExecutionEvent.RESET)


@dataclass(frozen=True, slots=True)
class ExecutionMetrics:
    """Counts of a run's steps, checkpoints, time and tokens, at any time."""

    total_steps: int
    """For a machine only the started steps: the total is unknown."""
    pending_steps: int
    running_steps: int
    completed_steps: int
    failed_steps: int
    skipped_steps: int
    batches: int
    """Sets of steps that can run in parallel; 0 for a machine."""
    current_batch: int | None
    """From 1: the first with a step that has not ended; None after the last, and for a machine."""
    checkpoints: int
    duration_ms: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars; None if unknown."""

    @classmethod
    def of(
        cls,
        statuses: Mapping[str, str],
        batches: Sequence[Sequence[str]],
        *,
        checkpoints: int,
        duration_ms: int,
        tokens: tuple[int, int, float | None],
    ) -> ExecutionMetrics:
        """Return the counts.

        :param statuses: step statuses: `pending`, `running`, `completed`, `failed`, `skipped`.
        :param batches: the execution order of a graph; steps without a status are pending.
        :param tokens: input tokens, output tokens, cost.
        """
        waiting = [step for batch in batches for step in batch if step not in statuses]
        found = [*statuses.values(), *("pending" for _ in waiting)]
        going = {"pending", "running"}
        current = (
            at
            for at, batch in enumerate(batches, 1)
            if any(statuses.get(step, "pending") in going for step in batch)
        )
        counts = {f"{status}_steps": found.count(status) for status in _STEP_STATUSES}
        return cls(
            total_steps=len(found),
            **counts,
            batches=len(batches),
            current_batch=next(current, None),
            checkpoints=checkpoints,
            duration_ms=duration_ms,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cost=tokens[2],
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


_STEP_STATUSES: Final = ("pending", "running", "completed", "failed", "skipped")
