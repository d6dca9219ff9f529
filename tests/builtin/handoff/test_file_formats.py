"""Handoff files: located errors, atomic writing, a schema for each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tideate_core.builtin.handoff.file_formats import FILES, read, write_json
from tideate_core.builtin.handoff.models import PlanFile
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
    with pytest.raises(StoreError, match=r"plan\.json was not written: it is not a regular file"):
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
