"""Records of a test run: counts and failures; writer of `qa/reports/test_results.json`.

`qa/reports/test_results.json` has camelCase keys, like all files of the handoff.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from pydantic.alias_generators import to_camel

from tideate_core.process import strip_control_sequences
from tideate_core.project import Documents
from tideate_core.toolchain.failures.failure import Failure
from tideate_core.util.cutting import beginning

if TYPE_CHECKING:
    from pathlib import Path

TEST_REPORT: Final = "qa/reports/test_results.json"
"""Relative to `.tideate/`."""
MOST_FAILURES: Final = 200
"""Maximum number of failures."""
_MESSAGE: Final = 600
_NAME: Final = 400

Outcome: TypeAlias = Literal["passed", "failed", "timed_out", "no_tests", "incomplete"]


class _Shape(BaseModel):
    __test__ = False  # not a test class for pytest

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class TestFailure(_Shape):
    """A failed test, or an error that prevented tests from running."""

    kind: Literal["failed", "error"] = Field(
        default="failed",
        description="`error`: it could not run to its end, if the runner reports that.",
    )
    name: str = Field(description="The runner's name of the test; empty if it named none.")
    file: str = Field(description="Relative to the root, absolute if it is outside; empty if none was named.")
    line: int | None = Field(default=None, description="1-based line of the failure, or of the test's start.")
    message: str
    _details: str = PrivateAttr(default="")

    @property
    def details(self) -> str:
        """Lines of the error without the test's source and traceback; left out of the stored document."""
        return self._details

    def as_failure(self, tool: str) -> Failure:
        """Return the test failure as a failure of a check."""
        said = f"{self.name}: {self.message}" if self.name else self.message
        return Failure(self.file, self.line, None, said, tool=tool, test=self.name)


class TestResults(_Shape):
    """Outcome of a run of a project's tests."""

    status: Outcome = Field(
        description="`passed`: the command ended with status 0, its report is whole, and no test failed. "
        "`incomplete`: it ended with status 0 before its report, as if a test had ended the runner."
    )
    runner: str = Field(description="The program that printed the output: pytest, jest, cargo, make, …")
    command: list[str] = Field(description="The command, run in the root.")
    files: list[str] = Field(
        default_factory=list, description="Files that the run was limited to; empty: all."
    )
    pattern: str = Field(default="", description="Test names that the run was limited to; empty: all.")
    passed: int | None = Field(
        description="Passed tests; null if the output does not tell, as for the other counts."
    )
    failed: int | None
    skipped: int | None = Field(description="Including expected failures.")
    errors: int | None = Field(description="Tests, files or packages that could not be run to an end.")
    duration_ms: int
    exit_code: int | None = Field(description="null if a signal ended the command.")
    signal: str | None = None
    ending: str = Field(description="How the command ended, in words.")
    failures: list[TestFailure] = Field(default_factory=list)
    more_failures: bool = Field(default=False, description="There were more than are listed.")
    started_at: str = Field(description="ISO 8601, UTC.")


class UnreadableReport(Exception):
    """The file is not a report of a known runner."""


@dataclass(slots=True)
class Tally:
    """Counts and failures of a run, independent of the command's exit status."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    failures: list[TestFailure] = field(default_factory=list)
    cut: bool = False
    """There were more failures than the maximum."""
    denied: str = ""
    """Contradiction of the counts in the report: an interruption, or no success."""

    @property
    def bad(self) -> int:
        return self.failed + self.errors

    @property
    def total(self) -> int:
        return self.passed + self.bad + self.skipped

    @property
    def full(self) -> bool:
        """The maximum is reached; further failures need not be built."""
        return len(self.failures) >= MOST_FAILURES

    def add(self, failure: TestFailure) -> None:
        """Add a failure unless the maximum is reached."""
        if self.full:
            self.cut = True
        else:
            self.failures.append(failure)

    def words(self) -> str:
        """Return a short form of the counts: ``12 passed, 1 failed``."""
        counts = (
            (self.passed, "passed"),
            (self.failed, "failed"),
            (self.errors, "errors"),
            (self.skipped, "skipped"),
        )
        return ", ".join(f"{number} {word}" for number, word in counts if number)


def failure_message(failure: Failure) -> str:
    """Return a failure's message without its test's name, with the exception's name."""
    said = failure.message.removeprefix(f"{failure.test}: ") if failure.test else failure.message
    raised = failure.code.endswith(("Error", "Exception")) and failure.code != "AssertionError"
    return f"{failure.code}: {said}" if raised and said != failure.code else said


def make_test_failure(
    name: str, message: str, place: Failure | None = None, *, error: bool = False, details: str = ""
) -> TestFailure:
    """Return a test failure with sanitized and truncated texts."""
    failure = TestFailure(
        kind="error" if error else "failed",
        name=beginning(_plain(name), _NAME),
        file=_plain(place.file)[:_MESSAGE] if place else "",
        line=place.line if place else None,
        message=beginning(_plain(message).strip(), _MESSAGE),
    )
    failure._details = _plain(details)
    return failure


def _plain(text: str) -> str:
    # lone surrogates, possible in JSON, cannot be sent
    return strip_control_sequences(text.encode("utf-8", "replace").decode())


def write_report(root: Path, results: TestResults) -> Path:
    """Write the report of the last run atomically; blocking.

    :raises ConfigError: it cannot be written.
    """
    # ASCII, because a file name may not be valid UTF-8
    text = results.model_dump_json(by_alias=True, indent=2, ensure_ascii=True) + "\n"
    return Documents(root).write(TEST_REPORT, text.encode("ascii"))
