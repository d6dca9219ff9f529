"""Issues of a plan, its audit, its execution and its documentation: the rules of gates 1 to 4."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from tideate_core.errors import OutsideRoot
from tideate_core.gates.results import GateIssue
from tideate_core.gates.stage_results import Approval
from tideate_core.gates.syntax import new_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tideate_core.gates.documents import DocumentValidator, ValidationResult
    from tideate_core.gates.stage_results import (
        AuditReport,
        DocumentationResult,
        ExecutionPlan,
        PlanFix,
        TaskResult,
    )
    from tideate_core.gates.views import StagedView

SHORTEST_OBJECTIVE = 10
"""Characters."""

CHANGELOGS = ("CHANGELOG.md", "CHANGES.md", "HISTORY.md", "docs/CHANGELOG.md")
"""Usual paths of a project's changelog."""


def plan_issues(plan: ExecutionPlan, resolve: Callable[[str], Path] | None) -> list[GateIssue]:
    """Return missing parts of a plan, and its files that may not be written.

    :param resolve: raises OutsideRoot for such a file; None: do not check files.
    """
    issues = []
    objective = plan.objective.strip()
    if len(objective) < SHORTEST_OBJECTIVE:
        what = f"{objective!r} is not an objective; say what is wanted in {SHORTEST_OBJECTIVE} characters"
        issues.append(GateIssue(what=what, where="objective"))
    if not plan.steps:
        issues.append(GateIssue(what="there is no step; a plan needs at least one", where="steps"))
    for number, step in enumerate(plan.steps, 1):
        missing = [name for name in ("type", "description") if not getattr(step, name).strip()]
        issues += [GateIssue(what=f"it has no {name}", where=f"step {number}") for name in missing]
    if not plan.rollback_strategy.strip():
        what = "there is none; say how the change is rolled back"
        issues.append(GateIssue(what=what, where="rollback strategy"))
    named = [*plan.files, *(file for step in plan.steps for file in step.files)]
    return issues + _forbidden(dict.fromkeys(named), resolve)


def _forbidden(files: Iterable[str], resolve: Callable[[str], Path] | None) -> list[GateIssue]:
    if resolve is None:
        return []
    issues = []
    for file in files:
        try:
            above = next((one for one in resolve(file).parents if one.exists()), None)
        except OutsideRoot as error:
            issues.append(GateIssue(what=str(error), where="files", file=file))
            continue
        if above is not None and not above.is_dir():
            what = f"{file!r} cannot be created: {above.name} is a file"
            issues.append(GateIssue(what=what, where="files", file=file))
    return issues


def fix_problem(fix: PlanFix, plan: ExecutionPlan | None) -> str:
    """Return why a fix cannot be applied to a plan; empty if it can.

    :param plan: None: its steps are unknown.
    """
    if fix.step is not None and (fix.step < 1 or (plan is not None and fix.step > len(plan.steps))):
        count = "" if plan is None else f"; the plan has {len(plan.steps)}"
        return f"it is for step {fix.step}, which does not exist{count}"
    if not fix.description.strip():
        return "its description is missing"
    return "" if fix.step is not None or fix.type.strip() else "it adds a step without a type"


def is_accepted(audit: AuditReport, plan: ExecutionPlan | None = None) -> bool:
    """Return whether an audit accepts a plan, as it is or with fixes that can be applied."""
    if audit.approval == Approval.CONDITIONAL:
        return audit.auto_fixable and any(not fix_problem(fix, plan) for fix in audit.fixes)
    return audit.approval == Approval.APPROVED


def audit_issues(audit: AuditReport, plan: ExecutionPlan | None = None) -> list[GateIssue]:
    """Return the issues of an audit, and the reason if it does not accept the plan."""
    issues = [
        GateIssue(
            what=f"{issue.severity}: {issue.description}" + (f" (fix: {issue.fix})" if issue.fix else ""),
            where=f"step {issue.step}" if issue.step else "plan",
        )
        for issue in audit.issues
    ]
    if audit.approval == Approval.CONDITIONAL:
        found = enumerate((fix_problem(fix, plan) for fix in audit.fixes), 1)
        issues += [
            GateIssue(what=f"it cannot be applied: {why}", where=f"fix {n}") for n, why in found if why
        ]
    if is_accepted(audit, plan):
        return issues
    what = "the audit rejected the plan"
    if audit.approval == Approval.CONDITIONAL:
        what = "the audit approved the plan on conditions that cannot be met without a new plan"
        if audit.auto_fixable:
            what = "the audit says that the plan can be fixed, but gives no fix that can be applied"
    return [*issues, GateIssue(what=what, where="audit")]


async def execution_issues(result: TaskResult, view: StagedView) -> list[GateIssue]:
    """Return errors of an execution: reported ones, wrong or missing files, new syntax errors."""
    issues = [GateIssue(what=error, where="execution") for error in result.errors]
    for path in dict.fromkeys([*result.files_created, *result.files_modified]):
        issues += await _written(path, view, created=path in result.files_created)
    for path in dict.fromkeys(result.files_deleted):
        try:
            if await view.exists(path):
                issues.append(GateIssue.at(path, None, "it should have been deleted but exists"))
        except OutsideRoot as error:
            issues.append(GateIssue(what=str(error), where="files", file=path))
    return issues


async def _written(path: str, view: StagedView, *, created: bool) -> list[GateIssue]:
    try:
        if not await view.exists(path):
            what = (
                "it should have been created but does not exist"
                if created
                else "it should have been modified but does not exist"
            )
            return [GateIssue.at(path, None, what)]
        after, before = await view.text(path), await view.text_before(path)
    except OutsideRoot as error:
        return [GateIssue(what=str(error), where="files", file=path)]
    if after is None:  # a binary file has no syntax
        return []
    problems = await asyncio.to_thread(new_errors, path, before or "", after)
    return [
        GateIssue.at(path, problem.line, f"{problem.message} in {problem.source!r}") for problem in problems
    ]


async def documentation_issues(
    docs: DocumentationResult, view: StagedView, validator: DocumentValidator
) -> list[GateIssue]:
    """Return the defects of a task's documentation: changelog, checklist, other documents."""
    issues = [GateIssue(what=error, where="documentation") for error in docs.errors]
    if not docs.success and not issues:
        issues.append(GateIssue(what="it did not succeed", where="documentation"))
    if docs.changelog is None:
        issues += await _unmentioned_changelog(view)
    else:
        check = partial(validator.validate_changelog, entry=docs.entry, version=docs.version)
        issues += await _document_issues(docs.changelog, "changelog", view, check)
    if docs.checklist is not None:
        check = partial(validator.validate_checklist, items=docs.items)
        issues += await _document_issues(docs.checklist, "checklist", view, check)
    elif docs.items:
        issues.append(GateIssue(what="there are items but no checklist", where="checklist"))
    for path in docs.docs:
        if not await view.exists(path):
            issues.append(GateIssue.at(path, None, "it should have been written but does not exist"))
    return issues


async def _unmentioned_changelog(view: StagedView) -> list[GateIssue]:
    for known in CHANGELOGS:
        if await view.exists(known):
            return [GateIssue.at(known, None, "the project has a changelog, but no entry was added")]
    return []


async def _document_issues(
    path: str, kind: str, view: StagedView, validate: Callable[..., ValidationResult]
) -> list[GateIssue]:
    text = await view.text(path)
    if text is None:
        return [GateIssue.at(path, None, f"this {kind} does not exist")]
    result = validate(text, before=await view.text_before(path))
    return [GateIssue.at(path, issue.line, issue.message) for issue in result.issues]
