"""Serialization of state machines: round trips and broken records."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.machines.door import Door, door
from tests.machines.reference_machine import MOVES, TABLES, AnyTable, Move, Pair
from tideate_core.errors import InvalidMachineRecord
from tideate_core.machines import StateMachine


def test_a_machine_comes_back_with_state_history_and_archive() -> None:
    machine = door("open", "break")
    machine.reset()
    machine.require("open")
    machine.require("look")
    again = Door.deserialize(machine.serialize())
    assert (again.state, again.get_history(), again.get_archive()) == (
        machine.state,
        machine.get_history(),
        machine.get_archive(),
    )
    assert again.transition("look_away")
    assert again.state == "opened"


def test_a_replay_believes_either_branch_of_a_choice_and_asks_no_guard() -> None:
    machine = door("lock")
    machine.has_key, machine.has_axe = False, True
    machine.require("unlock")
    again = Door.deserialize(machine.serialize(), has_key=False, has_axe=False)
    assert [step.to_state for step in again.get_history()] == ["locked", "broken"]


def test_the_written_form_is_json_with_a_version() -> None:
    assert json.loads(door("open").serialize()) == {
        "version": 1,
        "state": "opened",
        "history": [{"from": "closed", "to": "opened", "event": "open", "at": 125.0}],
        "archive": [],
    }


def changed(**changes: Any) -> str:
    """Return the record of a door that was opened, closed and opened, with changes at the top."""
    return json.dumps(json.loads(door("open", "close", "open").serialize()) | changes)


def with_step(number: int, **changes: Any) -> str:
    """Return that record with changes in one step of the history."""
    history = json.loads(changed())["history"]
    history[number] |= changes
    return changed(history=history)


BROKEN: list[tuple[str, str]] = [
    ("", "a machine's record: Invalid JSON"),
    ("[" * 100_000, "a machine's record: Invalid JSON"),
    (changed(version=None), "version: Input should be 1"),
    ("[]", "a machine's record: Input should be an object"),
    (changed(version=2), "version: Input should be 1"),
    (changed(version="1"), "version: Input should be 1"),
    ('{"version": 1, "state": "closed", "history": []}', "archive: Field required"),
    (changed(stat="closed"), "stat: Extra inputs are not permitted"),
    (changed(state=None), "state: Input should be a valid string"),
    (changed(state="opend"), "state: 'opend', but the history ends in 'opened'"),
    (changed(history=[]), "state: 'opened', but the history ends in 'closed'"),
    (changed(history={}), "history: Input should be a valid array"),
    (changed(history=[{"from": "closed"}]), "history.0.to: Field required"),
    (with_step(1, event="clse"), "'clse' does not lead from 'opened' to 'closed'; did you mean 'close'?"),
    (with_step(1, event=7), "history.1.event: Input should be a valid string"),
    (with_step(1, to="broken"), "history[1]: impossible transition: 'close' does not lead from 'opened'"),
    (with_step(1, event="lock"), "history[1]: impossible transition: 'lock' does not lead from 'opened'"),
    (with_step(1, to="nowhere"), "history[1]: impossible transition: 'close' does not lead from 'opened'"),
    (
        with_step(1, **{"from": "closed"}),
        "history[1].from: broken chain: 'closed', but the machine stood in 'opened'",
    ),
    (with_step(2, at=True), "history.2.at: Input should be a valid number"),
    (with_step(2, at=-1), "history.2.at: Input should be greater than or equal to 0"),
    (with_step(2, at=float("nan")), "history.2.at: Input should be a finite number"),
    (with_step(2, at=10**400), "history.2.at: Input should be a finite number"),
    (changed(archive=[[], [{}]]), "archive.1.0.from: Field required"),
    (
        changed(archive=[[{"from": "opened", "to": "closed", "event": "close", "at": 1}]]),
        "archive[0][0].from: broken chain",
    ),
]


@pytest.mark.parametrize(("text", "message"), BROKEN, ids=[message for _, message in BROKEN])
def test_a_broken_record_is_refused_with_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(InvalidMachineRecord) as refused:
        Door.deserialize(text)
    assert message in str(refused.value)


def test_a_record_cannot_lead_back_to_where_no_suspension_began() -> None:
    history = json.loads(door("open", "look", "look_away").serialize())["history"]
    history[2]["to"] = "closed"
    text = changed(history=history, state="closed")
    with pytest.raises(InvalidMachineRecord, match=r"history\[2\]: impossible transition: 'look_away'"):
        Door.deserialize(text)


@pytest.mark.slow
@given(TABLES, MOVES, MOVES)
def test_a_machine_written_down_anywhere_goes_on_as_if_it_had_not_been(
    table: AnyTable, before: list[Move], after: list[Move]
) -> None:
    pair = Pair(table, "a")
    for move in before:
        if event := pair.event(move):
            assert pair.machine.transition(event) == pair.model.send(event)
    again: StateMachine[str, str] = StateMachine.deserialize(
        pair.machine.serialize(), table, "a", **pair.options
    )
    assert again.get_history() == pair.machine.get_history()
    for move in after:
        if event := pair.event(move):
            assert again.transition(event) == pair.model.send(event)
            assert again.state == pair.model.state


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["closed", "opened", "open"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["from", "to", "event", "at", "state"]), inner, max_size=4)
    ),
    max_leaves=8,
)
NONSENSE: st.SearchStrategy[str] = st.one_of(
    st.text(),
    JSON.map(json.dumps),
    st.fixed_dictionaries({"version": st.just(1), "state": JSON, "history": JSON, "archive": JSON}).map(
        json.dumps
    ),
    st.builds(with_step, st.integers(0, 2), to=JSON, event=JSON, at=JSON),
)


@pytest.mark.slow
@given(NONSENSE)
def test_any_text_is_a_machine_or_refused_by_our_error(text: str) -> None:
    try:
        machine = Door.deserialize(text)
    except InvalidMachineRecord as error:
        assert str(error)
    else:
        assert json.loads(machine.serialize())["state"] == json.loads(text)["state"]


def test_a_record_that_was_cut_anywhere_is_refused() -> None:
    whole = door("open", "look", "look_away", "close", "lock").serialize()
    for end in range(len(whole)):
        with pytest.raises(InvalidMachineRecord):
            Door.deserialize(whole[:end])
