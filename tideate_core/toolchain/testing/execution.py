"""Run a project's tests and combine progress, report and output to results."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.process import ProcessLimits, run_program
from tideate_core.toolchain.failures.failure import project_path
from tideate_core.toolchain.testing.expected import expected_summaries, node_can_report
from tideate_core.toolchain.testing.json_reports import (
    NODE_OPTIONS,
    NODE_REPORTER,
    GoEvents,
    read_jest,
    unfinished_in_node,
)
from tideate_core.toolchain.testing.printed_results import (
    SummaryLines,
    failures_printed,
    interrupted,
    prints_otherwise,
    read_summaries,
    unfinished_of_node,
)
from tideate_core.toolchain.testing.results import Tally, TestResults, UnreadableReport
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from tideate_core.process import CommandResult, OutputLine
    from tideate_core.toolchain.testing.results import Outcome
    from tideate_core.toolchain.testing.runners import RunnerCommand, SelectedTests

    RunProgram = Callable[..., Awaitable[CommandResult]]
    """Takes a command, and `environment`, `limits`, `on_lines` and `hint` as in `run_program`."""
    OnProgress = Callable[[int, str], None]
    """Called with the number of lines so far and a summary."""
    OnLines = Callable[[Sequence[OutputLine]], None]

_LARGEST_REPORT: Final = 32 << 20
"""Maximum bytes; with a larger report only the output is read."""
_LINE: Final = 1 << 16
"""Maximum characters of a line; a go event is one line."""
_FILES: Final = frozenset({"junit", "jest"})
"""Report formats written as files."""
_NOTHING: Final[Mapping[str, frozenset[int]]] = {
    "pytest": frozenset({5}),
    "unittest": frozenset({5}),
    "jest": frozenset({1}),
    "vitest": frozenset({1}),
    "ctest": frozenset({0, 8}),
}
"""Exit status by runner if it was told to run no test."""


@dataclass(frozen=True, slots=True)
class CompletedTests:
    """A finished test run."""

    results: TestResults
    output: str
    """The captured output."""
    process: CommandResult


async def run_tests(
    command: RunnerCommand,
    wanted: SelectedTests,
    *,
    root: Path,
    folder: str = "",
    environment: Mapping[str, str],
    timeout_ms: int,
    on_progress: OnProgress | None = None,
    on_lines: OnLines | None = None,
    run: RunProgram | None = None,
) -> CompletedTests:
    """Run tests until they end or exceed their time. Cancelling ends all started processes.

    :param root: the project, as seen by the runner; result paths are relative to it.
    :param folder: working folder relative to the root.
    :param environment: environment of all checks.
    :param on_lines: called with output lines; for go, as without `-json`.
    :param run: runs a program elsewhere, such as in a scratch copy; None: in the root.
    :raises CommandError: the runner cannot be started.
    """
    started, place = datetime.now(UTC), root / folder
    # a command with a report file needs no summary
    expected = {} if command.report else await asyncio.to_thread(expected_summaries, place, command.argv)
    # node rejects our reporter beside another one
    traced = (
        "node" in expected
        and "--test-reporter" not in environment.get("NODE_OPTIONS", "")
        and await asyncio.to_thread(node_can_report, place, command.argv)
    )
    follower = _Follower(GoEvents(place) if command.report == "go" else None, on_progress, on_lines)
    with tempfile.TemporaryDirectory(prefix="tideate-tests-") as temporary:
        report = Path(temporary) / "report"
        if traced:
            reporter = report.with_suffix(".mjs")
            reporter.write_text(NODE_REPORTER)
            # a URI needs no quoting for any path
            options = NODE_OPTIONS.format(reporter=reporter.as_uri())
            command = replace(command, environment={**command.environment, "NODE_OPTIONS": options})
        result = await (run or partial(run_program, cwd=place))(
            command.with_report(str(report)),
            environment=command.environment_with_report(str(report), environment),
            limits=ProcessLimits(timeout_ms=timeout_ms, line_characters=_LINE),
            on_lines=follower.take,
            hint=f"install {command.runner}, or set verify.tests in .tideate/config.toml",
        )
        content = read_bounded(report, _LARGEST_REPORT) if command.report in _FILES or traced else None
    printed = follower.events.text() if follower.events else result.stdout.text
    between = "\n" if printed and not printed.endswith("\n") else ""
    output = f"{printed}{between}{result.stderr.text}"
    # in a thread, because the output may be long
    evidence = await asyncio.to_thread(_evidence, command, expected, content, follower, output, result, place)
    results = _results(command, wanted, result, evidence, started)
    return CompletedTests(_in_project(results, root, folder), output, result)


def _in_project(results: TestResults, root: Path, folder: str) -> TestResults:
    """Return the results with a folder's paths made relative to the root."""
    if not folder:
        return results
    failures = [
        one.model_copy(update={"file": one.file and project_path(one.file, root, folder)})
        for one in results.failures
    ]
    files = [f"{folder}/{file}" for file in results.files]
    return results.model_copy(update={"failures": failures, "files": files})


