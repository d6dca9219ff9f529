"""Handoff state: progress of each step, including after an interrupted run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema

from tests.builtin.handoff.test_file_formats import PLAN
from tideate_core.builtin.handoff.file_formats import FILES, write_json
from tideate_core.builtin.handoff.models import PlanFile, StepProgress
from tideate_core.builtin.handoff.progress import last_state, now, state_of
from tideate_core.project import Documents

if TYPE_CHECKING:
    from pathlib import Path


def done(**more: Any) -> StepProgress:
    return StepProgress.model_validate({"status": "completed", "started_at": now(), **more})


def test_the_state_says_how_far_the_steps_are(tmp_path: Path) -> None:
    plan = PlanFile.model_validate(PLAN)
    first = state_of("run", plan, now(), {"p": done(output="First look."), "a": done(status="running")})
    assert [step.status for step in first.steps] == ["completed", "running", "pending"]
    assert (first.status, first.current_step_index, first.completed_at) == ("running", 1, None)
    assert (first.metadata.total_steps, first.metadata.completed_steps) == (3, 1)
    assert first.metadata.estimated_duration == 180_000, "a minute for each step that says nothing"
    assert first.steps[0].output == "First look."
    write_json(Documents(tmp_path, ""), "state.json", first)
    jsonschema.validate(json.loads((tmp_path / "state.json").read_text()), FILES["state"].schema())


def test_the_guesses_of_the_plan_are_added_up_where_each_step_has_one() -> None:
    steps = [{**step, "estimatedDuration": 7_000} for step in PLAN["steps"]]
    plan = PlanFile.model_validate({**PLAN, "steps": steps})
    assert state_of("run", plan, now(), {}).metadata.estimated_duration == 21_000


def results(**steps: StepProgress) -> dict[str, Any]:
    """Return the results of a run with written edits."""
    kept = {identity: one.model_dump(mode="json") for identity, one in steps.items()}
    edited = {"files": ["src/greet.py"], "patchset": "coder/build/p.diff", "analyses": [], "steps": kept}
    return {"plan": {"plan": PLAN, "started_at": now()}, "edit": edited}


def test_a_run_that_completed_has_completed_the_tests_too() -> None:
    ran = results(p=done(), a=done(), t=done(status="running"))
    state = last_state("run", ran, "", checkpoints=["c1"], duration=1200)
    assert state is not None
    assert [step.status for step in state.steps] == ["completed", "completed", "completed"]
    assert (state.status, state.current_step_index, state.checkpoints) == ("completed", 3, ["c1"])
    assert state.metadata.actual_duration == 1200
    assert state.artifacts == ["src/greet.py", "coder/build/p.diff"]


def test_tests_that_failed_fail_their_steps_and_no_other() -> None:
    ran = results(p=done(), a=done(), t=done(status="running")) | {"tests": {"status": "failed"}}
    state = last_state("run", ran, "2 tests failed")
    assert state is not None
    assert [(step.status, step.error) for step in state.steps] == [
        ("completed", None),
        ("completed", None),
        ("failed", "2 tests failed"),
    ]


def test_a_run_that_broke_off_in_its_work_keeps_what_the_file_said_of_its_steps() -> None:
    plan = PlanFile.model_validate(PLAN)
    before = state_of("run", plan, now(), {"p": done(), "a": done(status="running")})
    planned = {"plan": {"plan": PLAN, "started_at": now()}}
    state = last_state("run", planned, "no answer", before=before.model_dump_json().encode())
    assert state is not None
    assert [step.status for step in state.steps] == ["completed", "failed", "pending"]
    assert state.steps[1].error == "no answer"
    other = last_state("another", planned, "no answer", before=before.model_dump_json().encode())
    assert other is not None
    assert [step.status for step in other.steps] == ["failed", "pending", "pending"]


def test_a_run_that_read_no_plan_has_no_last_state() -> None:
    assert last_state("r1", {}, "there is no plan") is None
