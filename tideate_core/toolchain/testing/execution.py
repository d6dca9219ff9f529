"""Run of a project's tests: progress, report and output brought to one form."""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.process import ProcessLimits, run_program
from tideate_core.toolchain.testing.json_reports import GoEvents, read_jest
from tideate_core.toolchain.testing.printed_results import count_printed, failures_printed
from tideate_core.toolchain.testing.results import Tally, TestResults, UnreadableReport
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from tideate_core.process import CommandResult, OutputLine
    from tideate_core.toolchain.testing.results import Outcome
    from tideate_core.toolchain.testing.runners import RunnerCommand, SelectedTests

    RunProgram = Callable[..., Awaitable[CommandResult]]
    """Takes a command, and `environment`, `limits`, `on_lines` and `hint` as `run_program` does."""
    OnProgress = Callable[[int, str], None]
    """Called with the number of lines so far and with what to say of it."""

__all__ = ["CompletedTests", "run_tests"]

_LARGEST_REPORT: Final = 32 << 20
"""Bytes; of a larger one only what was printed is read."""
_LINE: Final = 1 << 16
"""Characters of a line: an event of go is one."""
_NOTHING: Final[Mapping[str, frozenset[int]]] = {
    "pytest": frozenset({5}),
    "unittest": frozenset({5}),
    "jest": frozenset({1}),
    "vitest": frozenset({1}),
    "ctest": frozenset({0, 8}),
}
"""The status with which a runner ends that was told to run no test."""


@dataclass(frozen=True, slots=True)
class CompletedTests:
    """A run of tests."""

    results: TestResults
    output: str
    """The text that it printed, as far as it is kept."""


async def run_tests(
    command: RunnerCommand,
    wanted: SelectedTests,
    *,
    root: Path,
    environment: Mapping[str, str],
    timeout_ms: int,
    on_progress: OnProgress | None = None,
    run: RunProgram | None = None,
) -> CompletedTests:
    """Run tests to their end, or to the end of their time. Cancelling ends all that was started.

    :param root: as the runner sees it.
    :param environment: of all checks.
    :param run: runs a program elsewhere, as in a scratch copy; None in the root.
    :raises CommandError: the runner cannot be started.
    """
    started = datetime.now(UTC)
    follower = _Follower(GoEvents(root) if command.report == "go" else None, on_progress)
    with tempfile.TemporaryDirectory(prefix="tideate-tests-") as folder:
        report = Path(folder) / "report"
        result = await (run or partial(run_program, cwd=root))(
            command.with_report(str(report)),
            environment=_environment(command, environment),
            limits=ProcessLimits(timeout_ms=timeout_ms, line_characters=_LINE),
            on_lines=follower.take,
            hint=f"install {command.runner}, or set verify.tests in .tideate/config.toml",
        )
        has_file = command.report in ("junit", "jest")
        content = read_bounded(report, _LARGEST_REPORT) if has_file else None
    printed = follower.events.text() if follower.events else result.stdout.text
    output = _joined(printed, result.stderr.text)
    # all that a project printed is looked through, which may be much
    tally = await asyncio.to_thread(_tally, command, content, follower.events, output, root, ok=result.ok)
    return CompletedTests(_results(command, wanted, result, tally, started), output)


class _Follower:
    """Progress of a run, from its lines as they come."""

    def __init__(self, events: GoEvents | None, on_progress: OnProgress | None) -> None:
        self.events = events
        self._on_progress = on_progress
        self._lines = 0

    def take(self, lines: Sequence[OutputLine]) -> None:
        self._lines += len(lines)
        if self.events is not None:
            for line in lines:
                if line.stream == "stdout":
                    self.events.feed(line.text)
        if self._on_progress is not None:
            last = next((line.text.strip() for line in reversed(lines) if line.text.strip()), "")
            self._on_progress(self._lines, self.events.tally.words() if self.events else last)


def _environment(command: RunnerCommand, environment: Mapping[str, str]) -> dict[str, str]:
    known = {**environment, **command.environment}
    if "PYTHONPATH" in environment and "PYTHONPATH" in command.environment:
        known["PYTHONPATH"] = os.pathsep.join((command.environment["PYTHONPATH"], environment["PYTHONPATH"]))
    return known


def _joined(*texts: str) -> str:
    return "\n".join(text.rstrip("\n") for text in texts if text.strip())


def _tally(
    command: RunnerCommand,
    content: bytes | None,
    events: GoEvents | None,
    output: str,
    root: Path,
    *,
    ok: bool,
) -> Tally | None:
    """Return the counts, from the report where there is one that can be read; None: there are none."""
    if events is not None:
        return events.end(output)
    if content is not None:
        try:
            return _reported(command, content, root)
        except UnreadableReport:
            pass  # what was printed tells the same, less exactly
    tally = count_printed(output, command.runner)
    counted = tally or Tally()
    if not ok or counted.bad:
        failures_printed(output, root, command.runner, counted)
    return counted if tally is not None or counted.failures else None


def _reported(command: RunnerCommand, content: bytes, root: Path) -> Tally:
    if command.report == "jest":
        return read_jest(content, root)
    from tideate_core.toolchain.testing.junit import read_junit  # only here is expat needed

    return read_junit(content, root)


def _results(
    command: RunnerCommand,
    wanted: SelectedTests,
    result: CommandResult,
    tally: Tally | None,
    started: datetime,
) -> TestResults:
    counted = tally if tally is not None and (tally.total or not tally.failures) else None
    return TestResults(
        status=_status(command, result, counted),
        runner=command.runner,
        command=list(command.argv),
        files=list(wanted.files),
        pattern=wanted.pattern,
        passed=counted.passed if counted else None,
        failed=counted.failed if counted else None,
        skipped=counted.skipped if counted else None,
        errors=counted.errors if counted else None,
        duration_ms=result.duration_ms,
        exit_code=result.exit_code,
        signal=result.signal,
        ending=result.summary,
        failures=tally.failures if tally else [],
        more_failures=tally.cut if tally else False,
        started_at=started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    )


def _status(command: RunnerCommand, result: CommandResult, tally: Tally | None) -> Outcome:
    if result.timed_out:
        return "timed_out"
    if tally is not None and not tally.bad and not tally.passed:
        nothing = _NOTHING.get(command.runner, frozenset({0}))
        if result.ok or (result.exit_code in nothing and not tally.failures):
            return "no_tests"
    return "passed" if result.ok and not (tally and tally.bad) else "failed"