class _Follower:
    """Progress of a run, updated with each line."""

    def __init__(
        self, events: GoEvents | None, on_progress: OnProgress | None, on_lines: OnLines | None
    ) -> None:
        self.events = events
        self.summaries = SummaryLines()
        self._on_lines = on_lines
        self._on_progress = on_progress
        self._lines = 0

    def take(self, lines: Sequence[OutputLine]) -> None:
        self._lines += len(lines)
        if self.events is None:
            self.summaries.take(lines)
        else:
            feed = self.events.feed
            lines = [
                replace(line, text=feed(line.text)) if line.stream == "stdout" else line for line in lines
            ]
        if self._on_lines is not None:
            self._on_lines([line for line in lines if line.text or self.events is None])
        if self._on_progress is not None:
            last = next((line.text.strip() for line in reversed(lines) if line.text.strip()), "")
            self._on_progress(self._lines, self.events.tally.words() if self.events else last)


@dataclass(slots=True)
class _Evidence:
    """Counts and failures of a run, and evidence against an exit status of 0."""

    tally: Tally | None = None
    """None: neither report nor output has counts."""
    told: int = 0
    """Number of failures in the report or output."""
    lacks: str = ""
    """Description of a missing part, empty if the report is complete."""
    runner: str = ""
    """The runner, if exactly one printed a summary."""


def _evidence(
    command: RunnerCommand,
    expected: Mapping[str, int],
    content: bytes | None,
    follower: _Follower,
    output: str,
    result: CommandResult,
    root: Path,
) -> _Evidence:
    """Return the counts from the report if it is readable, else from the output."""
    found, events = _Evidence(), follower.events
    if events is not None:
        found.tally = events.end(output)
        found.lacks = events.unfinished
    elif command.report in _FILES:
        found.tally, found.lacks = _read_report(command, content, root)
    if found.tally is not None:
        found.told = found.tally.bad + len(found.tally.failures)
        found.lacks = found.lacks or found.tally.denied or interrupted(output)
        return found
    # unittest prints its summary to stderr, where few tests print
    cut = result.stdout.cut or result.stderr.cut
    errors = follower.summaries.text("stderr") if cut else result.stderr.text
    text = follower.summaries.text("stdout", "stderr") if cut else output
    if command.runner == "unittest":
        text = errors
    summaries = read_summaries(text, command.runner, errors if "unittest" in expected else None)
    found.runner = next(iter(summaries.found)) if len(summaries.found) == 1 else ""
    found.lacks = found.lacks or interrupted(text)
    if summaries.found["node"] and not found.lacks:
        found.lacks = unfinished_in_node(content or b"", root) or unfinished_of_node(output, root)
    runner = "" if found.lacks else summaries.missing(expected)
    if runner and not prints_otherwise(runner, root):
        found.lacks = f"ended before the summary of {runner}"
    counted = summaries.tally or Tally()
    found.told = counted.bad
    if not result.ok and summaries.tally is not None:
        # crashed programs; cargo continues with the next
        counted.errors += max(summaries.begun["cargo"] - summaries.found["cargo"], 0)
    if not result.ok or counted.bad or found.lacks:
        failures_printed(output, root, command.runner, counted)
    found.tally = counted if summaries.tally is not None or counted.failures else None
    return found


def _read_report(command: RunnerCommand, content: bytes | None, root: Path) -> tuple[Tally | None, str]:
    """Return a report's counts, or the reason why there are none."""
    from tideate_core.toolchain.testing.junit import read_junit  # imported on use: needs expat

    if content is None:
        return None, "ended before its report"
    read = read_jest if command.report == "jest" else read_junit
    try:
        return read(content, root), ""
    except UnreadableReport as error:
        return None, f"ended before its report was whole ({error})"


def _results(
    command: RunnerCommand,
    wanted: SelectedTests,
    result: CommandResult,
    evidence: _Evidence,
    started: datetime,
) -> TestResults:
    tally = evidence.tally
    counted = tally if tally is not None and (tally.total or not tally.failures) else None
    status = _status(command, result, evidence, counted)
    return TestResults(
        status=status,
        runner=evidence.runner if status == "no_tests" and evidence.runner else command.runner,
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
        ending=_ending(status, result, evidence),
        failures=tally.failures if tally else [],
        more_failures=tally.cut if tally else False,
        started_at=started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    )


def _status(
    command: RunnerCommand, result: CommandResult, evidence: _Evidence, tally: Tally | None
) -> Outcome:
    if result.timed_out:
        return "timed_out"
    if evidence.lacks and result.ok and not evidence.told:
        return "incomplete"
    if tally is not None and not tally.bad and not tally.passed and not evidence.lacks:
        nothing = _NOTHING.get(command.runner, frozenset({0}))
        if result.ok or (result.exit_code in nothing and not tally.failures):
            return "no_tests"
    return "passed" if result.ok and not evidence.told else "failed"


def _ending(status: Outcome, result: CommandResult, evidence: _Evidence) -> str:
    if status == "incomplete":
        return f"{result.summary}, but {evidence.lacks}; run it in a shell to see why"
    if status == "failed" and result.ok:
        return f"{result.summary}, but its report or output shows failed tests"
    return result.summary
