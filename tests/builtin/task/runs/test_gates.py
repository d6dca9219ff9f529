"""A task passes all gates or fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.task.runs.desk import Desk
from tests.builtin.task.runs.test_whole import STAGES
from tests.harness.front import no
from tests.harness.tally import DONE, LINES
from tests.harness.tasks import (
    CODE,
    PLAN,
    approved,
    conditional,
    documenting,
    edits,
    plan,
    rejected,
)
from tideate_core.engine import EventName

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

ROLES = ("planner", "auditor", "executor", "documenter")


def asked(desk: Desk) -> list[int]:
    return [desk.model.asked(role) for role in ROLES]


async def failed(desk: Desk, gate: str) -> str:
    """Run a task that this gate ends; return the error."""
    result = await desk.fail()
    assert (result.cancelled, desk.gates()[-1]) == (False, (gate, False))
    return str(result.error)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"rollback_strategy": " "}, "rollback strategy"), ({"files": ["../elsewhere.py"]}, "elsewhere.py")],
)
async def test_a_wrong_plan_ends_at_gate_1(desk: Desk, wrong: dict[str, Any], said: str) -> None:
    desk.model.says("planner", plan(**wrong))
    assert said in await failed(desk, "plan")
    assert asked(desk)[1:] == [0, 0, 0]
    assert desk.kinds() == []
    assert not (desk.root.parent / "elsewhere.py").exists()


async def test_a_rejected_audit_is_planned_anew_with_its_issues(desk: Desk) -> None:
    desk.model.says("planner", plan("count everything there is"), PLAN)
    desk.model.says("auditor", rejected("more than was asked for"), approved())
    result = await desk.run()
    assert (result.ok, result.rollback_performed) == (True, False), result.error
    assert desk.changed() == DONE
    again = desk.model.prompts("planner")[1]
    assert ("more than was asked for" in again, "count everything there is" in again) == (True, True)
    assert desk.steps()[1:7] == [*STAGES[1:5], "planning#2", "awaiting_plan_gate#2"]
    assert desk.gates()[:4] == [("plan", True), ("audit", False), ("plan", True), ("audit", True)]
    assert desk.kinds() == ["document", "review", "review"]


async def test_too_many_rejected_plans_end_at_gate_1(desk: Desk) -> None:
    desk.model.says("planner", plan("the first plan of it"), plan("the second plan of it"), PLAN)
    desk.model.says("auditor", rejected("not like this"))
    assert "rejected 2 plans" in await failed(desk, "plan")
    assert asked(desk) == [2, 2, 0, 0], "a third plan was asked for, which gate 1 refuses whatever it is"


async def test_the_fixes_of_a_conditional_audit_are_what_is_executed(desk: Desk) -> None:
    fix = {"step": 4, "type": "edit", "description": "say LINES in the script", "files": ["tools/count.sh"]}
    more: dict[str, Any] = {"step": None, "type": "test", "description": "test the empty text", "files": []}
    desk.model.says("auditor", conditional(fix, more))
    await desk.succeed()
    (told,) = desk.model.prompts("executor")
    assert ("say LINES in the script" in told, "test the empty text" in told) == (True, True)
    assert "let the script count lines, too" not in told
    (gate,) = [data for data in desk.front.data(EventName.GATE_PASSED) if data["gate"] == "audit"]
    assert gate["auto_fixed"] is True


@pytest.mark.parametrize("audit", [conditional(auto_fixable=True), conditional(auto_fixable=False)])
async def test_conditions_without_a_fix_are_a_rejection(desk: Desk, audit: dict[str, object]) -> None:
    desk.model.says("auditor", audit, approved())
    result = await desk.run()
    assert (result.ok, desk.gates()[1], asked(desk)[0]) == (True, ("audit", False), 2), result.error


async def test_a_syntax_error_ends_at_gate_3_before_anything_is_written(desk: Desk) -> None:
    seen: list[object] = []
    desk.when("GATE_FAILED", "awaiting_execution_gate", lambda: seen.append(desk.changed()))
    desk.model.says("executor", edits({**CODE, "src/tally/lines.py": LINES.replace("return", "return (")}))
    error = await failed(desk, "execution")
    assert "src/tally/lines.py" in error
    assert seen == [{}]
    assert desk.kinds() == ["document"]
    (gate,) = desk.front.data(EventName.GATE_FAILED)
    assert gate["entries"][0]["filename"].endswith("src/tally/lines.py")
    assert gate["entries"][0]["lnum"] > 0


@pytest.mark.parametrize(
    ("answer", "said"),
    [({"entry": ""}, "entry"), ({"items": [3]}, "item 3"), ({"documents": ["docs/more.md"]}, "docs/more.md")],
)
async def test_a_task_that_is_not_documented_ends_at_gate_4(
    desk: Desk, answer: dict[str, Any], said: str
) -> None:
    desk.model.says("documenter", documenting(answer))
    seen: list[object] = []
    desk.when("GATE_FAILED", "awaiting_documentation_gate", lambda: seen.append(desk.changed()))
    assert said in await failed(desk, "documentation")
    assert seen == [{name: node for name, node in DONE.items() if name in CODE}]
    assert desk.kinds() == ["document", "review"]


async def test_a_failure_is_logged_with_its_stage_and_cause_and_its_rollback_with_its_files(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.model.says("documenter", documenting({"entry": ""}))
    await failed(desk, "documentation")
    (failure,) = desk.front.data(EventName.WORKFLOW_FAILED)
    assert (failure["stage"], failure["step"]) == (4, "awaiting_documentation_gate")
    assert failure["cause"] == "StepFailed"
    (back,) = desk.front.data(EventName.ROLLED_BACK)
    assert (back["count"], sorted(back["restored"])) == (len(CODE), sorted(CODE))
    said = [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    (why,) = [words for words in said if "failed in stage 4, step awaiting_documentation_gate: " in words]
    assert "did not pass gate 4" in why
    assert why.endswith("; cause: StepFailed")
    (restored,) = [words for words in said if words.startswith("rollback of ")]
    assert f": {len(CODE)} restored: " in restored
    assert all(name in restored for name in CODE)


async def test_an_entry_that_breaks_the_changelog_is_brought_into_its_form(desk: Desk) -> None:
    desk.model.says("documenter", documenting({"entry": "- ## count_lines\n\n## [9.9.9]"}))
    await desk.succeed()
    changelog = (desk.root / "CHANGELOG.md").read_text().splitlines()
    assert [line for line in changelog if line.startswith("## ")] == [
        "## [Unreleased]",
        "## [0.2.0] - 2026-03-01",
    ]


async def test_an_answer_that_is_no_edit_ends_the_task(desk: Desk) -> None:
    desk.model.says("executor", "I would rather not.")
    await failed(desk, "execution")


async def test_with_all_checks_off_it_is_said_that_nothing_is_verified(desk: Desk) -> None:
    checks = ("type_check", "lint", "tests", "build", "documentation")
    config = desk.root / ".tideate" / "config.toml"
    config.write_text("\n".join(["[verify]", *(f'{check} = "off"' for check in checks), ""]))
    desk.site.trust()
    await desk.succeed()
    assert 'all five checks of [verify] are "off": nothing is going to be verified' in desk.front.notices()


async def test_trust_is_asked_for_before_any_model_is_asked(tmp_path: Path, server: ModelServer) -> None:
    desk = Desk(tmp_path, server, trusted=False)
    desk.front.answer = no
    with desk.site.person():
        result = await desk.run()
        await desk.aclose()
    assert not result.ok
    (question,) = desk.front.requests
    assert "trust" in question.message.lower()
    assert (asked(desk), desk.changed()) == ([0] * 4, {})
