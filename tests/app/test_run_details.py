"""Items, corrections, gates and rollback folded from a run's steps and events; their JSON form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.app.stored import event_row, run_row, step_row
from tideate_core.app.run_details import (
    CHECK_ENDED,
    EXECUTED,
    ROLLED_BACK,
    TOOL_COMPLETED,
    TRANSITION,
    RunDetails,
    details_json,
    items_of,
    step_json,
    step_named,
)
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from tideate_core.store import EventRow, RunRow, StepRow

PASSED = "SD_EVENT_GATE_PASSED"


def details(run: RunRow, steps: list[StepRow], *events: EventRow) -> RunDetails:
    return RunDetails(run, steps, list(events), [], [], None, None, "")


def test_an_item_is_what_its_last_attempt_was_and_items_are_in_order() -> None:
    found = items_of(
        [
            event_row(EXECUTED, 1, step="each[10]", success=True, duration_ms=3),
            event_row(EXECUTED, 2, step="each[2]", error="no"),
            event_row(EXECUTED, 3, step="each[2]", success=True),
            event_row(EXECUTED, 4, step="each[3]", declined=True),
            event_row(EXECUTED, 5, step="each[4]"),
            event_row(EXECUTED, 6, step="whole", success=True),
        ]
    )
    assert list(found) == ["each"]
    shown = [(item.index, item.state, item.tries) for item in found["each"]]
    assert shown == [(2, "done", 2), (3, "declined", 1), (4, "stopped", 1), (10, "done", 1)]


def test_a_failed_item_keeps_its_error() -> None:
    (item,) = items_of([event_row(EXECUTED, 1, step="each[0]", error="no room")])["each"]
    assert (item.state, item.error) == ("failed", "no room")


def test_a_step_has_items_only_where_it_ended_some() -> None:
    assert "items" not in step_json(step_row(), [])
    items = items_of([event_row(EXECUTED, 7, step="plan[0]", success=True, duration_ms=3)])["plan"]
    assert step_json(step_row(), items)["items"] == [
        {"index": 0, "state": "done", "tries": 1, "ended_at": 7, "duration_ms": 3, "error": None}
    ]


def test_an_unknown_step_is_refused_with_the_nearest() -> None:
    assert step_named([step_row()], "plan") == step_row()
    with pytest.raises(InvalidInput, match="no step 'pln'; did you mean 'plan'"):
        step_named([step_row()], "pln")


def test_corrections_are_all_visits_that_began() -> None:
    first, second = step_row(step="self_correcting"), step_row(step="self_correcting#2", status="failed")
    waiting = step_row(step="self_correcting#3", status="pending")
    assert details(run_row(), [step_row(), first, second, waiting]).corrections == [first, second]


def test_the_last_rollback_counts() -> None:
    events = event_row(ROLLED_BACK, 1, n=1), event_row(ROLLED_BACK, 2, n=2), event_row(CHECK_ENDED, 3)
    assert details(run_row(), [], *events).rollback == {"n": 2}
    assert details(run_row(), [], event_row(CHECK_ENDED, 1)).rollback is None


def test_a_gate_without_a_number_is_no_decision_of_a_task() -> None:
    numbered, check = event_row(PASSED, 1, number=2), event_row(CHECK_ENDED, 2)
    found = details(run_row(), [], event_row(PASSED, 0, gate="syntax"), numbered, check)
    assert found.decisions == [numbered, check]


def test_a_graph_has_no_path_and_a_machine_has_its_transitions() -> None:
    move = event_row(TRANSITION, 1, **{"from": "a", "to": "b", "when": "done", "other": 1})
    assert "path" not in details_json(details(run_row(), [], move), events=False)
    shape = details_json(details(run_row(kind="machine"), [], move), events=False)
    assert shape["path"] == [{"from": "a", "to": "b", "when": "done"}]


def test_only_a_gated_run_named_task_has_the_facts_of_a_task() -> None:
    gate = event_row(PASSED, 3, number=1, gate="plan")
    assert "gated" not in details_json(details(run_row(), [], gate), events=False)
    assert "gated" not in details_json(details(run_row(name="task"), []), events=False)
    plan = step_row(result={"plan": {"objective": "tidy"}})
    gated = details_json(details(run_row(name="task"), [plan], gate), events=False)["gated"]
    assert gated["plan"] == {"objective": "tidy"}
    assert gated["gates"] == [{"number": 1, "gate": "plan", "passed": True, "at": 3}]


def test_tool_calls_and_wanted_events_are_in_the_json_form() -> None:
    call = event_row(TOOL_COMPLETED, 5, tool="read", ok=True)
    shape = details_json(details(run_row(), [], call), events=True)
    assert shape["tool_calls"] == [{"tool": "read", "ok": True, "at": 5}]
    assert [event["name"] for event in shape["events"]] == [TOOL_COMPLETED]
    assert "events" not in details_json(details(run_row(), [], call), events=False)
