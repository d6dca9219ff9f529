"""Record of a task, folded from its steps' results; its summary and failure message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tideate_core.gates import AuditReport, DocumentationResult, ExecutionPlan, TaskResult, VerificationReport
from tideate_core.machines import WorkflowEvent, WorkflowState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.workspace import FileChange

_S = WorkflowState
_FAILED: Final = {
    _S.AWAITING_PLAN_GATE: "the plan did not pass gate 1",
    _S.AWAITING_EXECUTION_GATE: "the edits did not pass gate 3",
    _S.AWAITING_DOCUMENTATION_GATE: "the documentation did not pass gate 4",
    _S.SELF_CORRECTING: "the verification did not pass gate 5",
}
MOST_LISTED: Final = 20
"""Issues listed in an error."""


@dataclass
class TaskRecord:
    """State of a task so far."""

    snapshot: str | None = None
    left_out: list[str] = field(default_factory=list)
    """Checks without a command that the user left out."""
    plan: ExecutionPlan | None = None
    planned_in: str = ""
    """Step that made the plan."""
    audit: AuditReport | None = None
    rejected: int = 0
    """Number of plans rejected by the audit."""
    issues: list[str] = field(default_factory=list)
    """Issues of the gate that failed last."""
    result: TaskResult | None = None
    unfinished: str = ""
    """Reason that the executor's edits are incomplete; empty if they are complete."""
    docs: DocumentationResult | None = None
    staged: Mapping[str, Any] = field(default_factory=dict)
    """Result of the stage with unwritten changes."""
    live: dict[str, list[FileChange]] = field(default_factory=dict)
    """Changes made in this process, by step."""
    source: str = ""
    """Step of `staged`."""
    written: list[str] = field(default_factory=list)
    diff: str = ""
    """Diff of the executor's written edits, cut at the end if long."""
    reports: list[VerificationReport] = field(default_factory=list)
    """Reports of all verifications."""
    edits: list[str] = field(default_factory=list)
    """Digests of all written corrections, compared by `SelfCorrectionLoop`."""
    end: str = ""
    """Reason that corrections ended."""

    @property
    def agreed(self) -> ExecutionPlan:
        """The current plan."""
        assert self.plan is not None  # noqa: S101 the table does not lead here without one
        return self.plan

    @property
    def corrected(self) -> list[VerificationReport]:
        """Reports that were answered by a correction."""
        return self.reports[: len(self.edits)]

    def add_result(self, step: str, state: WorkflowState, value: Mapping[str, Any]) -> None:
        """Fold in the result of a step."""
        if state is _S.IDLE:
            self.snapshot = value["snapshot"]
            self.left_out = value["left_out"]
        elif state is _S.PLANNING:
            self.plan, self.planned_in = ExecutionPlan.model_validate(value["plan"]), step
        elif state is _S.AUDITING:
            self.audit = AuditReport.model_validate(value["audit"])
        elif state is _S.AWAITING_AUDIT_GATE:
            self._audited(value)
        elif state in (_S.EXECUTING, _S.DOCUMENTING):
            self._made(step, state, value)
        elif state is _S.VERIFYING:
            self.reports.append(VerificationReport.model_validate(value["report"]))
        elif state is _S.SELF_CORRECTING:
            self._corrected(value)
        elif state is _S.AWAITING_EXECUTION_GATE:
            self.diff = value.get("diff", "")
            if "result" in value:  # of the accepted files
                self.result = TaskResult.model_validate(value["result"])
        self.issues = list(value.get("issues", ()))
        self.written += [name for name in value.get("written", ()) if name not in self.written]

    def _audited(self, value: Mapping[str, Any]) -> None:
        if value["event"] == WorkflowEvent.AUDIT_GATE_PASSED:
            self.plan = ExecutionPlan.model_validate(value["plan"])
            if "audit" in value:  # of a revised plan
                self.audit = AuditReport.model_validate(value["audit"])
        else:
            self.rejected += 1

    def _made(self, step: str, state: WorkflowState, value: Mapping[str, Any]) -> None:
        self.staged, self.source = value, step
        if state is _S.EXECUTING:
            self.result = TaskResult.model_validate(value["result"])
            self.unfinished = value.get("unfinished", "")
        else:
            self.docs = DocumentationResult.model_validate(value["result"])

    def _corrected(self, value: Mapping[str, Any]) -> None:
        if value["event"] == WorkflowEvent.CORRECTION_SUCCEEDED:
            self.edits.append(value["edit"])
            self.plan = ExecutionPlan.model_validate(value["plan"])
        self.end = value["end"]


def failure_of(state: WorkflowState, record: TaskRecord) -> str:
    """Return the failure message of a task that failed in a state."""
    issues = record.issues
    listed = [f"- {issue}" for issue in issues[:MOST_LISTED]]
    if len(issues) > MOST_LISTED:
        listed.append(f"- and {len(issues) - MOST_LISTED} more")
    head = _FAILED.get(state, f"the task failed in {state.value!r}")
    if state is _S.SELF_CORRECTING and record.end:
        head = f"{head}, and {record.end}"
    return "\n".join([f"{head}:", *listed]) if listed else head


def summary_of(record: TaskRecord) -> str:
    """Return a Markdown summary of a task."""
    lines = [record.agreed.objective, "", "Files:", ""]
    lines += [f"- {name}" for name in record.written] or ["- none"]
    if record.unfinished:
        lines += ["", f"The edits are {record.unfinished}."]
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
