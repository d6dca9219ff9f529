"""Gates 3 and 4: edits are looked at in memory, reviewed by the person, and written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents import result_of
from tideate_core.builtin.task.changes import diff_of, name_of, read_back
from tideate_core.builtin.task.gating import enforcer, tell_gate
from tideate_core.builtin.task.reviewing import reviewed, write
from tideate_core.gates import StagedView
from tideate_core.machines import WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.builtin.task.bench import Bench
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import DocumentationResult, GateResult
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

__all__ = ["documentation_gate", "execution_gate"]

LONGEST_DIFF: Final = 40_000
"""Characters of the diff that are kept for the documenter."""


async def execution_gate(step: StepContext, record: TaskRecord, bench: Bench) -> dict[str, Any]:
    """Gate 3, the review, gate 3 again where only a part was taken, and the writing.

    :raises Declined: nothing was accepted.
    :raises WorkspaceError: the edits cannot be written; nothing was.
    """
    result = record.result
    assert result is not None  # noqa: S101 the table does not lead here without one
    gates = enforcer(step, bench)
    changes = await _staged(step, record)
    failed = WorkflowEvent.EXECUTION_GATE_FAILED
    decided = await gates.enforce_gate3(result, StagedView(step.workspace, changes))
    issues = tell_gate(step, bench, decided)
    if not decided.passed:
        return _refused(failed, decided, issues)
    accepted = await reviewed(step, bench, changes)
    if accepted != changes:
        view = StagedView(step.workspace, accepted)
        decided = await gates.enforce_gate3(result_of(accepted), view)
        issues = tell_gate(step, bench, decided)
        if not decided.passed:
            return _refused(failed, decided, issues)
    value = await _written(step, WorkflowEvent.EXECUTION_GATE_PASSED, 3, accepted)
    return {**value, "diff": diff_of(accepted)[:LONGEST_DIFF]}


async def documentation_gate(step: StepContext, record: TaskRecord, bench: Bench) -> dict[str, Any]:
    """Gate 4, the review, gate 4 again where only a part was taken, and the writing; raises as gate 3."""
    docs = record.docs
    assert docs is not None  # noqa: S101 the table does not lead here without one
    gates = enforcer(step, bench)
    changes = await _staged(step, record)
    failed = WorkflowEvent.DOCUMENTATION_GATE_FAILED
    decided = await gates.enforce_gate4(docs, StagedView(step.workspace, changes))
    issues = tell_gate(step, bench, decided)
    if not decided.passed:
        return _refused(failed, decided, issues)
    accepted = await reviewed(step, bench, changes) if changes else []
    if accepted != changes:
        view = StagedView(step.workspace, accepted)
        decided = await gates.enforce_gate4(_part(docs, accepted), view)
        issues = tell_gate(step, bench, decided)
        if not decided.passed:
            return _refused(failed, decided, issues)
    return await _written(step, WorkflowEvent.DOCUMENTATION_GATE_PASSED, 4, accepted)


async def _staged(step: StepContext, record: TaskRecord) -> list[FileChange]:
    """Return what the stage before wants written; the review is of a model that may be a demonstration."""
    step.demonstration = step.demonstration or record.staged.get("demonstration", False)
    live = record.live.get(record.source)
    changes = await read_back(step.workspace, record.staged["changes"]) if live is None else live
    return await step.workspace.attach(changes)


async def _written(
    step: StepContext, event: WorkflowEvent, gate: int, changes: Sequence[FileChange]
) -> dict[str, Any]:
    await write(step, changes)
    return {"event": event.value, "gate": gate, "written": [name_of(change) for change in changes]}


def _refused(event: WorkflowEvent, decided: GateResult, issues: list[str]) -> dict[str, Any]:
    return {"event": event.value, "gate": decided.gate, "issues": issues}


def _part(docs: DocumentationResult, accepted: Sequence[FileChange]) -> DocumentationResult:
    """Return what is documented where the person took only a part: documents that they left out are none."""
    names = {change.path for change in accepted}
    return docs.model_copy(update={"docs": [name for name in docs.docs if name in names]})
