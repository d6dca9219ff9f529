"""Stages of a task performed by roles: planning, auditing, executing, documenting, correcting."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents import (
    Corrected,
    EditsInReview,
    Executed,
    audit_plan,
    correct_task,
    document_task,
    execute_plan,
    plan_task,
    removes,
)
from tideate_core.builtin.task.changes import MOST_NOTES, as_json, name_of, review_changes, revised_by, write
from tideate_core.builtin.task.gates import MOST_EXTENSIONS, PlanNotExtended, extend_plan
from tideate_core.errors import UnusableAnswer
from tideate_core.gates import Correction, CorrectionEnd
from tideate_core.machines import WorkflowEvent
from tideate_core.util.escaping import label
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import ExecutionPlan, VerificationReport
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

_CORRECTION_ENDS: Final = {
    CorrectionEnd.SAME_ERRORS: "the last correction left the same errors",
    CorrectionEnd.SAME_EDIT: "the corrector repeated an earlier change",
    CorrectionEnd.NO_EDIT: "the corrector changed nothing",
    CorrectionEnd.NO_CHANGE: "the corrector answered NO CHANGE: it finds nothing to correct",
    CorrectionEnd.EXHAUSTED: "the limit of corrections was reached",
    CorrectionEnd.NOT_CORRECTABLE: "no edit can fix it: a command, a program or trust is missing",
}


async def plan(step: StepContext, record: TaskRecord, environment: TaskEnvironment) -> dict[str, Any]:
    """Ask the planner for a plan; after a rejected audit, with the issues of the last plan.

    If the limit of rejected plans is reached, the last plan is kept: gate 1 refuses it without a request.
    """
    if record.plan is not None and record.rejected >= environment.config.limits.max_replans:
        kept = record.plan.model_dump(mode="json")
        return {"event": WorkflowEvent.PLANNING_COMPLETE.value, "plan": kept}
    brief = await environment.brief(step)
    made = await (environment.components.planner or plan_task)(
        step, environment.role(step, "planner"), brief, earlier=record.plan, issues=record.issues
    )
    return {"event": WorkflowEvent.PLANNING_COMPLETE.value, "plan": made.model_dump(mode="json")}


async def audit(step: StepContext, record: TaskRecord, environment: TaskEnvironment) -> dict[str, Any]:
    """Ask the auditor to audit the plan."""
    brief = await environment.brief(step)
    auditor = environment.components.auditor or audit_plan
    report = await auditor(step, environment.role(step, "auditor"), brief, record.agreed)
    return {"event": WorkflowEvent.AUDITING_COMPLETE.value, "audit": report.model_dump(mode="json")}


async def execute(step: StepContext, record: TaskRecord, environment: TaskEnvironment) -> dict[str, Any]:
    """Ask the executor for the edits, staged in memory."""
    brief = await environment.brief(step)
    done = await (environment.components.executor or execute_plan)(
        step,
        environment.role(step, "executor"),
        brief,
        record.agreed,
        audit=record.audit,
        beyond=environment.gated,
        go_on=partial(offer_to_continue, step),
    )
    result = done.result
    question = "Take the unfinished edits? They are reviewed and verified; No ends the task."
    if done.unfinished and not (
        done.changes and await _ask_about_unfinished(step, done, question, last=True)
    ):
        result = result.model_copy(update={"errors": [*result.errors, done.unfinished]})
    made = _staged_result(step, record, WorkflowEvent.EXECUTION_COMPLETE, done.changes, result, done.notes)
    return {**made, "unfinished": done.unfinished} if done.unfinished else made


async def offer_to_continue(step: StepContext, done: Executed) -> bool:
    """Ask whether unfinished work may continue with the same budget again.

    A cost limit cannot be extended by an answer. Without a user the work ends.
    """
    if done.limit.startswith("limits.cost_usd"):
        return False
    agreed = await _ask_about_unfinished(step, done, "Let the model continue with the same budget again?")
    if agreed:
        await step.extend_budget()
    return agreed


async def _ask_about_unfinished(
    step: StepContext, done: Executed, question: str, *, last: bool = False
) -> bool:
    """Ask the user about unfinished edits; a policy's yes does not count.

    :param last: No ends the task.
    :raises Declined: the user does not want the edits.
    """
    lines = [f"- {change.action} {label(name_of(change))}" for change in done.changes]
    lines += [f"- nothing yet: {label(path)}" for path in done.missing]
    message = f"The edits are unfinished: {done.limit} was reached. {question}"
    decision = await step.confirm("override", message, details="\n".join(lines))
    if decision.by == "user" and not decision.accepted and (last or not done.changes):
        raise Declined(decision.reason or f"the edits are {done.unfinished}")
    return decision.accepted


async def document(step: StepContext, record: TaskRecord, environment: TaskEnvironment) -> dict[str, Any]:
    """Ask the documenter for the documentation, staged in memory."""
    documenter = environment.components.documenter or document_task
    role, brief = environment.role(step, "documenter"), await environment.brief(step)
    done = await documenter(step, role, brief, record.agreed, record.diff, record.written)
    return _staged_result(
        step, record, WorkflowEvent.DOCUMENTATION_COMPLETE, done.changes, done.result, done.notes
    )


def _staged_result(
    step: StepContext,
    record: TaskRecord,
    event: WorkflowEvent,
    changes: Sequence[FileChange],
    result: BaseModel,
    notes: Sequence[str],
) -> dict[str, Any]:
    for note in notes[:MOST_NOTES]:
        step.notice(note)
    # in this process text typed meanwhile is merged when the edit is written
    record.live = {step.step: list(changes)}
    return {
        "event": event.value,
        "changes": [as_json(change) for change in changes],
        "result": result.model_dump(mode="json"),
        "demonstration": step.demonstration,
    }


async def correct(step: StepContext, record: TaskRecord, environment: TaskEnvironment) -> dict[str, Any]:
    """Ask the corrector for a fix, review it and write it, unless the loop has ended.

    :raises Declined: no part of it was accepted.
    :raises WorkspaceError: the fix cannot be written; nothing was.
    """
    changes: list[FileChange] = []
    plan = record.agreed

    async def corrector(report: VerificationReport) -> Correction:
        nonlocal plan
        plan, done = await _corrected(step, record, environment, report)
        for note in done.notes:
            step.notice(note)
        changes.extend(done.changes)
        return Correction(step.workspace.diff(done.changes), done.summary, no_change=done.no_change)

    loop = environment.correction_loop(record)
    turn = await loop.verify_and_correct(corrector, record.reports[-1])
    summary = turn.attempts[-1].correction.summary if turn.attempts else ""
    if turn.end is not None:
        why = _CORRECTION_ENDS[turn.end] + (f" ({summary})" if summary else "")
        return {"event": WorkflowEvent.CORRECTION_EXHAUSTED.value, "end": why, "issues": record.issues}
    wanted = await step.workspace.attach(changes)
    revise = revised_by(step, await _revisable(step, environment, plan, wanted), _refuse_removals)
    accepted = await review_changes(step, environment, wanted, revise)
    await write(step, accepted)
    return {
        "event": WorkflowEvent.CORRECTION_SUCCEEDED.value,
        "edit": turn.attempts[-1].correction.digest,
        "end": "",
        "plan": plan.model_dump(mode="json"),
        "summary": summary,
        "written": [name_of(change) for change in accepted],
    }


async def _revisable(
    step: StepContext, environment: TaskEnvironment, plan: ExecutionPlan, changes: Sequence[FileChange]
) -> EditsInReview:
    """Return the correction as edits that comments can revise."""
    brief, role = await environment.brief(step), environment.role(step, "corrector")
    earlier = step.conversation(step.step)
    return EditsInReview(step, role, brief, plan, changes, removals=False, earlier=earlier)


async def _refuse_removals(changes: Sequence[FileChange]) -> None:
    if refused := [change.path for change in changes if removes(change)]:
        raise UnusableAnswer(f"a correction may not delete, move or empty {', '.join(refused)}")


async def _corrected(
    step: StepContext, record: TaskRecord, environment: TaskEnvironment, report: VerificationReport
) -> tuple[ExecutionPlan, Corrected]:
    """Return the plan, extended by needed files, and the edits of a correction."""
    plan, brief, role = record.agreed, await environment.brief(step), environment.role(step, "corrector")
    for _ in range(MOST_EXTENSIONS + 1):
        done = await correct_task(step, role, brief, plan, report, record.written, beyond=environment.gated)
        if done.needs is None:
            return plan, done
        try:
            plan = await extend_plan(step, record, environment, plan, done.needs)
        except PlanNotExtended as refusal:
            return record.agreed, Corrected([], str(refusal))
    words = f"the corrector wanted more than {MOST_EXTENSIONS} files outside the plan"
    return record.agreed, Corrected([], words)
