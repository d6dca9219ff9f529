"""A test run passes only with a complete report, status 0 and no failure."""

from __future__ import annotations

import asyncio
import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from tideate_core.process import CommandResult, OutputCapture
from tideate_core.toolchain import Check, Tool
from tideate_core.toolchain.testing.execution import run_tests
from tideate_core.toolchain.testing.runners import SelectedTests, make_runner_command

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from tideate_core.toolchain.testing.results import TestResults

LOOKALIKES = (
    "5 passed in 0.02s",
    "3 failed in 0.02s",
    "FAIL: test_a (mod.A)",
    "Ran 3 tests in 0.1s\n\nOK",
    "# fail 3",
    "  4 failing",
    "test result: FAILED. 0 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out",
    "--- FAIL: TestX (0.00s)",
    "Tests:       1 failed, 1 total",
)
"""Texts that a test may print, and that are not its runner's."""


def pytest_says(good: int, bad: int) -> str:
    failed = f"{bad} failed, " if bad else ""
    return f"{'=' * 9} {failed}{good} passed in 0.12s {'=' * 9}" if good else f"{bad} failed in 0.1s"


def unittest_says(good: int, bad: int) -> str:
    return f"Ran {good + bad} tests in 0.001s\n\n" + (f"FAILED (failures={bad})" if bad else "OK")


def node_says(good: int, bad: int) -> str:
    counts = f"tests {good + bad},suites 0,pass {good},fail {bad},cancelled 0,skipped 0,todo 0"
    return "\n".join(f"\u2139 {count}" for count in counts.split(","))


def cargo_says(good: int, bad: int) -> str:
    word = "FAILED" if bad else "ok"
    counts = f"{good} passed; {bad} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s"
    return f"\nrunning {good + bad} tests\n\ntest result: {word}. {counts}"


def jest_says(good: int, bad: int) -> str:
    failed = f"{bad} failed, " if bad else ""
    return f"Tests:       {failed}{good} passed, {good + bad} total\nSnapshots:   0 total"


def ctest_says(good: int, bad: int) -> str:
    return f"{50 if bad else 100}% tests passed, {bad} tests failed out of {good + bad}"


def mocha_says(good: int, bad: int) -> str:
    return f"  {good} passing (5ms)" + (f"\n  {bad} failing" if bad else "")


def go_says(good: int, bad: int) -> str:
    events: list[dict[str, Any]] = [{"Action": "start", "Package": "a"}]
    for number in range(good + bad):
        of = {"Package": "a", "Test": f"Test{number}"}
        events += [{"Action": "run", **of}, {"Action": "pass" if number < good else "fail", **of}]
    events.append({"Action": "fail" if bad else "pass", "Package": "a"})
    return "\n".join(map(json.dumps, events))


def junit(good: int, bad: int) -> str:
    cases = ['<testcase name="a"/>'] * good + ['<testcase name="b"><failure message="no"/></testcase>'] * bad
    return f'<testsuites><testsuite failures="{bad}" errors="0">{"".join(cases)}</testsuite></testsuites>'


def jest_report(good: int, bad: int) -> str:
    results = [{"status": "passed" if n < good else "failed", "title": str(n)} for n in range(good + bad)]
    suite = {"name": "/a.test.js", "status": "failed" if bad else "passed", "assertionResults": results}
    return json.dumps({"success": not bad, "testResults": [suite]})


SAYS: Mapping[str, Callable[[int, int], str]] = {
    "pytest": pytest_says,
    "unittest": unittest_says,
    "node": node_says,
    "cargo": cargo_says,
    "jest": jest_says,
    "vitest": jest_says,
    "ctest": ctest_says,
    "mocha": mocha_says,
    "go": go_says,
}
REPORTS: Mapping[str, Callable[[int, int], str]] = {
    "pytest": junit,
    "ctest": junit,
    "jest": jest_report,
    "vitest": jest_report,
}
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "pytest": ("python3", "-m", "pytest"),
    "unittest": ("python3", "-m", "unittest", "discover", "-s", "tests"),
    "node": ("node", "--test"),
    "cargo": ("cargo", "test"),
    "jest": ("jest", "--ci"),
    "vitest": ("vitest", "run"),
    "ctest": ("ctest",),
    "mocha": ("mocha",),
    "go": ("go", "test", "./..."),
    "make": ("make", "test"),
}
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "pytest": ("-x -k 'test -a or not while'", "--if"),
    "node": ("--test-only", "--test --test-concurrency=1"),
    "cargo": ("--workspace", "test -- --test-threads=1"),
    "mocha": ("--for-each", "-g 'case [ a'"),
}
"""Options of a recipe that read like words of the shell."""


