"""The rules of gates 1 to 4: plan, audit, execution, documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.gates import PLAN
from tideate_core.gates import (
    Approval,
    AuditIssue,
    AuditReport,
    DocumentationResult,
    ExecutionPlan,
    GateEnforcer,
    PlanFix,
    PlanStep,
    Severity,
    StagedView,
    TaskResult,
)
from tideate_core.workspace import FileChange

FIX = PlanFix(step=1, description="add a test")

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gates.conftest import Disk
    from tideate_core.gates import GateResult
    from tideate_core.workspace import Workspace


def issues_of(result: GateResult) -> list[str]:
    return [str(issue) for issue in result.issues]


def conditional(*fixes: PlanFix) -> AuditReport:
    return AuditReport(approval=Approval.CONDITIONAL, auto_fixable=True, fixes=list(fixes))


async def test_a_whole_plan_passes(gates: GateEnforcer) -> None:
    result = await gates.enforce_gate1(PLAN)
    assert (result.gate, result.passed, result.issues) == (1, True, [])


@pytest.mark.parametrize(
    ("change", "issue"),
    [
        ({"objective": "  short  "}, "objective: 'short' is not an objective"),
        ({"objective": ""}, "objective: '' is not an objective"),
        ({"steps": []}, "steps: there is no step"),
        ({"steps": [PlanStep(type=" ", description="d")]}, "step 1: it has no type"),
        (
            {"steps": [PlanStep(type="t", description="d"), PlanStep(type="t")]},
            "step 2: it has no description",
        ),
        ({"rollback_strategy": "\n"}, "rollback strategy: there is none"),
        ({"files": ["../outside.py"]}, "files: '../outside.py' is outside the project"),
        ({"steps": [PlanStep(type="t", description="d", files=[".git/config"])]}, "never touches .git"),
    ],
)
async def test_a_plan_that_lacks_something_is_told_what(
    gates: GateEnforcer, change: dict[str, Any], issue: str
) -> None:
    result = await gates.enforce_gate1(PLAN.model_copy(update=change))
    assert not result.passed
    [said] = issues_of(result)
    assert issue in said
    empty = await gates.enforce_gate1(ExecutionPlan())
    assert [issue.where for issue in empty.issues] == ["objective", "steps", "rollback strategy"]


async def test_nothing_can_be_below_a_file(gates: GateEnforcer, workspace: Workspace) -> None:
    assert workspace.root is not None
    (workspace.root / "taken.py").write_text("")
    (workspace.root / "free").mkdir()
    files = ["taken.py", "taken.py/deep/b.py", "free/deep/b.py"]
    [said] = issues_of(await gates.enforce_gate1(PLAN.model_copy(update={"files": files})))
    assert said == "files: 'taken.py/deep/b.py' cannot be created: taken.py is a file"


@pytest.mark.parametrize(("rejected", "passed"), [(0, True), (1, True), (2, False), (3, False)])
async def test_after_so_many_rejections_no_plan_is_taken(
    gates: GateEnforcer, rejected: int, passed: bool
) -> None:
    result = await gates.enforce_gate1(PLAN, rejected_plans=rejected)
    assert result.passed is passed
    assert passed or f"the audit has rejected {rejected} plans" in issues_of(result)[0]


@pytest.mark.parametrize(
    ("audit", "passed", "fixed"),
    [
        (AuditReport(approval=Approval.APPROVED), True, False),
        (AuditReport(approval=Approval.APPROVED, auto_fixable=True, fixes=[FIX]), True, False),
        (conditional(FIX), True, True),
        (conditional(PlanFix(step=99, description="of a plan that is not given")), True, True),
        (conditional(PlanFix(step=1, description=" ")), False, False),
        (AuditReport(approval=Approval.CONDITIONAL, fixes=[FIX]), False, False),
        (AuditReport(approval=Approval.REJECTED, auto_fixable=True, fixes=[FIX]), False, False),
    ],
)
async def test_an_audit_decides_as_it_says(
    gates: GateEnforcer, audit: AuditReport, passed: bool, fixed: bool
) -> None:
    result = await gates.enforce_gate2(audit)
    assert (result.passed, result.auto_fixed) == (passed, fixed)
    assert bool(result.issues) is not passed


@pytest.mark.parametrize(
    ("fix", "said"),
    [
        (PlanFix(step=3, description="x"), "it is for step 3, which does not exist; the plan has 1"),
        (PlanFix(step=0, description="x"), "it is for step 0, which does not exist; the plan has 1"),
        (PlanFix(step=1), "its description is missing"),
        (PlanFix(description="x"), "it adds a step without a type"),
    ],
)
async def test_a_fix_that_cannot_be_made_is_told_and_counts_for_nothing(
    gates: GateEnforcer, fix: PlanFix, said: str
) -> None:
    plan = PLAN.model_copy(update={"steps": [PlanStep(type="edit", description="x")]})
    alone = conditional(fix)
    result = await gates.enforce_gate2(alone, plan)
    assert issues_of(result) == [
        f"fix 1: it cannot be applied: {said}",
        "audit: the audit says that the plan can be fixed, but gives no fix that can be applied",
    ]
    assert not result.passed
    with_another = alone.model_copy(update={"fixes": [FIX, fix]})
    result = await gates.enforce_gate2(with_another, plan)
    assert (result.passed, issues_of(result)) == (True, [f"fix 2: it cannot be applied: {said}"])


async def test_the_audits_issues_are_told(gates: GateEnforcer) -> None:
    issues = [
        AuditIssue(severity=Severity.CRITICAL, description="deletes data", step=2, fix="ask first"),
        AuditIssue(description="no test"),
    ]
    result = await gates.enforce_gate2(AuditReport(approval=Approval.REJECTED, issues=issues))
    assert issues_of(result) == [
        "step 2: critical: deletes data (fix: ask first)",
        "plan: error: no test",
        "audit: the audit rejected the plan",
    ]


async def test_a_clean_execution_passes(gates: GateEnforcer, root: Path, disk: Disk) -> None:
    (root / "new.py").write_text("a = 1\n")
    (root / "logo.png").write_bytes(b"\x89PNG\x00")
    result = TaskResult(files_created=["new.py", "logo.png"], files_deleted=["old.py"])
    assert issues_of(await gates.enforce_gate3(result, disk())) == []


async def test_an_execution_that_is_not_as_it_says_fails(gates: GateEnforcer, root: Path, disk: Disk) -> None:
    (root / "kept.py").write_text("a = 1\n")
    result = TaskResult(
        files_created=["none.py", "../out.py"],
        files_modified=["gone.py"],
        files_deleted=["kept.py"],
        errors=["the model gave up"],
    )
    decided = await gates.enforce_gate3(result, disk())
    assert not decided.passed
    said = issues_of(decided)
    assert "outside the project" in said.pop(2)
    assert said == [
        "execution: the model gave up",
        "none.py: it should have been created but does not exist",
        "gone.py: it should have been modified but does not exist",
        "kept.py: it should have been deleted but exists",
    ]


async def test_a_created_file_with_a_syntax_error_fails_with_its_place(
    gates: GateEnforcer, root: Path, disk: Disk
) -> None:
    (root / "a.ts").write_text("let a: = 1;")
    decided = await gates.enforce_gate3(TaskResult(files_created=["a.ts"]), disk())
    assert not decided.passed
    assert (decided.issues[0].file, decided.issues[0].line) == ("a.ts", 1)


async def test_a_syntax_error_that_was_there_before_is_not_the_tasks(
    gates: GateEnforcer, root: Path, disk: Disk
) -> None:
    (root / "a.py").write_text("x = 1\nprint 'old'\n")
    result = TaskResult(files_modified=["a.py"])
    assert (await gates.enforce_gate3(result, disk(a__py="print 'old'\n"))).passed
    assert not (await gates.enforce_gate3(result, disk(a__py="print('old')\n"))).passed


async def test_what_is_staged_is_looked_at_before_it_is_written(
    gates: GateEnforcer, root: Path, workspace: Workspace
) -> None:
    (root / "old.py").write_text("a = 1\n")
    (root / "here.py").write_text("a = 1\n")
    staged = StagedView(
        workspace,
        [
            FileChange("new.py", "create", None, "def f(:\n"),
            FileChange("old.py", "delete", "a = 1\n", None),
            FileChange("here.py", "move", "a = 1\n", "a = 1\n", move_to="there.py"),
        ],
    )
    result = TaskResult(
        files_created=["new.py", "there.py"], files_deleted=["old.py", "here.py"], files_modified=["none.py"]
    )
    decided = await gates.enforce_gate3(result, staged)
    assert [issue.file for issue in decided.issues] == ["new.py", "none.py"]
    gone = await gates.enforce_gate3(TaskResult(files_modified=["old.py"]), staged)
    assert gone.issues[0].what.endswith("modified but does not exist")


CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n"
CHECKLIST = "- [x] do it\n- [ ] later\n"
DOCUMENTS = DocumentationResult(
    success=True, changelog="CHANGELOG.md", entry="a thing", checklist="todo.md", items=["Do it"]
)


@pytest.mark.parametrize(
    ("change", "issue"),
    [
        ({}, None),
        ({"success": False}, "documentation: it did not succeed"),
        ({"success": False, "errors": ["no model"]}, "documentation: no model"),
        ({"errors": ["half of it"]}, "documentation: half of it"),
        (
            {"entry": "another thing"},
            "CHANGELOG.md:3: there is no entry for 'another thing' under Unreleased",
        ),
        ({"version": "9.9.9"}, "CHANGELOG.md:1: there is no entry for 'a thing' under 9.9.9"),
        ({"items": ["later"]}, "todo.md:2: 'later' is not checked"),
        ({"items": ["do i"]}, None),
        ({"items": ["missing"]}, "todo.md:1: there is no item 'missing'"),
        ({"changelog": None}, "CHANGELOG.md: the project has a changelog, but no entry was added"),
        ({"changelog": "NEWS.md"}, "NEWS.md: this changelog does not exist"),
        ({"checklist": "none.md"}, "none.md: this checklist does not exist"),
        ({"checklist": None, "items": ["a"]}, "checklist: there are items but no checklist"),
        ({"docs": ["guide.md"]}, "guide.md: it should have been written but does not exist"),
    ],
)
async def test_documents_must_be_in_order(
    gates: GateEnforcer,
    root: Path,
    disk: Disk,
    change: dict[str, Any],
    issue: str | None,
) -> None:
    (root / "CHANGELOG.md").write_text(CHANGELOG)
    (root / "todo.md").write_text(CHECKLIST)
    docs = DOCUMENTS.model_copy(update=change)
    assert issues_of(await gates.enforce_gate4(docs, disk())) == ([issue] if issue else [])


async def test_a_project_without_a_changelog_needs_none(gates: GateEnforcer, disk: Disk) -> None:
    assert (await gates.enforce_gate4(DocumentationResult(success=True), disk())).passed


async def test_without_words_any_new_entry_will_do_and_none_will_not(
    gates: GateEnforcer, root: Path, disk: Disk
) -> None:
    docs = DocumentationResult(success=True, changelog="CHANGELOG.md")
    (root / "CHANGELOG.md").write_text(CHANGELOG)
    assert not (await gates.enforce_gate4(docs, disk(CHANGELOG__md=CHANGELOG))).passed
    (root / "CHANGELOG.md").write_text(CHANGELOG + "- Another.\n")
    assert (await gates.enforce_gate4(docs, disk(CHANGELOG__md=CHANGELOG))).passed
