"""Records of guarded sessions: their states, their owner, and changes by several processes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import InvalidInput, InvalidTransition, RunIsOwned, SessionNotFound
from tideate_core.machines import StateMachine
from tideate_core.snapshots import (
    GUARD_TABLE,
    GuardEvent,
    GuardSession,
    GuardState,
    change_session,
    create_session,
    find_session,
    is_owned,
    list_sessions,
    note_landing,
    owning,
)
from tideate_core.snapshots.guard_sessions import RECORD, sessions_directory
from tideate_core.snapshots.guarded.record import Record

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = {
    ("prepared", "start"): "running",
    ("running", "end"): "waiting",
    ("running", "lose"): "interrupted",
    ("running", "land"): "running",
    ("interrupted", "start"): "running",
    ("interrupted", "land"): "waiting",
    ("waiting", "start"): "running",
    ("waiting", "land"): "waiting",
}


def made(root: Path, session_id: str = "ab12", created: int = 1) -> GuardSession:
    session = GuardSession(id=session_id, argv=("claude", "--resume"), created=created)
    create_session(sessions_directory(root) / session_id, session)
    Record(str(root), "overlay", 1).write(sessions_directory(root) / session_id)
    return session


@pytest.mark.parametrize(("state", "event"), [*product(GuardState, GuardEvent)])
def test_each_event_leads_where_the_table_says(state: GuardState, event: GuardEvent) -> None:
    machine = StateMachine(GUARD_TABLE, state)
    assert machine.transition(event) is ((state.value, event.value) in ALLOWED)
    assert machine.state.value == ALLOWED.get((state.value, event.value), state.value)


def test_a_session_is_found_by_a_prefix_or_alone(root: Path) -> None:
    with pytest.raises(SessionNotFound, match="no guarded session; `tideate guard COMMAND`"):
        find_session(root, None)
    first = made(root, "ab12", 1)
    assert find_session(root, None) == find_session(root, "ab") == first
    second = made(root, "ab34", 2)
    assert list_sessions(root) == [second, first]
    with pytest.raises(InvalidInput, match=r"2 guarded sessions; .* ab34 \(claude\), ab12 \(claude\)"):
        find_session(root, "ab")
    with pytest.raises(SessionNotFound, match="has the id 'zz'"):
        find_session(root, "zz")


def test_a_copy_in_preparation_is_not_listed(root: Path) -> None:
    (sessions_directory(root) / "cd56").mkdir(parents=True)
    assert list_sessions(root) == []


def test_a_session_with_a_damaged_record_can_still_be_found(root: Path) -> None:
    made(root, "cd34")
    made(root)
    (sessions_directory(root) / "ab12" / RECORD).write_text("{")
    assert find_session(root, "ab12").argv == ("(damaged record)",)
    assert len(list_sessions(root)) == 2
    assert change_session(root, "ab12", GuardEvent.LAND).state is GuardState.WAITING


def test_the_session_of_a_living_run_is_not_listed(root: Path) -> None:
    session = replace(made(root), run="r1", id="cd34")
    create_session(sessions_directory(root) / session.id, session)
    Record(str(root), "overlay", 1).write(sessions_directory(root) / session.id)
    with owning(root, session):
        change_session(root, session.id, GuardEvent.START)
        assert [one.id for one in list_sessions(root)] == ["ab12"]
    assert find_session(root, "cd34").state is GuardState.INTERRUPTED


def test_only_one_process_owns_a_session(root: Path) -> None:
    session = made(root)
    with owning(root, session):
        assert is_owned(root, session.id)
        with pytest.raises(RunIsOwned, match="running in another process"), owning(root, session):
            pass
    assert not is_owned(root, session.id)


def test_the_session_of_a_killed_process_is_interrupted_and_may_start_again(root: Path) -> None:
    session = made(root)
    with owning(root, session):
        change_session(root, session.id, GuardEvent.START)
        assert find_session(root, None).state is GuardState.RUNNING
    assert find_session(root, None).state is GuardState.INTERRUPTED
    with owning(root, session):
        assert change_session(root, session.id, GuardEvent.START).state is GuardState.RUNNING


def test_names_that_are_no_text_are_recorded(root: Path) -> None:
    session = made(root)
    with owning(root, session):
        report = {"ended": ["sleep \udcff"]}
        change_session(root, session.id, GuardEvent.START, argv=("\udcfe",), report=report)
        found = find_session(root, None)
        assert (found.argv, found.report) == (("\udcfe",), report)


def test_landings_are_recorded_while_the_program_runs(root: Path) -> None:
    session = made(root)
    with owning(root, session):
        change_session(root, session.id, GuardEvent.START)
        note_landing(root, session.id, "run1")
        ended = change_session(root, session.id, GuardEvent.END, status=0)
    assert (ended.state, ended.landings) == (GuardState.WAITING, ("run1",))
    note_landing(root, session.id, "run2")
    assert find_session(root, None).landings == ("run1", "run2")
    note_landing(root, "gone", "run3")


def test_an_event_that_the_state_does_not_allow_changes_nothing(root: Path) -> None:
    session = made(root)
    with pytest.raises(InvalidTransition):
        change_session(root, session.id, GuardEvent.END, status=1)
    assert find_session(root, None) == session


CHANGES = """
import sys
from dataclasses import replace
from pathlib import Path
from tideate_core.snapshots import note_landing
for number in range(20):
    note_landing(Path(sys.argv[1]), "ab12", f"{sys.argv[2]}{number}")
"""


@pytest.mark.slow
def test_changes_of_several_processes_are_all_kept(root: Path) -> None:
    session = made(root)
    with owning(root, session):
        change_session(root, session.id, GuardEvent.START)
    others = [subprocess.Popen([sys.executable, "-c", CHANGES, str(root), name]) for name in ("a", "b", "c")]
    assert [one.wait() for one in others] == [0, 0, 0]
    assert len(set(find_session(root, None).landings)) == 60
