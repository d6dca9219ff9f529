"""The planner and the budgets that hold for every role."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.stage import BRIEF, StageStep, role
from tests.harness.later import Later
from tests.harness.project import write_files
from tideate_core.adapters import Usage
from tideate_core.agents.auditor import AuditAnswer
from tideate_core.agents.documenter import DocumentationAnswer
from tideate_core.agents.planner import PlanAnswer, plan_task
from tideate_core.agents.stage import TaskBrief, open_stage
from tideate_core.errors import ConfigError, StepFailed, StepTimedOut
from tideate_core.gates import ExecutionPlan, PlanStep
from tideate_core.workflows.time_limits import persons_time

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

    from tideate_core.agents.roles import Role

ANSWER: dict[str, Any] = {
    "objective": "double numbers",
    "steps": [{"type": "edit", "description": "add it", "files": ["./src/a.py"]}],
    "files": ["src/a.py", " "],
    "rollback_strategy": "revert",
}
PLAN = ExecutionPlan(
    objective="double numbers",
    steps=[PlanStep(type="edit", description="add it", files=["src/a.py"])],
    files=["src/a.py"],
    rollback_strategy="revert",
)


async def planned(step: StageStep, who: Role | None = None, **more: Any) -> ExecutionPlan:
    return await plan_task(step, who or role("planner"), more.pop("brief", BRIEF), **more)  # type: ignore[arg-type]


async def test_a_task_becomes_a_plan(tmp_path: Path) -> None:
    write_files(tmp_path, {"src/a.py": "", "b.py": "x = 1\ny = 2\n"})
    step = StageStep(tmp_path, ANSWER)
    assert await planned(step, brief=TaskBrief("double", "Material here.")) == PLAN
    (asked,) = step.asked
    assert asked.system.startswith("You plan changes")
    assert asked.user.startswith(
        "Material here.\n\n---\n\nFiles of the project by folder, with their lines:\n\n"
    )
    assert "\n./: b.py 2\nsrc/: a.py\n" in asked.user
    assert asked.user.endswith("The task: double\n\nPlan this task.")
    assert step.adapters == [None]


async def test_a_plan_that_was_not_accepted_is_planned_anew(tmp_path: Path) -> None:
    step = StageStep(tmp_path, ANSWER)
    await planned(step, earlier=PLAN, issues=["step 1: error: no\ntest"])
    asked = step.asked[0].user
    assert "The plan before this one was not accepted:\n\n```markdown\n# Plan" in asked
    assert "- step 1: error: no test\n" in asked
    assert "Plan the task anew" in asked


async def test_what_is_missing_is_for_the_gate_to_say(tmp_path: Path) -> None:
    assert await planned(StageStep(tmp_path, {})) == ExecutionPlan()


async def test_control_characters_of_a_model_do_not_come_through(tmp_path: Path) -> None:
    answer = {**ANSWER, "objective": "a\x1b[2Jb\r\nc ", "files": ["a\x1b.py"]}
    plan = await planned(StageStep(tmp_path, answer))
    assert (plan.objective, plan.files) == ("a [2Jb\nc", ["a .py"])


async def test_a_small_model_is_shown_as_many_files_as_it_bears(tmp_path: Path) -> None:
    write_files(tmp_path, {f"f{number:03}.py": "" for number in range(50)})
    step = StageStep(tmp_path, ANSWER, context_tokens=800)
    await planned(step)
    assert "f014.py and 35 more\n" in step.asked[0].user


async def test_a_role_may_have_an_adapter_of_its_own(tmp_path: Path) -> None:
    step = StageStep(tmp_path, ANSWER)
    await planned(step, replace(role("planner"), adapter="mine"))
    assert step.adapters == ["mine"]


async def test_a_roles_own_adapter_is_measured_by_its_own_window(tmp_path: Path) -> None:
    write_files(tmp_path, {f"f{number:03}.py": "" for number in range(50)})
    windows = {"wide": None, "narrow": 800}
    wide = StageStep(tmp_path, ANSWER, context_tokens=800, windows=windows)
    await planned(wide, replace(role("planner"), adapter="wide"))
    assert "f049.py" in wide.asked[0].user
    narrow = StageStep(tmp_path, ANSWER, windows=windows)
    await planned(narrow, replace(role("planner"), adapter="narrow"))
    assert "f014.py and 35 more\n" in narrow.asked[0].user


async def test_what_was_left_out_of_a_role_is_told(tmp_path: Path) -> None:
    step = StageStep(tmp_path, ANSWER)
    await planned(step, replace(role("planner"), notices=("left out adapter",)))
    assert step.notices == ["left out adapter"]


async def test_a_role_with_tools_needs_a_model_that_can_call_them(tmp_path: Path) -> None:
    step = StageStep(tmp_path, ANSWER)
    with pytest.raises(ConfigError, match=r"cannot use tools.*git/git_log"):
        await planned(step, replace(role("planner"), tools=("git/git_log",)))
    assert step.asked == []


async def test_too_many_tokens_fail_the_stage(tmp_path: Path) -> None:
    step = StageStep(tmp_path, ANSWER, usage=Usage(90, 20))
    with pytest.raises(
        StepFailed,
        match=r"'planner' used 110 tokens for this stage and may use 100; set `tokens` .*planner\.md",
    ):
        await planned(step, replace(role("planner"), tokens=100))
    assert (
        await planned(StageStep(tmp_path, ANSWER, usage=Usage(90, 10)), replace(role("planner"), tokens=100))
        == PLAN
    )


async def test_too_long_a_time_fails_the_stage(tmp_path: Path) -> None:
    stopped = asyncio.Event()

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    with pytest.raises(
        StepTimedOut, match=r"'planner' took longer than its timeout of 300 ms; set `timeout` .*planner\.md"
    ):
        await planned(StageStep(tmp_path, never), replace(role("planner"), timeout=300))
    assert stopped.is_set()


async def test_the_time_that_a_person_takes_is_not_the_roles(tmp_path: Path) -> None:
    later = Later()
    step: Any = StageStep(tmp_path)
    async with open_stage(step, replace(role("planner"), timeout=300), BRIEF):
        with persons_time():
            await later.pass_(60)


async def test_another_timeout_is_not_taken_for_the_roles(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match="of something else"):
        await planned(StageStep(tmp_path, TimeoutError("of something else")))


async def test_a_planner_is_told_which_changelog_is_kept_for_it(tmp_path: Path) -> None:
    write_files(tmp_path, {"CHANGELOG.md": "# Changelog\n", "TODO.md": "- [ ] ship\n", "src/a.py": ""})
    step = StageStep(tmp_path, ANSWER)
    await planned(step)
    asked = step.asked[0].user
    assert "Kept by somebody else after the change, so leave them out: CHANGELOG.md, TODO.md\n" in asked
    assert "nobody else keeps" not in asked


async def test_a_planner_is_told_which_changelogs_nobody_keeps_for_it(tmp_path: Path) -> None:
    write_files(tmp_path, {"CHANGES.rst": "1.0\n", "newsfragments/3.fix.md": "x\n", "src/a.py": ""})
    step = StageStep(tmp_path, ANSWER)
    await planned(step)
    asked = step.asked[0].user
    assert "Changelogs that nobody else keeps: CHANGES.rst, newsfragments/. Plan an entry" in asked
    assert "Kept by somebody else" not in asked


@pytest.mark.parametrize("schema", [PlanAnswer, AuditAnswer, DocumentationAnswer])
def test_every_text_and_list_of_an_answer_is_bounded(schema: type[BaseModel]) -> None:
    def unbounded(shape: Any) -> list[Any]:
        if isinstance(shape, list):
            return [found for each in shape for found in unbounded(each)]
        if not isinstance(shape, dict):
            return []
        free = (shape.get("type") == "string" and not {"maxLength", "enum"} & shape.keys()) or (
            shape.get("type") == "array" and "maxItems" not in shape
        )
        return [*([shape] if free else []), *unbounded(list(shape.values()))]

    assert unbounded(schema.model_json_schema()) == []
