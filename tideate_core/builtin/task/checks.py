"""Tells of the checks of a project while they run."""

from __future__ import annotations

import asyncio
import shlex
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine import EventName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.builtin.task.bench import Bench
    from tideate_core.gates import CheckResult
    from tideate_core.process import Line
    from tideate_core.toolchain import Check, Tool
    from tideate_core.workflows import StepContext

__all__ = ["Telling"]

INTERVAL: Final = 0.1
"""Seconds between two events with lines of a check."""
MOST_LINES: Final = 200
"""Of one event; a tool that prints more in that time is shown its last ones."""
LONGEST_LINE: Final = 1_000
MOST_FAILURES: Final = 200


class Telling:
    """What a `VerificationPipeline` calls; a tool that prints much does not flood whoever watches."""

    def __init__(self, step: StepContext, bench: Bench) -> None:
        self._step = step
        self._bench = bench
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._left_out = 0
        self._due: asyncio.TimerHandle | None = None

    def on_check(self, check: Check, tool: Tool) -> None:
        data = {"check": check.value, "command": shlex.join(tool.argv)}
        self._bench.tell(self._step, EventName.CHECK_STARTED, data)

    def on_lines(self, check: Check, lines: Sequence[Line]) -> None:
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
        self._bench.tell(self._step, EventName.CHECK_ENDED, data)

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
        self._bench.tell(self._step, EventName.CHECK_OUTPUT, {"check": check.value, "lines": lines})
