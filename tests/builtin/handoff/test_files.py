"""The files of the handoff: all mistakes told with their place, written whole, a schema for each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tideate_core.builtin.handoff.files import FILES, read, write_json
from tideate_core.builtin.handoff.models import PlanFile, StepProgress
from tideate_core.builtin.handoff.progress import last_state, now, state_of
from tideate_core.errors import InvalidInput, StoreError
from tideate_core.project import Documents

if TYPE_CHECKING:
    from pathlib import Path

PLAN: dict[str, Any] = {
    "planId": "plan-1",
    "objective": "Greet everybody.\nPolitely.",
    "steps": [
        {"id": "p", "name": "think", "type": "planning", "agent": "planner"},
        {
            "id": "a",
            "name": "write it",
            "type": "coding",
            "description": "A function `greet`.",
            "dependencies": ["p"],
            "expectedOutputs": ["src/greet.py"],
            "status": "pending",
        },
        {"id": "t", "name": "test it", "type": "testing", "expectedOutputs": ["tests/test_greet.py"]},
    ],
    "somebody else's": 1,
}


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1))
    return path


def parsed(path: Path) -> PlanFile:
    return read(path, path.read_bytes(), PlanFile)


def test_a_plan_is_read_and_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    plan = parsed(written(tmp_path / "plan.json", PLAN))
    assert plan.title == "Greet everybody."
    assert [one.name for one in plan.writing] == ["write it", "test it"]
    assert plan.writing[0].expected_outputs == ["src/greet.py"]


def test_all_mistakes_are_told_with_their_lines(tmp_path: Path) -> None:
    wrong = json.loads(json.dumps(PLAN))
    wrong["steps"][1]["type"] = "codeing"
    wrong["steps"][2]["name"] = ""
    del wrong["planId"]
    path = written(tmp_path / "plan.json", wrong)
    lines = path.read_text().split("\n")
    with pytest.raises(InvalidInput) as caught:
        parsed(path)
    told = str(caught.value).split("\n")
    assert len(told) == 3
    assert told[0] == f"{path}:1:1: planId: Field required"
    typed = next(number for number, line in enumerate(lines, 1) if "codeing" in line)
    assert told[1].startswith(f"{path}:{typed}:")
    assert (
        "steps.1.type: Input should be 'planning', 'coding', 'testing', 'review' or 'documentation'"
        in told[1]
    )
    assert "steps.2.name: String should have at least 1 character" in told[2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"steps": []}, "steps: List should have at least 1 item"),
        ({"steps": PLAN["steps"][:1]}, "no step is of the type 'coding', 'testing' or"),
        ({"steps": [PLAN["steps"][0], *PLAN["steps"]]}, "the step 'p' is listed twice"),
        ({"steps": PLAN["steps"][1:]}, "the step 'a' depends on 'p', which is not a step of this plan"),
        ({"planId": "a\nb"}, "planId: the name has U.000A, which is not shown"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        parsed(written(tmp_path / "plan.json", {**PLAN, **change}))


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", r":1:\d+: "), ("[]", "Input should be a valid dictionary"), ("", "plan.json:1:1")],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        parsed(written(tmp_path / "plan.json", text))


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b'"\xe9"')
    with pytest.raises(InvalidInput, match="not UTF-8 at byte 1"):
        parsed(tmp_path / "latin")


def test_a_file_that_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    plan = PlanFile.model_validate(PLAN)
    (tmp_path / "plan.json").mkdir()
    with pytest.raises(StoreError, match=r"plan\.json was not written: something else"):
        write_json(Documents(tmp_path, ""), "plan.json", plan)
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


@pytest.mark.parametrize("name", FILES)
def test_each_has_a_schema(name: str) -> None:
    schema = FILES[name].schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]


def test_the_schema_and_the_reader_agree(tmp_path: Path) -> None:
    validator = jsonschema.Draft202012Validator(FILES["plan"].schema())
    assert not list(validator.iter_errors(PLAN))
    assert list(validator.iter_errors({**PLAN, "steps": [{"id": "a"}]}))


def done(**more: Any) -> StepProgress:
    return StepProgress.model_validate({"status": "completed", "started_at": now(), **more})


def test_the_state_says_how_far_the_steps_are(tmp_path: Path) -> None:
    plan = PlanFile.model_validate(PLAN)
    first = state_of("run", plan, now(), {"p": done(output="First look."), "a": done(status="running")})
    assert [step.status for step in first.steps] == ["completed", "running", "pending"]
    assert (first.status, first.current_step_index, first.completed_at) == ("running", 1, None)
    assert (first.metadata.total_steps, first.metadata.completed_steps) == (3, 1)
    assert first.metadata.estimated_duration is None
    assert first.steps[0].output == "First look."
    write_json(Documents(tmp_path, ""), "state.json", first)
    jsonschema.validate(json.loads((tmp_path / "state.json").read_text()), FILES["state"].schema())


def test_the_guesses_of_the_plan_are_added_up_where_each_step_has_one() -> None:
    steps = [{**step, "estimatedDuration": 60_000} for step in PLAN["steps"]]
    plan = PlanFile.model_validate({**PLAN, "steps": steps})
    assert state_of("run", plan, now(), {}).metadata.estimated_duration == 180_000


def results(**steps: StepProgress) -> dict[str, Any]:
    """Return the results of a run whose edits were written."""
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
