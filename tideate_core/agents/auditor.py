"""The auditor: ask a model to audit a plan, and apply the audit's fixes to the plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from tideate_core.agents.answers import Answer, TidyText, ask_until_valid
from tideate_core.agents.model_input import (
    named_files,
    outline_long_files,
    real_names,
    shown_files,
    text_budget,
)
from tideate_core.agents.plan_document import plan_as_markdown
from tideate_core.agents.planner import StepAnswer
from tideate_core.agents.stage import open_stage
from tideate_core.gates import (
    Approval,
    AuditReport,
    ExecutionPlan,
    PlanStep,
    Severity,
    fix_problem,
)

if TYPE_CHECKING:
    from tideate_core.agents.roles import Role
    from tideate_core.agents.stage import TaskBrief
    from tideate_core.workflows import StepContext

Number = Annotated[int, Field(ge=1)]


class IssueAnswer(Answer):
    """An issue in the model's answer."""

    severity: Severity = Severity.ERROR
    description: TidyText = Field(max_length=600)
    step: Number | None = None
    fix: TidyText = Field(default="", max_length=600)


class FixAnswer(StepAnswer):
    """A fix in the model's answer."""

    step: int | None = None


class AuditAnswer(Answer):
    """The model's answer to the audit; gate 2 checks it strictly."""

    approval: Approval
    issues: list[IssueAnswer] = Field(default_factory=list, max_length=20)
    auto_fixable: bool = False
    fixes: list[FixAnswer] = Field(default_factory=list, max_length=20)

    def as_report(self) -> AuditReport:
        return AuditReport.model_validate(self.model_dump())


async def audit_plan(step: StepContext, role: Role, brief: TaskBrief, plan: ExecutionPlan) -> AuditReport:
    """Ask for the audit of a plan, and show the model the files that it names.

    The model is asked to correct fixes that cannot be applied, up to `step.attempts` times; gate 2 judges
    the rest.

    :raises BudgetReached: the role's budget is used up.
    """
    async with open_stage(step, role, brief) as stage:
        step = stage.step
        shown = await shown_files(step, real_names(step.workspace, named_files(plan)))
        if stage.may_look:
            shown = replace(shown, files=await outline_long_files(shown.files, text_budget(step)))

        async def mistakes_of(audit: AuditAnswer) -> list[str]:
            return _mistakes(audit.as_report(), plan)

        words = plan_as_markdown(plan).strip()
        prompt = stage.render("task_audit", plan=words, files=shown.files, left_out=shown.left_out)
        correction = "This audit cannot be used: {mistakes}. Give the corrected audit."
        answer, _ = await ask_until_valid(step, stage.ask, AuditAnswer, prompt, mistakes_of, correction)
        return answer.as_report()


def _mistakes(report: AuditReport, plan: ExecutionPlan) -> list[str]:
    if report.approval != Approval.CONDITIONAL or not report.auto_fixable:
        return []
    return [
        f"fix {number}: {why}"
        for number, fix in enumerate(report.fixes, 1)
        if (why := fix_problem(fix, plan))
    ]


def apply_fixes(plan: ExecutionPlan, audit: AuditReport) -> ExecutionPlan:
    """Return a plan with the fixes of its audit applied; fixes that cannot be applied are skipped.

    Fields that a fix leaves empty keep the value of the step.
    """
    steps = list(plan.steps)
    added: list[PlanStep] = []
    files = list(plan.files)
    for fix in audit.fixes:
        if fix_problem(fix, plan):
            continue
        if fix.step is None:
            added.append(PlanStep(type=fix.type, description=fix.description, files=fix.files))
        else:
            before = steps[fix.step - 1]
            steps[fix.step - 1] = PlanStep(
                type=fix.type if fix.type.strip() else before.type,
                description=fix.description,
                files=fix.files or before.files,
            )
        files += [file for file in fix.files if file not in files]
    return plan.model_copy(update={"steps": [*steps, *added], "files": files})
