"""The auditor sees the files of a plan; its fixes are applied or sent back for correction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.stage import BRIEF, StageStep, role
from tests.harness.project import write_files
from tideate_core.agents.auditor import apply_fixes, audit_plan
from tideate_core.gates import Approval, AuditReport, ExecutionPlan, PlanFix, PlanStep, Severity
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from pathlib import Path

FIRST = PlanStep(type="edit", description="first", files=["a.py"])
SECOND = PlanStep(type="test", description="second", files=["b.py"])
PLAN = ExecutionPlan(objective="o", steps=[FIRST, SECOND], files=["a.py", "b.py"], rollback_strategy="r")


async def audited(step: StageStep, plan: ExecutionPlan = PLAN) -> AuditReport:
    return await audit_plan(step, role("auditor"), BRIEF, plan)  # type: ignore[arg-type]


def fixed(*fixes: PlanFix, plan: ExecutionPlan = PLAN) -> ExecutionPlan:
    audit = AuditReport(approval=Approval.CONDITIONAL, auto_fixable=True, fixes=list(fixes))
    return apply_fixes(plan, audit)


def conditional(step: int | None, description: str = "x") -> dict[str, Any]:
    fix = {"step": step, "type": "edit", "description": description}
    return {"approval": "conditional", "auto_fixable": True, "fixes": [fix]}


async def test_an_auditor_sees_the_plan_and_its_files(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "a = '```'\n"})
    issue = {"severity": "critical", "description": "deletes\x1b data", "step": 2, "fix": "ask"}
    step = StageStep(tmp_path, {"approval": "rejected", "issues": [issue]})
    report = await audited(step)
    assert (report.approval, report.issues[0].severity) == (Approval.REJECTED, Severity.CRITICAL)
    assert report.issues[0].description == "deletes  data"
    (asked,) = step.asked
    assert "The plan:\n\n````markdown\n# Plan" in asked.user
    assert "a.py as it is:\n\n````python\na = '```'\n````" in asked.user
    assert "b.py does not exist yet." in asked.user


async def test_files_for_which_there_is_no_room_are_named(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "x" * 1000, "b.py": "b = 1"})
    step = StageStep(tmp_path, {"approval": "approved"}, context_tokens=300)
    await audited(step)
    assert "there is no room for them: a.py" in step.asked[0].user
    assert "b = 1" in step.asked[0].user
    own = StageStep(tmp_path, {"approval": "approved"}, context_tokens=300, windows={"own": None})
    await audit_plan(own, replace(role("auditor"), adapter="own"), BRIEF, PLAN)  # type: ignore[arg-type]
    assert "x" * 1000 in own.asked[0].user, "it is the window of its own adapter that counts"


async def test_a_secret_that_a_plan_names_is_asked_about(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "token = 'ghp_" + "a" * 36 + "'"})
    step = StageStep(tmp_path, {"approval": "approved"}, decisions=(Decision(False),))
    await audited(step)
    assert step.questions == ["Give a.py to the model? Line 1 seems to hold a GitHub token."]
    assert "ghp_" not in step.asked[0].user


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (conditional(3), "fix 1: it is for step 3, which does not exist; the plan has 2"),
        (conditional(0), "fix 1: it is for step 0"),
        (conditional(1, " "), "fix 1: its description is missing"),
    ],
)
async def test_a_fix_that_cannot_be_made_is_given_back(
    tmp_path: Path, bad: dict[str, Any], said: str
) -> None:
    step = StageStep(tmp_path, bad, conditional(1))
    report = await audited(step)
    assert report.fixes == [PlanFix(step=1, type="edit", description="x")]
    assert said in step.asked[1].user
    assert step.asked[1].history[0].user == step.asked[0].user


async def test_what_stays_wrong_is_left_to_the_gate(tmp_path: Path) -> None:
    step = StageStep(tmp_path, conditional(3), conditional(4), attempts=2)
    assert (await audited(step)).fixes[0].step == 4
    assert step.unused == 0


@pytest.mark.parametrize("fixable", [True, False])
async def test_conditions_without_a_fix_are_left_to_the_gate(tmp_path: Path, fixable: bool) -> None:
    step = StageStep(tmp_path, {"approval": "conditional", "auto_fixable": fixable})
    assert (await audited(step)).fixes == []
    assert len(step.asked) == 1


def test_a_fix_replaces_its_step_or_adds_one_and_keeps_what_it_does_not_say() -> None:
    plan = fixed(
        PlanFix(step=1, description="x"),
        PlanFix(step=2, description="better", files=["c.py"]),
        PlanFix(type="document", description="also", files=["README.md"]),
    )
    assert plan.steps == [
        FIRST.model_copy(update={"description": "x"}),
        PlanStep(type="test", description="better", files=["c.py"]),
        PlanStep(type="document", description="also", files=["README.md"]),
    ]
    assert plan.files == ["a.py", "b.py", "c.py", "README.md"]
    assert PLAN.steps == [FIRST, SECOND]


@pytest.mark.parametrize("step", [-1, 0, 3, 10**9])
def test_a_fix_of_no_step_is_left_out(step: int) -> None:
    assert fixed(PlanFix(step=step, type="edit", description="x")) == PLAN
