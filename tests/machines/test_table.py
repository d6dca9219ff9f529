"""Properties of both shipped tables: reachability, ends, agreement with the model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.machines.reference_machine import MOVES, AnyTable, Move, Pair
from tideate_core.machines import EXECUTION_TABLE, PREVIOUS, TASK_TABLE, Choice, ExecutionState, WorkflowState

SHIPPED: dict[str, tuple[AnyTable, str, set[str]]] = {
    "execution": (
        EXECUTION_TABLE,
        ExecutionState.IDLE,
        {ExecutionState.COMPLETED, ExecutionState.FAILED, ExecutionState.CANCELLED},
    ),
    "task": (TASK_TABLE, WorkflowState.IDLE, {WorkflowState.COMPLETE, WorkflowState.FAILED}),
}
EACH = pytest.mark.parametrize(("table", "initial", "ends"), SHIPPED.values(), ids=SHIPPED)


def successors(table: AnyTable, state: str) -> set[str]:
    """Return the possible next states; `PREVIOUS` counts as all predecessors."""
    found: set[str] = set()
    for target in table[state].values():
        if target is PREVIOUS:
            found |= {other for other in table if state in set(plain(table[other].values()))}
        else:
            found |= set(plain([target]))
    return found


def plain(targets: Any) -> list[str]:
    flat = []
    for target in targets:
        if isinstance(target, Choice):
            flat += plain([target.then, target.otherwise])
        elif target is not None and target is not PREVIOUS:
            flat.append(target)
    return flat


def reachable(table: AnyTable, start: str, *, without_reset: bool = False) -> set[str]:
    found = {start}
    for state in (queue := [start]):
        ends = without_reset and set(table[state]) == {"reset"}
        for target in sorted(set() if ends else successors(table, state) - found):
            found.add(target)
            queue.append(target)
    return found


@EACH
def test_every_state_can_be_reached(table: AnyTable, initial: str, ends: set[str]) -> None:
    assert reachable(table, initial) == set(table) > ends


@EACH
def test_every_state_can_come_to_an_end(table: AnyTable, initial: str, ends: set[str]) -> None:
    assert initial not in ends
    for state in table:
        assert reachable(table, state, without_reset=True) & ends, state


@EACH
def test_the_ends_are_the_states_that_only_a_reset_leaves(
    table: AnyTable, initial: str, ends: set[str]
) -> None:
    assert {state for state, row in table.items() if row == {"reset": initial}} == ends
    assert [state for state, row in table.items() if "reset" in row and state not in ends] == []


@pytest.mark.slow
@given(st.sampled_from(sorted(SHIPPED)), MOVES)
def test_any_walk_is_the_models_and_can_be_written_down(name: str, moves: list[Move]) -> None:
    table, initial, ends = SHIPPED[name]
    pair = Pair(table, initial, "reset")
    for move in moves:
        event = pair.event(move)
        assert event is not None
        assert pair.machine.transition(event) == pair.model.send(event)
        assert pair.machine.state == pair.model.state
        assert pair.machine.is_terminal() == (pair.model.state in ends)
    again = type(pair.machine).deserialize(pair.machine.serialize(), table, initial, **pair.options)
    assert again.get_history() == pair.machine.get_history()
    assert again.serialize() == pair.machine.serialize()
