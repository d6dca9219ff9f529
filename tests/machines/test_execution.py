"""The run table, for every pair of state and event; metrics."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tideate_core.machines import (
    EXECUTION_TABLE,
    PREVIOUS,
    Choice,
    ExecutionEvent,
    ExecutionMachine,
    ExecutionMetrics,
    ExecutionState,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

S, E = ExecutionState, ExecutionEvent
TERMINAL = {S.COMPLETED, S.FAILED, S.CANCELLED}

ALLOWED: dict[tuple[ExecutionState, ExecutionEvent], set[object]] = {
    (S.IDLE, E.INITIATE_WORKFLOW): {S.PARSING},
    (S.IDLE, E.RESTORE_CHECKPOINT): {S.RESTORING_FROM_CHECKPOINT},
    (S.PARSING, E.PARSE_WORKFLOW): {S.PARSING},
    (S.PARSING, E.WORKFLOW_PARSED): {S.VALIDATING_WORKFLOW},
    (S.PARSING, E.PARSE_FAILED): {S.FAILED},
    (S.VALIDATING_WORKFLOW, E.VALIDATE_WORKFLOW): {S.VALIDATING_WORKFLOW},
    (S.VALIDATING_WORKFLOW, E.WORKFLOW_VALID): {S.BUILDING_DEPENDENCY_GRAPH},
    (S.VALIDATING_WORKFLOW, E.WORKFLOW_INVALID): {S.FAILED},
    (S.BUILDING_DEPENDENCY_GRAPH, E.BUILD_GRAPH): {S.BUILDING_DEPENDENCY_GRAPH},
    (S.BUILDING_DEPENDENCY_GRAPH, E.GRAPH_BUILT): {S.SCHEDULING_STEPS},
    (S.BUILDING_DEPENDENCY_GRAPH, E.GRAPH_INVALID): {S.FAILED},
    (S.SCHEDULING_STEPS, E.SCHEDULE_STEPS): {S.SCHEDULING_STEPS},
    (S.SCHEDULING_STEPS, E.STEPS_SCHEDULED): {S.EXECUTING_STEPS},
    (S.EXECUTING_STEPS, E.EXECUTE_STEP_BATCH): {S.AWAITING_COMPLETION},
    (S.EXECUTING_STEPS, E.CREATE_CHECKPOINT): {S.CREATING_CHECKPOINT},
    (S.EXECUTING_STEPS, E.PAUSE_WORKFLOW): {S.PAUSED},
    (S.AWAITING_COMPLETION, E.STEP_COMPLETED): {S.AWAITING_COMPLETION},
    (S.AWAITING_COMPLETION, E.STEP_FAILED): {S.AWAITING_COMPLETION},
    (S.AWAITING_COMPLETION, E.BATCH_COMPLETED): {S.EXECUTING_STEPS, S.AGGREGATING_RESULTS},
    (S.AWAITING_COMPLETION, E.ALL_STEPS_COMPLETED): {S.FAILED, S.AGGREGATING_RESULTS},
    (S.AWAITING_COMPLETION, E.CREATE_CHECKPOINT): {S.CREATING_CHECKPOINT},
    (S.AWAITING_COMPLETION, E.PAUSE_WORKFLOW): {S.PAUSED},
    (S.CREATING_CHECKPOINT, E.CHECKPOINT_CREATED): {PREVIOUS},
    (S.RESTORING_FROM_CHECKPOINT, E.CHECKPOINT_RESTORED): {S.EXECUTING_STEPS},
    (S.AGGREGATING_RESULTS, E.AGGREGATE_RESULTS): {S.AGGREGATING_RESULTS},
    (S.AGGREGATING_RESULTS, E.COMPLETE_WORKFLOW): {S.AGGREGATING_RESULTS},
    (S.AGGREGATING_RESULTS, E.RESULTS_AGGREGATED): {S.COMPLETED},
    (S.PAUSED, E.RESUME_WORKFLOW): {PREVIOUS},
    (S.PAUSED, E.CREATE_CHECKPOINT): {S.CREATING_CHECKPOINT},
}


def targets(target: object) -> Iterator[object]:
    if isinstance(target, Choice):
        yield from targets(target.then)
        yield from targets(target.otherwise)
    elif target is not None:
        yield target


def expected(state: ExecutionState, event: ExecutionEvent) -> set[object]:
    if state in TERMINAL:
        return {S.IDLE} if event is E.RESET else set()
    if event is E.WORKFLOW_FAILED:
        return {S.FAILED}
    if event is E.CANCEL_WORKFLOW:
        return {S.CANCELLED}
    return ALLOWED.get((state, event), set())


@pytest.mark.parametrize(("state", "event"), list(itertools.product(S, E)))
def test_every_pair_of_state_and_event_is_the_documents(state: ExecutionState, event: ExecutionEvent) -> None:
    assert set(targets(EXECUTION_TABLE[state].get(event))) == expected(state, event)


class Facts:
    """Adjustable results of the guards."""

    def __init__(self, **facts: bool) -> None:
        names = ("has_steps", "has_graph", "has_more_batches", "has_fatal_failure", "all_settled")
        self.facts = dict.fromkeys(names, False) | facts
        self.guards = {name: partial(self.facts.__getitem__, name) for name in names}
        self.machine = ExecutionMachine(self.guards)

    def go(self, *events: ExecutionEvent) -> ExecutionState:
        for event in events:
            self.machine.require(event)
        return self.machine.state


TO_EXECUTING = (
    E.INITIATE_WORKFLOW,
    E.WORKFLOW_PARSED,
    E.WORKFLOW_VALID,
    E.GRAPH_BUILT,
    E.STEPS_SCHEDULED,
)


def test_a_workflow_without_steps_is_not_valid() -> None:
    facts = Facts(has_steps=False)
    facts.go(E.INITIATE_WORKFLOW, E.WORKFLOW_PARSED)
    assert not facts.machine.transition(E.WORKFLOW_VALID)
    assert facts.machine.state is S.VALIDATING_WORKFLOW


def test_the_last_batch_leads_to_the_results_and_earlier_ones_do_not() -> None:
    facts = Facts(has_steps=True, has_graph=True, has_more_batches=True)
    assert facts.go(*TO_EXECUTING, E.EXECUTE_STEP_BATCH, E.BATCH_COMPLETED) is S.EXECUTING_STEPS
    facts.facts["has_more_batches"] = False
    assert facts.go(E.EXECUTE_STEP_BATCH, E.BATCH_COMPLETED) is S.AGGREGATING_RESULTS


def test_all_steps_completed_is_refused_while_one_runs_and_fails_with_a_failed_one() -> None:
    facts = Facts(has_steps=True, has_graph=True)
    facts.go(*TO_EXECUTING, E.EXECUTE_STEP_BATCH)
    assert not facts.machine.can_transition(E.ALL_STEPS_COMPLETED)
    facts.facts["has_fatal_failure"] = True
    assert facts.go(E.ALL_STEPS_COMPLETED) is S.FAILED


def test_a_checkpoint_made_in_a_pause_leads_back_to_the_pause_and_then_to_the_run() -> None:
    facts = Facts(has_steps=True, has_graph=True)
    facts.go(*TO_EXECUTING, E.PAUSE_WORKFLOW, E.CREATE_CHECKPOINT)
    assert facts.go(E.CHECKPOINT_CREATED) is S.PAUSED
    assert facts.go(E.RESUME_WORKFLOW) is S.EXECUTING_STEPS


def test_metrics_count_steps_by_state_and_name_the_batch_that_has_not_ended() -> None:
    batches = [["a", "b"], ["c"], ["d"]]

    def metrics(**statuses: str) -> ExecutionMetrics:
        return ExecutionMetrics.of(statuses, batches, checkpoints=1, duration_ms=5, tokens=(3, 2, None))

    assert metrics().current_batch == 1
    going = metrics(a="completed", b="running")
    assert (going.total_steps, going.completed_steps, going.running_steps, going.pending_steps) == (
        4,
        1,
        1,
        2,
    )
    assert going.current_batch == 1
    assert metrics(a="completed", b="skipped", c="pending").current_batch == 2
    ended = metrics(a="completed", b="skipped", c="failed", d="skipped")
    assert (ended.current_batch, ended.failed_steps, ended.skipped_steps) == (None, 1, 2)
    assert (ended.batches, ended.checkpoints, ended.duration_ms) == (3, 1, 5)


def test_metrics_of_a_machine_count_the_steps_that_started() -> None:
    found = ExecutionMetrics.of(
        {"a#1": "completed", "a#2": "running"}, (), checkpoints=0, duration_ms=1, tokens=(0, 0, 0.5)
    )
    assert (found.total_steps, found.batches, found.current_batch, found.cost) == (2, 0, None, 0.5)
