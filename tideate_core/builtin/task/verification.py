"""Gate 5 of a task: run the project's checks and report their output."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.task.environment import root_of
from tideate_core.builtin.task.foreign_changes import ForeignChanges
from tideate_core.builtin.task.gates import report_gate
from tideate_core.engine import EventName
from tideate_core.errors import WorkspaceError
from tideate_core.gates import VerificationPipeline
from tideate_core.machines import WorkflowEvent
from tideate_core.util.cutting import ending
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import CheckResult, GateEnforcer, GateResult, VerificationReport, Verifier
    from tideate_core.process import OutputLine
    from tideate_core.toolchain import Check, Tool
    from tideate_core.workflows import StepContext

KEPT_OUTPUT: Final = 4_000
"""Characters kept of the end of a failed check's output."""
KEPT_FAILURES: Final = 60
INTERVAL: Final = 0.1
"""Seconds between two events with lines of a check's output."""
MOST_LINES: Final = 200
"""Lines of one event; older lines of a fast tool are dropped."""
LONGEST_LINE: Final = 1_000
MOST_FAILURES: Final = 200


async def verify(step: StepContext, record: TaskRecord, environment: TaskEnvironment) -> dict[str, Any]:
    """Save the task's files in the editor, run all five checks, and let gate 5 decide.

    :raises WorkspaceError: a buffer cannot be saved before the checks, or the checks' own changes cannot
        be recorded.
    :raises ConfigError: the trusted configuration cannot be read.
    """
    done = await step.workspace.save(record.written)
    if done.saved:
        step.notice(f"saved: {', '.join(map(label, done.saved))}")
    if done.unsaved:
        raise WorkspaceError(f"{done.unsaved_words}. Save with `:w`, then resume: the checks read files")
    foreign = await ForeignChanges.before(step, environment)
    check_events = CheckEvents(step, environment)
    pipeline = VerificationPipeline(
        root_of(step.workspace),
        environment.config.verify.model_copy(update=dict.fromkeys(record.left_out, "off")),
        changed=record.written,
        on_check=check_events.on_check,
        on_lines=check_events.on_lines,
        on_result=check_events.on_result,
    )
    gate = _Gate5(environment.gates(step, _Bounded(pipeline)))
    try:
        verified = await environment.correction_loop(record, gate).verify_and_correct()
    finally:
        check_events.close()
    written = await foreign.settle()
    decided = gate.decided
    if decided is None:
        raise TypeError("the self-correction loop has not run its verifier")
    issues = report_gate(step, environment, decided)
    event = WorkflowEvent.VERIFICATION_PASSED if decided.passed else WorkflowEvent.VERIFICATION_FAILED
    kept = {"report": verified.report.model_dump(mode="json")}
    issues = [] if decided.passed else issues
    return {"event": event.value, "gate": 5, "issues": issues, **kept, "written": written}


class _Gate5:
    """Gate 5 as the correction loop's verifier; its duration includes the checks."""

    def __init__(self, gates: GateEnforcer) -> None:
        self._gates = gates
        self.decided: GateResult | None = None

    async def run_all(self) -> VerificationReport:
        self.decided = await self._gates.enforce_gate5()
        if self.decided.report is None:
            raise TypeError("gate 5 of the gate enforcer has decided without a report")
        return bounded(self.decided.report)


class _Bounded:
    """Verifier with reports of bounded size."""

    def __init__(self, pipeline: Verifier) -> None:
        self._pipeline = pipeline

    async def run_all(self) -> VerificationReport:
        return bounded(await self._pipeline.run_all())


def bounded(report: VerificationReport) -> VerificationReport:
    """Return a report of bounded size; equal errors stay equal."""
    return report.model_copy(update={"checks": [_bounded(result) for result in report.checks]})


def _bounded(result: CheckResult) -> CheckResult:
    if result.passed:
        return result.model_copy(update={"output": "", "failures": []})
    failures = result.failures[:KEPT_FAILURES]
    more = result.more_failures or len(failures) < len(result.failures)
    output = ending(result.output, KEPT_OUTPUT)
    return result.model_copy(update={"output": output, "failures": failures, "more_failures": more})


class CheckEvents:
    """Callbacks of a `VerificationPipeline` that emit rate-limited events."""

    def __init__(self, step: StepContext, environment: TaskEnvironment) -> None:
        self._step = step
        self._environment = environment
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._left_out = 0
        self._due: asyncio.TimerHandle | None = None

    def on_check(self, check: Check, tool: Tool) -> None:
        data = {"check": check.value, "command": tool.words}
        self._environment.report(self._step, EventName.CHECK_STARTED, data)

    def on_lines(self, check: Check, lines: Sequence[OutputLine]) -> None:
        for line in lines:
            self._left_out += len(self._lines) == MOST_LINES
            self._lines.append(line.text[:LONGEST_LINE])
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(INTERVAL, self._flush, check)

    def on_result(self, result: CheckResult) -> None:
        self._flush(result.check)
        failures = [failure.as_json() for failure in result.failures[:MOST_FAILURES]]
        data: dict[str, Any] = {
            "check": result.check.value,
            "status": result.status.value,
            "required": result.required,
            "reason": result.reason,
            "duration_ms": result.duration_ms,
            "exit_code": result.exit_code,
            "failures": failures,
            "parts": [
                {
                    "folder": part.folder,
                    "status": part.status.value,
                    "reason": part.reason,
                    "command": part.command,
                }
                for part in result.parts
            ],
        }
        self._environment.report(self._step, EventName.CHECK_ENDED, data)

    def close(self) -> None:
        """Stop sending events."""
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _flush(self, check: Check) -> None:
        self.close()
        if not self._lines:
            return
        lines = [*self._lines]
        if self._left_out:
            lines.insert(0, f"… {self._left_out} lines left out")
        self._lines.clear()
        self._left_out = 0
        self._environment.report(self._step, EventName.CHECK_OUTPUT, {"check": check.value, "lines": lines})
