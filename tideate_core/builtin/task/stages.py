"""The stages that a role does: planning, auditing, executing, documenting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.task.changes import as_json
from tideate_core.machines import WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from tideate_core.builtin.task.bench import Bench
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

__all__ = ["audit", "document", "execute", "plan"]

MOST_NOTES: Final = 20
"""Of one stage that are told."""


async def plan(step: StepContext, record: TaskRecord, bench: Bench) -> dict[str, Any]:
    """Have a plan made; anew, with what was said against the last one, where the audit rejected that.

    Where as many were rejected as may be, gate 1 refuses whatever comes: nobody is asked for another one.
    """
    from tideate_core.agents import plan_task

    if record.plan is not None and record.rejected >= bench.config.limits.max_replans:
        kept = record.plan.model_dump(mode="json")
        return {"event": WorkflowEvent.PLANNING_COMPLETE.value, "plan": kept}
    brief = await bench.brief(step)
    made = await plan_task(
        step, bench.role(step, "planner"), brief, earlier=record.plan, issues=record.issues
    )
    return {"event": WorkflowEvent.PLANNING_COMPLETE.value, "plan": made.model_dump(mode="json")}


async def audit(step: StepContext, record: TaskRecord, bench: Bench) -> dict[str, Any]:
    """Have the plan audited."""
    from tideate_core.agents import audit_plan

    brief = await bench.brief(step)
    report = await audit_plan(step, bench.role(step, "auditor"), brief, record.agreed)
    return {"event": WorkflowEvent.AUDITING_COMPLETE.value, "audit": report.model_dump(mode="json")}


async def execute(step: StepContext, record: TaskRecord, bench: Bench) -> dict[str, Any]:
    """Have the edits made, in memory."""
    from tideate_core.agents import execute_plan

    brief = await bench.brief(step)
    done = await execute_plan(step, bench.role(step, "executor"), brief, record.agreed, beyond=bench.gated)
    return _made(step, record, WorkflowEvent.EXECUTION_COMPLETE, done.changes, done.result, done.notes)


async def document(step: StepContext, record: TaskRecord, bench: Bench) -> dict[str, Any]:
    """Have the documentation made, in memory."""
    from tideate_core.agents import document_task

    role, brief = bench.role(step, "documenter"), await bench.brief(step)
    done = await document_task(step, role, brief, record.agreed, record.diff, record.written)
    return _made(step, record, WorkflowEvent.DOCUMENTATION_COMPLETE, done.changes, done.result, done.notes)


def _made(
    step: StepContext,
    record: TaskRecord,
    event: WorkflowEvent,
    changes: Sequence[FileChange],
    result: BaseModel,
    notes: Sequence[str],
) -> dict[str, Any]:
    for note in notes[:MOST_NOTES]:
        step.notice(note)
    # in this process what a person types meanwhile is no obstacle: an edit is moved over it
    record.live = {step.step: list(changes)}
    return {
        "event": event.value,
        "changes": [as_json(change) for change in changes],
        "result": result.model_dump(mode="json"),
        "demonstration": step.demonstration,
    }
