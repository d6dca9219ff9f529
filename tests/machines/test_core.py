"""What every machine does, whatever its table."""

from __future__ import annotations

import itertools
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.machines.model import MOVES, TABLES, AnyTable, Move, Pair
from tideate_core.errors import InvalidMachineRecord, InvalidTransition
from tideate_core.machines import PREVIOUS, Choice, StateMachine, StateTransition

if TYPE_CHECKING:
    from tideate_core.machines.core import Table

DOOR: Table[str, str] = {
    "closed": {"open": "opened", "lock": Choice("has_key", "locked"), "knock": "closed"},
    "opened": {"close": "closed", "break": "broken", "look": "watched"},
    "locked": {"unlock": Choice("has_key", "closed", Choice("has_axe", "broken"))},
    "watched": {"look_away": PREVIOUS, "break": "broken"},
    "broken": {"repair": "closed"},
}


class Door(StateMachine[str, str]):
    """A machine whose guards and clock a test sets."""

    def __init__(self, *, has_key: bool = True, has_axe: bool = False) -> None:
        self.has_key, self.has_axe = has_key, has_axe
        self.ticks = itertools.count(1000)
        super().__init__(
            DOOR,
            "closed",
            guards={"has_key": lambda: self.has_key, "has_axe": lambda: self.has_axe},
            reset="repair",
            clock=lambda: next(self.ticks) / 8,
        )


def door(*events: str) -> Door:
    machine = Door()
    for event in events:
        machine.require(event)
    return machine


def test_an_allowed_event_moves_and_is_remembered_with_its_time() -> None:
    machine = Door()
    assert machine.transition("open")
    assert machine.transition("break")
    assert machine.state == machine.get_state() == "broken"
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
        ({"a": {"on": "b"}}, {}, "on leads from state a to b: that is no state"),
        ({"a": {"on": Choice("g", "a", "b")}}, {"guards": {"g": bool}}, "on leads from state a to b"),
        ({"a": {"on": Choice("g", "a")}}, {}, "asks for the guard 'g': not given"),
        ({"b": {}}, {}, "the initial state a is no state of the table"),
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


# -- the written form ---------------------------------------------------------------------------------


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
    ("", "is JSON, and this is not"),
    ("{'version': 1}", "is JSON, and this is not"),
    ("[" * 100_000, "is JSON, and this is not"),
    ("[]", "is a JSON object, not a list"),
    ("null", "is a JSON object, not null"),
    ("{}", "version: expected 1, found none"),
    (changed(version=2), "version: expected 1, found 2"),
    (changed(version="1"), 'version: expected 1, found "1"'),
    (changed(version=True), "version: expected 1, found true"),
    ('{"version": 1, "state": "closed", "history": []}', "archive: missing"),
    (changed(stat="closed"), "'stat': unknown key (known: archive, history, state, version)"),
    (changed(state=None), "state: expected a string, found null"),
    (changed(state="opend"), "state: unknown state 'opend'; did you mean 'opened'?"),
    (changed(state="closed"), "state: 'closed', but the history ends in 'opened'"),
    (changed(history=[]), "state: 'opened', but the history ends in 'closed'"),
    (changed(history={}), "history: expected a list, found an object"),
    (changed(history=["open"]), "history[0]: expected an object with from, to, event, at"),
    (changed(history=[{"from": "closed"}]), "history[0]: expected an object with from, to, event, at"),
    (with_step(1, **{"from": "opend"}), "history[1].from: unknown state 'opend'; did you mean 'opened'?"),
    (with_step(1, to="nowhere"), "history[1].to: unknown state 'nowhere'"),
    (with_step(1, event="clse"), "history[1].event: unknown event 'clse'; did you mean 'close'?"),
    (with_step(1, event=7), "history[1].event: expected a string, found a number"),
    (
        with_step(1, to="broken"),
        "history[1]: impossible transition: 'close' does not lead from 'opened' to 'broken'",
    ),
    (
        with_step(1, event="lock"),
        "history[1]: impossible transition: 'lock' does not lead from 'opened' to 'closed'",
    ),
    (
        with_step(0, **{"from": "locked"}),
        "history[0].from: broken chain: 'locked', but the machine stood in 'closed'",
    ),
    (
        with_step(1, **{"from": "closed"}),
        "history[1].from: broken chain: 'closed', but the machine stood in 'opened'",
    ),
    (with_step(2, at="now"), "history[2].at: expected seconds since the epoch, found a string"),
    (with_step(2, at=True), "history[2].at: expected seconds since the epoch, found a boolean"),
    (with_step(2, at=-1), "history[2].at: -1 are no seconds since the epoch"),
    (with_step(2, at=float("nan")), "history[2].at: nan are no seconds since the epoch"),
    (with_step(2, at=float("inf")), "history[2].at: inf are no seconds since the epoch"),
    (with_step(2, at=10**400), "history[2].at: 1000000000000000000000000000000000000000 are no seconds"),
    (changed(archive=[[], [{}]]), "archive[1][0]: expected an object"),
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


# -- any table, any walk ------------------------------------------------------------------------------


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
