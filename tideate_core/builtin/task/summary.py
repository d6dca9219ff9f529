"""What a person is told of a task at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.machines import WorkflowState

if TYPE_CHECKING:
    from tideate_core.builtin.task.record import TaskRecord

__all__ = ["failure_of", "summary_of"]

_S = WorkflowState

_FAILED: Final = {
    _S.AWAITING_PLAN_GATE: "the plan did not pass gate 1",
    _S.AWAITING_EXECUTION_GATE: "the edits did not pass gate 3",
    _S.AWAITING_DOCUMENTATION_GATE: "the documentation did not pass gate 4",
    _S.SELF_CORRECTING: "the verification did not pass gate 5",
}
MOST_TOLD: Final = 20
"""Issues that an error names."""


def failure_of(state: WorkflowState, record: TaskRecord) -> str:
    """Return why a task failed in a state, in words."""
    issues = record.issues
    told = [f"- {issue}" for issue in issues[:MOST_TOLD]]
    if len(issues) > MOST_TOLD:
        told.append(f"- and {len(issues) - MOST_TOLD} more")
    head = _FAILED.get(state, f"the task failed in {state.value!r}")
    if state is _S.SELF_CORRECTING and record.end:
        head = f"{head}, and {record.end}"
    return "\n".join([f"{head}:", *told]) if told else head


def summary_of(record: TaskRecord) -> str:
    """Return, as Markdown, what a task did."""
    lines = [record.agreed.objective, "", "Files:", ""]
    lines += [f"- {name}" for name in record.written] or ["- none"]
    report = record.reports[-1] if record.reports else None
    if report is not None:
        lines += ["", "Checks:", ""]
        lines += [
            f"- {result.check}: {'off' if not result.required else result.status}" for result in report.checks
        ]
    count = len(record.edits)
    if count:
        lines += ["", f"Corrected {'once' if count == 1 else f'{count} times'}."]
    if record.snapshot:
        lines += ["", f"Snapshot from before: {record.snapshot}"]
    return "\n".join(lines)
