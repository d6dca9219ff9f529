"""Gates 1 and 2: the plan, its audit, and the person's word on the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.agents import apply_fixes, named_files, parse_plan_document, plan_as_markdown
from tideate_core.builtin.task.gating import enforcer, tell_gate, words_of
from tideate_core.errors import InvalidInput, StepFailed
from tideate_core.gates import plan_issues
from tideate_core.machines import WorkflowEvent
from tideate_core.workflows import Declined
from tideate_core.workspace import executable_paths

if TYPE_CHECKING:
    from tideate_core.builtin.task.bench import Bench
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import AuditReport, ExecutionPlan
    from tideate_core.workflows import StepContext

__all__ = ["audit_gate", "plan_gate"]


async def plan_gate(step: StepContext, record: TaskRecord, bench: Bench) -> dict[str, Any]:
    """Gate 1."""
    decided = await enforcer(step, bench).enforce_gate1(record.agreed, rejected_plans=record.rejected)
    issues = tell_gate(step, bench, decided)
    event = WorkflowEvent.PLAN_GATE_PASSED if decided.passed else WorkflowEvent.PLAN_GATE_FAILED
    return {"event": event.value, "gate": 1, "issues": issues}


async def audit_gate(step: StepContext, record: TaskRecord, bench: Bench) -> dict[str, Any]:
    """Gate 2; then the audit's fixes are made in the plan, and the person confirms it.

    :raises Declined: they do not.
    """
    audit = record.audit
    assert audit is not None  # noqa: S101 the table does not lead here without one
    decided = await enforcer(step, bench).enforce_gate2(audit, record.agreed)
    plan = apply_fixes(record.agreed, audit) if decided.auto_fixed else record.agreed
    if decided.passed and (left := plan_issues(plan, step.workspace.resolve)):
        # a fix is no way round gate 1
        decided = decided.model_copy(
            update={"passed": False, "auto_fixed": False, "issues": [*decided.issues, *left]}
        )
    issues = tell_gate(step, bench, decided)
    if not decided.passed:
        return {"event": WorkflowEvent.AUDIT_GATE_FAILED.value, "gate": 2, "issues": issues}
    if bench.gated:
        plan = await _confirmed(step, plan, audit)
    value = {"event": WorkflowEvent.AUDIT_GATE_PASSED.value, "gate": 2}
    return {**value, "plan": plan.model_dump(mode="json")}


async def _confirmed(step: StepContext, plan: ExecutionPlan, audit: AuditReport) -> ExecutionPlan:
    """Show the plan, to be changed and confirmed; what the person wrote is asked about until it is a plan.

    :raises Declined: the person does not want it.
    """
    text, problems = plan_as_markdown(plan, audit), list[str]()
    while True:
        payload = {"text": text, "filetype": "markdown", "title": "Plan", "problems": problems}
        question = "\n".join([*(f"{problem}." for problem in problems), "Carry out this plan?"])
        executed = executable_paths(step.workspace, named_files(plan))
        decision = await step.confirm("document", question, payload=payload, executed=executed)
        if not decision.accepted:
            raise Declined(decision.reason)
        if decision.value is None and not problems:
            return plan
        text = _text_of(decision.value, text)
        found, problems = _read(step, text)
        if found is not None:
            return found
        if decision.by != "user":
            raise StepFailed(f"the plan was changed and is none any more: {'; '.join(problems)}")


def _text_of(value: Any, before: str) -> str:
    """Return the text that a person left; one who changed nothing gives none."""
    if value is None:
        return before
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise InvalidInput('the answer to a document is its text: {"text": …}')
    text: str = value["text"]
    return text


def _read(step: StepContext, text: str) -> tuple[ExecutionPlan | None, list[str]]:
    try:
        plan = parse_plan_document(text)
    except InvalidInput as error:
        return None, [str(error)]
    problems = words_of(plan_issues(plan, step.workspace.resolve))
    return (None if problems else plan), problems
