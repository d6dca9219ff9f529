"""Gate 5: the project's own checks, on what was written and saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.task.bench import root_of
from tideate_core.builtin.task.bystanders import Bystanders
from tideate_core.builtin.task.checks import Telling
from tideate_core.builtin.task.gating import enforcer, tell_gate
from tideate_core.gates import VerificationPipeline
from tideate_core.machines import WorkflowEvent

if TYPE_CHECKING:
    from tideate_core.builtin.task.bench import Bench
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import CheckResult, VerificationReport
    from tideate_core.workflows import StepContext

__all__ = ["bounded", "verify"]

KEPT_OUTPUT: Final = 4_000
"""Characters of the end of a failed check's output that the step's result keeps."""
KEPT_FAILURES: Final = 60


async def verify(step: StepContext, record: TaskRecord, bench: Bench) -> dict[str, Any]:
    """Save what the task wrote in the editor, run all five checks, and decide.

    :raises WorkspaceError: a buffer cannot be saved, or what the checks changed cannot be written down.
    :raises ConfigError: what is trusted cannot be read.
    """
    saved = await step.workspace.save(record.written)
    if saved:
        step.notice(f"saved: {', '.join(saved)}")
    bystanders = await Bystanders.before(step, bench)
    telling = Telling(step, bench)
    pipeline = VerificationPipeline(
        root_of(step.workspace),
        bench.config.verify,
        on_check=telling.on_check,
        on_lines=telling.on_lines,
        on_result=telling.on_result,
    )
    try:
        # within the gate, so that its time is the verification's
        decided = await enforcer(step, bench, _Bounded(pipeline)).enforce_gate5()
    finally:
        telling.close()
    written = await bystanders.settle()
    report = decided.report
    assert report is not None  # noqa: S101 gate 5 always has one
    issues = tell_gate(step, bench, decided)
    event = WorkflowEvent.VERIFICATION_PASSED if decided.passed else WorkflowEvent.VERIFICATION_FAILED
    kept = {"report": report.model_dump(mode="json")}
    issues = [] if decided.passed else issues
    return {"event": event.value, "gate": 5, "issues": issues, **kept, "written": written}


class _Bounded:
    """A pipeline whose report can be kept."""

    def __init__(self, pipeline: VerificationPipeline) -> None:
        self._pipeline = pipeline

    async def run_all(self) -> VerificationReport:
        return bounded(await self._pipeline.run_all())


def bounded(report: VerificationReport) -> VerificationReport:
    """Return a report that can be kept; bounded the same way, the same errors stay the same."""
    return report.model_copy(update={"checks": [_bounded(result) for result in report.checks]})


def _bounded(result: CheckResult) -> CheckResult:
    if result.passed:
        return result.model_copy(update={"output": "", "failures": []})
    failures = result.failures[:KEPT_FAILURES]
    more = result.more_failures or len(failures) < len(result.failures)
    output = result.output[-KEPT_OUTPUT:]
    return result.model_copy(update={"output": output, "failures": failures, "more_failures": more})
