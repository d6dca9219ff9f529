"""The task table, for every pair of state and event."""

from __future__ import annotations

import itertools

import pytest

from tideate_core.machines import TASK_TABLE, WorkflowEvent, WorkflowFSM, WorkflowState

S, E = WorkflowState, WorkflowEvent

TRANSITIONS = """
IDLE                        START_TASK                 PLANNING
PLANNING                    PLANNING_COMPLETE          AWAITING_PLAN_GATE
AWAITING_PLAN_GATE          PLAN_GATE_PASSED           AUDITING
AWAITING_PLAN_GATE          PLAN_GATE_FAILED           FAILED
AUDITING                    AUDITING_COMPLETE          AWAITING_AUDIT_GATE
AWAITING_AUDIT_GATE         AUDIT_GATE_PASSED          EXECUTING
AWAITING_AUDIT_GATE         AUDIT_GATE_FAILED          PLANNING
EXECUTING                   EXECUTION_COMPLETE         AWAITING_EXECUTION_GATE
AWAITING_EXECUTION_GATE     EXECUTION_GATE_PASSED      DOCUMENTING
AWAITING_EXECUTION_GATE     EXECUTION_GATE_FAILED      FAILED
DOCUMENTING                 DOCUMENTATION_COMPLETE     AWAITING_DOCUMENTATION_GATE
AWAITING_DOCUMENTATION_GATE DOCUMENTATION_GATE_PASSED  VERIFYING
AWAITING_DOCUMENTATION_GATE DOCUMENTATION_GATE_FAILED  FAILED
VERIFYING                   VERIFICATION_PASSED        COMPLETE
VERIFYING                   VERIFICATION_FAILED        SELF_CORRECTING
SELF_CORRECTING             CORRECTION_SUCCEEDED       VERIFYING
SELF_CORRECTING             CORRECTION_EXHAUSTED       FAILED
COMPLETE                    RESET                      IDLE
FAILED                      RESET                      IDLE
"""
EXPECTED = {
    (S[state], E[event]): S[target] for state, event, target in map(str.split, TRANSITIONS.split("\n")[1:-1])
}


def at(state: WorkflowState) -> WorkflowFSM:
    """Return a task that reached a state by the shortest path."""
    ways: dict[WorkflowState, tuple[WorkflowEvent, ...]] = {S.IDLE: ()}
    for here in (queue := [S.IDLE]):
        for (source, event), target in EXPECTED.items():
            if source is here and target not in ways:
                ways[target] = (*ways[here], event)
                queue.append(target)
    task = WorkflowFSM()
    for event in ways[state]:
        task.require(event)
    assert task.state is state
    return task


def test_there_are_thirteen_states_and_eighteen_events_each_used() -> None:
    assert len(S) == 13
    assert len(E) == 18
    assert {state for state, _ in EXPECTED} == set(S) == set(TASK_TABLE)
    assert {event for _, event in EXPECTED} == set(E)


@pytest.mark.parametrize(("state", "event"), list(itertools.product(S, E)))
def test_every_pair_of_state_and_event_is_the_documents(state: WorkflowState, event: WorkflowEvent) -> None:
    task = at(state)
    expected = EXPECTED.get((state, event))
    assert task.can_transition(event) == (expected is not None)
    assert task.transition(event) == (expected is not None)
    assert task.state is (expected or state)


@pytest.mark.parametrize("state", S)
def test_a_gate_is_awaited_in_the_awaiting_states_only(state: WorkflowState) -> None:
    assert at(state).is_awaiting_gate() == state.name.startswith("AWAITING_")


@pytest.mark.parametrize("state", S)
def test_a_task_ends_complete_or_failed_and_only_then_can_be_reset(state: WorkflowState) -> None:
    task = at(state)
    ended = state in (S.COMPLETE, S.FAILED)
    assert task.is_terminal() == ended
    assert task.reset() == ended
    assert task.state is (S.IDLE if ended else state)


@pytest.mark.parametrize("state", S)
def test_a_task_in_any_state_can_be_saved_restored_and_forced_back(state: WorkflowState) -> None:
    task = WorkflowFSM.deserialize(at(state).serialize())
    assert task.state is state
    assert all(isinstance(step.event, E) for step in task.get_history())
    task.force_reset()
    assert task.state is S.IDLE
    assert task.transition(E.START_TASK)
