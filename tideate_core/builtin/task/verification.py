"""Gate 5 of a task: run the project's checks, report their output, settle what changed meanwhile."""

from __future__ import annotations

import asyncio
import shlex
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.task.environment import root_of
from tideate_core.builtin.task.gates import gate_enforcer, report_gate
from tideate_core.engine import EventName, temporary_pin
from tideate_core.errors import SnapshotNotFound
from tideate_core.gates import VerificationPipeline
from tideate_core.machines import WorkflowEvent
from tideate_core.snapshots import SnapshotLimits, SnapshotManager
from tideate_core.workflows import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import CheckResult, VerificationReport
    from tideate_core.process import OutputLine
    from tideate_core.snapshots import ChangesSince
    from tideate_core.toolchain import Check, Tool
    from tideate_core.workflows import StepContext

__all__ = ["CheckEvents", "ForeignChanges", "bounded", "verify"]


KEPT_OUTPUT: Final = 4_000
"""Characters of the end of a failed check's output that the step's result keeps."""
KEPT_FAILURES: Final = 60
INTERVAL: Final = 0.1
"""Seconds between two events with lines of a check."""
MOST_LINES: Final = 200
"""Of one event; a tool that prints more in that time is shown its last ones."""
LONGEST_LINE: Final = 1_000
MOST_FAILURES: Final = 200
BEFORE: Final = "before_checks"
"""The key under which the step remembers the snapshot."""
MOST_NAMED: Final = 8
LONGEST_DIFF: Final = 20_000
"""Characters that are shown with the question."""


async def verify(step: StepContext, record: TaskRecord, environment: TaskEnvironment) -> dict[str, Any]:
    """Save what the task wrote in the editor, run all five checks, and decide.

    :raises WorkspaceError: a buffer cannot be saved, or what the checks changed cannot be written down.
    :raises ConfigError: what is trusted cannot be read.
    """
    saved = await step.workspace.save(record.written)
    if saved:
        step.notice(f"saved: {', '.join(saved)}")
    foreign = await ForeignChanges.before(step, environment)
    check_events = CheckEvents(step, environment)
    pipeline = VerificationPipeline(
        root_of(step.workspace),
        environment.config.verify,
        on_check=check_events.on_check,
        on_lines=check_events.on_lines,
        on_result=check_events.on_result,
    )
    try:
        # within the gate, so that its time is the verification's
        decided = await gate_enforcer(step, environment, _Bounded(pipeline)).enforce_gate5()
    finally:
        check_events.close()
    written = await foreign.settle()
    report = decided.report
    assert report is not None  # noqa: S101 gate 5 always has one
    issues = report_gate(step, environment, decided)
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


class CheckEvents:
    """Callbacks of a `VerificationPipeline`: its events, not so many that they flood whoever watches."""

    def __init__(self, step: StepContext, environment: TaskEnvironment) -> None:
        self._step = step
        self._environment = environment
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._left_out = 0
        self._due: asyncio.TimerHandle | None = None

    def on_check(self, check: Check, tool: Tool) -> None:
        data = {"check": check.value, "command": shlex.join(tool.argv)}
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
            "reason": result.reason,
            "duration_ms": result.duration_ms,
            "exit_code": result.exit_code,
            "failures": failures,
        }
        self._environment.report(self._step, EventName.CHECK_ENDED, data)

    def close(self) -> None:
        """Tell nothing more."""
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


class ForeignChanges:
    """Of one verification.

    :param snapshot: of the files as they were before.
    """

    def __init__(
        self, step: StepContext, environment: TaskEnvironment, manager: SnapshotManager, snapshot: str
    ) -> None:
        self._step = step
        self._environment = environment
        self._manager = manager
        self._snapshot = snapshot

    @classmethod
    async def before(cls, step: StepContext, environment: TaskEnvironment) -> ForeignChanges:
        """Note how the files are; after a crash, how they were before it.

        :raises WorkspaceError: no snapshot can be made.
        """
        workspace = step.workspace
        limits = SnapshotLimits.configured(environment.config.snapshots)
        manager = SnapshotManager(
            root_of(workspace), buffers=workspace.buffers, private=workspace.private, limits=limits
        )
        known = step.recall(BEFORE)
        if known is not MISSING and any(one.id == known for one in await manager.list()):
            return cls(step, environment, manager, str(known))
        name = f"before the checks of task {step.execution_id[:8]}"
        snapshot = await manager.create(name, pin=temporary_pin(step.execution_id))
        await step.remember(BEFORE, snapshot)
        return cls(step, environment, manager, snapshot)

    async def settle(self) -> list[str]:
        """Ask about what was changed since; returns the files that belong to the task now.

        :raises WorkspaceError: what differs cannot be read or written down.
        """
        since = await self._manager.changes_since(self._snapshot)
        adopted: list[str] = []
        if since and await self._were_checks(since):
            adopted = await self._step.workspace.record_outside_changes(
                since, execution_id=self._step.execution_id
            )
            self._step.changed(adopted)
        with suppress(SnapshotNotFound):  # the person was faster
            await self._manager.delete(self._snapshot)
        return adopted

    async def _were_checks(self, since: ChangesSince) -> bool:
        names = sorted({*since.files, *since.modes, *(f"{path}/" for path in (*since.made, *since.removed))})
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        listed = f"{', '.join(names[:MOST_NAMED])}{more}"
        if self._environment.gated:
            decision = await self._step.confirm(
                "gate",
                f"Changed while the checks ran: {listed}. Did a check do that? Then it belongs to the task, "
                "and is rolled back with it; no: it is yours, and stays.",
                details=_details(since),
            )
            if decision.accepted:
                return True
        self._step.notice(
            f"changed while the checks ran, and not counted as the task's: {listed}", level="warn"
        )
        return False


def _details(since: ChangesSince) -> str:
    parts: list[str] = []
    size = 0
    for diff in since.diffs:
        text = f"{diff.status} `{diff.path}`\n\n```diff\n{diff.changes.rstrip()}\n```\n"
        size += len(text)
        if size > LONGEST_DIFF:
            parts.append("More is not shown.")
            break
        parts.append(text)
    return "\n".join(parts)