@dataclass(frozen=True)
class Ran:
    """One run of one runner: test outcomes and truncated output."""

    runner: str
    good: int
    bad: int
    printed: bool
    """Its summary is printed to its end."""
    lookalike: str
    coloured: bool

    @property
    def text(self) -> str:
        summary = SAYS[self.runner](self.good, self.bad)
        if not self.printed:
            summary = summary[: len(summary) // 3]
        elif self.coloured and self.runner != "go":
            summary = "\n".join(f"\x1b[1m\x1b[32m{line}\x1b[0m" for line in summary.split("\n"))
        return summary if summary.endswith("\n") else f"{summary}\n"


@dataclass(frozen=True)
class Case:
    """A command's runs, its end, and its report."""

    command: str
    runs: tuple[Ran, ...]
    configured: bool
    status: int | None
    timed_out: bool
    report: str
    """`whole`, `missing`, `cut`, or another file's content."""
    cut: float
    recipe: str = field(default="", repr=False)

    @property
    def asks(self) -> bool:
        """Its report is asked for."""
        return self.command in REPORTS and (not self.configured or self.command == "pytest")

    @property
    def may_pass(self) -> bool:
        if self.status != 0 or self.timed_out or any(run.bad for run in self.runs):
            return False
        # the events of go are its report
        return self.report == "whole" if self.asks else all(run.printed for run in self.runs)

    def content(self) -> bytes | None:
        if self.report == "missing":
            return None
        content = REPORTS[self.command](self.runs[0].good, self.runs[0].bad).encode()
        if self.report == "cut":
            return content[: int(len(content) * self.cut)]
        return content if self.report == "whole" else self.report.encode()


DEFECTS = ("status", "time", "report", "failed", "unprinted")


def runs(runner: st.SearchStrategy[str], defects: Collection[str] = ()) -> st.SearchStrategy[Ran]:
    return st.builds(
        Ran,
        runner,
        st.integers(0 if "failed" in defects else 1, 3),
        st.integers(1, 2) if "failed" in defects else st.just(0),
        st.just("unprinted" not in defects),
        st.sampled_from(["", *LOOKALIKES]),
        st.booleans(),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Good runs with at most two defects, so that each defect has to be noticed."""
    command = draw(st.sampled_from(sorted(COMMANDS)))
    defects = draw(st.sets(st.sampled_from(DEFECTS), max_size=2))
    if command == "make":
        known = st.sampled_from(sorted({*SAYS} - {"go"}))
        several = [*draw(st.lists(runs(known), max_size=3)), draw(runs(known, defects))]
        several = draw(st.permutations(several))
        lines = [
            f"{shlex.join(COMMANDS[run.runner])} {draw(st.sampled_from(['', *OPTIONS.get(run.runner, ())]))}"
            for run in several
        ]
        recipe = "test:\n" + "\n".join(f"\t{line}" for line in lines)
    else:
        several, recipe = [draw(runs(st.just(command), defects))], ""
    reports = ["missing", "cut", "", "{}", "<html/>", "null"] if "report" in defects else ["whole"]
    return Case(
        command,
        tuple(several),
        draw(st.booleans()) and command != "make",
        draw(st.sampled_from([1, 2, 5, 8, 101, None])) if "status" in defects else 0,
        "time" in defects,
        draw(st.sampled_from(reports)),
        draw(st.floats(0, 0.99)),
        recipe,
    )


def judge(case: Case, root: Path) -> TestResults:
    (root / "Makefile").write_text(case.recipe)
    tool = Tool(Check.TESTS, case.command, COMMANDS[case.command], "", case.recipe)
    command = make_runner_command(tool, SelectedTests(), configured=case.configured)

    async def run(argv: Sequence[str], *, environment: Mapping[str, str], **rest: Any) -> CommandResult:
        place = next((word for word in (*argv, *environment.values()) if "/report" in word), "")
        path = next((part.partition("=")[2] or part for part in shlex.split(place) if "/report" in part), "")
        content = case.content() if case.asks else None
        if content is not None:
            await asyncio.to_thread(Path(path).write_bytes, content)
        outputs = {"stdout": OutputCapture(1 << 20), "stderr": OutputCapture(1 << 20)}
        for ran in case.runs:
            # only make passes the words of tests and runners on as they come; of a runner's own it is the end
            if ran.lookalike and case.command != "make":
                outputs["stdout"].feed(f"{ran.lookalike}\n".encode())
            events = case.command == "go" and not case.configured
            text = ran.text if ran.runner != "go" or events else go_prints(ran)
            outputs["stderr" if ran.runner == "unittest" else "stdout"].feed(text.encode())
            if events:
                from tideate_core.process import OutputLine

                rest["on_lines"]([OutputLine("stdout", line) for line in text.split("\n")])
        said = {name: capture.output() for name, capture in outputs.items()}
        signal = "SIGSEGV" if case.status is None else None
        return CommandResult(tuple(argv), case.status, signal, 5, case.timed_out, left_behind=False, **said)

    ran = run_tests(command, SelectedTests(), root=root, environment={}, timeout_ms=1000, run=run)
    return asyncio.run(ran).results


def go_prints(ran: Ran) -> str:
    """The output of go without `-json`."""
    tests = "".join(f"--- FAIL: Test{n} (0.00s)\n" for n in range(ran.bad))
    end = "FAIL\ta\t0.1s" if ran.bad else "ok  \ta\t0.1s"
    return tests + (f"{end}\n" if ran.printed else end[:3])


@pytest.mark.slow
@settings(max_examples=max(500, settings().max_examples))
@given(cases())
def test_a_run_passes_if_and_only_if_it_ran_ended_with_0_and_reported_no_failure(case: Case) -> None:
    with TemporaryDirectory() as root:
        results = judge(case, Path(root))
    # a text that only looks like a summary does not count either way
    assert (results.status == "passed") == case.may_pass, (results, case)
    assert (results.status == "timed_out") == case.timed_out
    if case.may_pass and case.command != "go":
        assert results.passed == sum(run.good for run in case.runs)
