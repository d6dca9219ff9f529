"""State machines over any table: transitions, guards, suspension, reset, logging."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from tests.machines.door import DOOR, Door, door
from tests.machines.reference_machine import MOVES, TABLES, AnyTable, Move, Pair
from tideate_core.errors import InvalidTransition
from tideate_core.machines import PREVIOUS, Choice, StateMachine, StateTransition

if TYPE_CHECKING:
    from tideate_core.machines import Table


def test_an_allowed_event_moves_and_is_remembered_with_its_time() -> None:
    machine = Door()
    assert machine.transition("open")
    assert machine.transition("break")
    assert machine.state == machine.get_state() == "broken"
    machine.get_history().clear()  # a copy
    assert machine.get_history() == [
        StateTransition("closed", "opened", "open", 125.0),
        StateTransition("opened", "broken", "break", 125.125),
    ]


@pytest.mark.parametrize("event", ["close", "unlock", "no such event", "look_away"])
def test_an_event_that_is_not_allowed_changes_nothing(event: str) -> None:
    machine = door("knock")
    before = machine.serialize()
    assert not machine.can_transition(event)
    assert not machine.transition(event)
    assert machine.serialize() == before


def test_a_guard_is_asked_at_each_event_and_may_choose_the_target() -> None:
    machine = Door(has_key=False)
    assert not machine.can_transition("lock")
    machine.has_key = True
    machine.require("lock")
    machine.has_key = False
    assert not machine.transition("unlock")
    machine.has_axe = True
    assert machine.can_transition("unlock")
    assert machine.transition("unlock")
    assert machine.state == "broken"


def test_a_guard_that_raises_leaves_the_machine_as_it_was() -> None:
    def guard() -> bool:
        raise LookupError("nobody knows")

    machine: StateMachine[str, str] = StateMachine(
        DOOR, "closed", guards={"has_key": guard, "has_axe": guard}
    )
    with pytest.raises(LookupError):
        machine.transition("lock")
    assert machine.state == "closed"
    assert machine.get_history() == []


def test_a_refused_requirement_names_state_and_allowed_events() -> None:
    machine = Door(has_key=False)
    with pytest.raises(InvalidTransition) as refused:
        machine.require("close")
    assert str(refused.value) == "'close' is not allowed in state 'closed' (allowed: knock, open)"
    machine.has_key = True
    machine.require("lock")
    machine.has_key = False
    with pytest.raises(InvalidTransition, match=r"in state 'locked' \(allowed: nothing\)"):
        machine.require("unlock")


def test_only_a_state_with_no_way_out_but_the_reset_is_terminal() -> None:
    assert {events: door(*events).is_terminal() for events in ((), ("open",), ("open", "break"))} == {
        (): False,
        ("open",): False,
        ("open", "break"): True,
    }
    assert StateMachine({"end": {}}, "end").is_terminal()
    ring: StateMachine[str, str] = StateMachine({"a": {"on": "b"}, "b": {"on": "a"}}, "b")
    assert not ring.is_terminal()


def test_a_suspension_of_a_suspension_leads_back_twice() -> None:
    table: Table[str, str] = {
        "run": {"pause": "paused"},
        "paused": {"go_on": PREVIOUS, "save": "saving"},
        "saving": {"saved": PREVIOUS},
    }
    machine: StateMachine[str, str] = StateMachine(table, "run")
    for event, state in (("pause", "paused"), ("save", "saving"), ("saved", "paused"), ("go_on", "run")):
        machine.require(event)
        assert machine.state == state


def test_nothing_leads_back_where_nothing_was_suspended() -> None:
    machine: StateMachine[str, str] = StateMachine({"paused": {"go_on": PREVIOUS}}, "paused")
    assert not machine.can_transition("go_on")
    assert not machine.transition("go_on")


def test_a_forced_reset_forgets_every_suspension() -> None:
    table: Table[str, str] = {
        "paused": {"go_on": PREVIOUS, "leave": "run"},
        "run": {"pause": "paused"},
    }
    machine: StateMachine[str, str] = StateMachine(table, "paused")
    machine.require("leave")
    machine.require("pause")
    machine.force_reset()
    assert machine.state == "paused"
    assert not machine.can_transition("go_on")


# -- reset --------------------------------------------------------------------------------------------


def test_a_reset_from_the_end_archives_the_history_with_the_reset() -> None:
    machine = door("open", "break")
    assert machine.reset()
    assert machine.state == "closed"
    assert machine.get_history() == []
    assert [[step.event for step in history] for history in machine.get_archive()] == [
        ["open", "break", "repair"]
    ]


def test_a_reset_that_the_table_does_not_allow_changes_nothing() -> None:
    machine = door("open")
    before = machine.serialize()
    assert not machine.reset()
    assert machine.serialize() == before
    assert not StateMachine({"end": {}}, "end").reset()


def test_a_forced_reset_works_from_any_state_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    machine = door("open", "look")
    machine.force_reset()
    assert machine.state == "closed"
    assert machine.get_history() == []
    assert [[step.to_state for step in history] for history in machine.get_archive()] == [
        ["opened", "watched"]
    ]
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ["Door: forced from watched back to closed"]
    machine.require("open")
    machine.require("look")
    machine.require("look_away")
    assert machine.state == "opened"


def test_archived_histories_stay_in_their_order_and_are_copies() -> None:
    machine = door("open", "break")
    machine.reset()
    machine.force_reset()
    machine.require("knock")
    machine.force_reset()
    archive = machine.get_archive()
    assert [len(history) for history in archive] == [3, 1]
    archive.pop().clear()
    assert [len(history) for history in machine.get_archive()] == [3, 1]


def test_every_transition_is_logged_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "tideate_core.machines"):
        door("open", "close").transition("unlock")
    assert [record.getMessage() for record in caplog.records] == [
        "Door: closed → opened (open)",
        "Door: opened → closed (close)",
    ]


# -- a wrong table ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"a": {"on": "b"}}, {}, "on in state a leads to b, which is not a state"),
        ({"a": {"on": Choice("g", "a", "b")}}, {"guards": {"g": bool}}, "on in state a leads to b"),
        ({"a": {"on": Choice("g", "a")}}, {}, "asks for the guard 'g': not given"),
        ({"b": {}}, {}, "the initial state a is not a state of the table"),
        (
            {"a": {}, "b": {"back": "b"}},
            {"reset": "back"},
            "back does not always lead to the initial state a",
        ),
    ],
)
def test_a_wrong_table_is_refused_at_once(table: AnyTable, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StateMachine(table, "a", **options)


@pytest.mark.slow
@given(TABLES, MOVES)
def test_on_any_table_the_machine_does_what_the_model_does(table: AnyTable, moves: list[Move]) -> None:
    pair = Pair(table, "a")
    walked = 0
    for move in moves:
        event = pair.event(move)
        if event is not None:
            before = pair.model.state
            allowed = pair.machine.can_transition(event)
            assert pair.machine.transition(event) == allowed == pair.model.send(event)
            assert pair.machine.state == pair.model.state
            if allowed:
                walked += 1
                last = pair.machine.get_history()[-1]
                assert (last.from_state, last.to_state, last.event) == (before, pair.model.state, event)
    assert len(pair.machine.get_history()) == walked
