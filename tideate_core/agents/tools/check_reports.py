"""Reports of checks for a model: failures with their error lines, marked as new or old."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents.tools.results import bounded_text
from tideate_core.errors import StateError
from tideate_core.mentions import hide_lines
from tideate_core.project import make_project_state, project_state
from tideate_core.util.atomic_files import write_atomic

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from tideate_core.toolchain import Failure, TestFailure, TestResults, Tool

MOST_FAILURES: Final = 60
LONGEST_FAILURE: Final = 1_200
LONGEST_ERROR: Final = 300
"""Characters of an error that are compared with those without the edits."""
_ADDRESS: Final = re.compile(r"\b0x[0-9a-f]+")
LONGEST_OUTPUT: Final = 4_000
"""Characters from the end of a check's output without readable failures."""
TIMES: Final = "check_times.json"
"""File of the last durations in a project's private state."""
REPEATED_OUTPUT: Final = re.compile(
    r"^=+ (?:warnings summary|short test summary info)\b.*?"
    r"(?=^=+ |^\d{1,9} [a-z]{2,12}[^\n]{0,400} in \d|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Sections of pytest's output that repeat the failures or list warnings."""
STOPPED: Final = re.compile(
    r"^!+ (?:stopping after|xdist\.dsession\.Interrupted|Interrupted)\b", re.MULTILINE
)
"""A line of pytest that says that other tests did not run."""


@dataclass(frozen=True, slots=True)
class Failing:
    """One failure of a check."""

    key: str
    """Identifies the failure before and after an edit, so it has no line."""
    head: str
    details: str = ""
    file: str = ""
    is_error: bool = False
    """A test that could not run to its end."""

    @property
    def error(self) -> str:
        """The key and the beginning of the error, without addresses in memory."""
        return f"{self.key}\n{_ADDRESS.sub('', self.details)[:LONGEST_ERROR]}"


@dataclass(frozen=True, slots=True)
class Before:
    """Failures without the staged edits."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """By key."""
    unclear: Collection[str] = ()
    """Files whose tests could not all run."""
    whole: bool = True
    """All failures are known."""
    errors: Collection[str] = ()
    """`Failing.error` of each."""

    @classmethod
    def of(cls, report: Report) -> Before:
        unclear = {one.file for one in report.failures if one.is_error}
        errors = [one.error for one in report.failures]
        return cls(Counter(one.key for one in report.failures), unclear, report.whole, errors)

    def as_json(self) -> list[Any]:
        return [dict(self.counts), sorted(self.unclear), self.whole, list(self.errors)]

    def has_all(self, failures: Sequence[Failing]) -> bool:
        now = Counter(one.key for one in failures)
        known = all(self.counts.get(key, 0) >= count for key, count in now.items())
        return bool(now) and known and all(one.error in self.errors for one in failures)

    def mark(self, failing: Failing, count: int) -> str:
        """Return the mark of a failure.

        :param count: failures with this key now.
        """
        before = self.counts.get(failing.key, 0)
        if before >= count:
            other = "" if failing.error in self.errors else ", with another error"
            return f" (also without your edits{other})"
        if before:
            return f" (new, or one of {before} such without your edits)"
        return " (new)" if self.whole and failing.file not in self.unclear else " (not known whether new)"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check."""

    argv: Sequence[str]
    status: str
    ending: str
    failures: Sequence[Failing] = ()
    output: str = ""
    """The end of the output, if the failures do not explain the status."""
    duration_ms: int = 0
    files: Sequence[str] = field(default=())
    """Files of the failed tests."""
    whole: bool = True
    """There are no other failures, and nothing stopped at one."""

    def text(self, tool: Tool, about: str, before: Before | None) -> str:
        """Return the report for a model.

        :param before: the failures without the staged edits; None: not known.
        """
        where = f" in {tool.folder}" if tool.folder else ""
        old = before is not None and self.whole and before.has_all(self.failures)
        status = f"{self.status}, as without your edits" if old else self.status
        time = f" in {self.duration_ms / 1000:.1f} s"
        words = f"{tool.check} {status}: `{shlex.join(self.argv)}`{where} {self.ending}{time}, {about}"
        lines = _failure_lines(self.failures, before)
        rest = ["it printed last:", self.output] if self.output else []
        return bounded_text("\n".join([words, *lines, *rest]), "run fewer tests").rstrip()


def _failure_lines(failures: Sequence[Failing], before: Before | None) -> list[str]:
    """Return failures with their details; equal details once."""
    lines: list[str] = []
    told: dict[str, str] = {}
    counts = Counter(one.key for one in failures)
    for one in failures[:MOST_FAILURES]:
        mark = "" if before is None else before.mark(one, counts[one.key])
        # whole texts: a part of a secret would not be recognised
        head, details = hide_lines(one.head), hide_lines(one.details)
        if details in told:
            lines.append(f"{head}{mark}: as {told[details]}")
            continue
        lines.append(f"{head}{mark}")
        if details:
            told[details] = head.partition(": ")[0]
            cut = "…" if len(details) > LONGEST_FAILURE else ""
            lines += [f"  {line}" for line in f"{details[:LONGEST_FAILURE]}{cut}".split("\n")]
    if len(failures) > MOST_FAILURES:
        lines.append("[there are more]")
    return lines


def failing_tests(results: TestResults) -> list[Failing]:
    """Return the failures of a test run: place and name, then the error's lines or message."""
    found = []
    for one in results.failures:
        place = f"{one.file}:{one.line}" if one.line else one.file
        name = one.name.removeprefix(f"{one.file}::")
        head = ": ".join(part for part in (place, name) if part)
        details = one.details or one.message
        key = one.name or f"{one.file}: {one.message}"
        found.append(Failing(key, head or details, details, file_of_test(one), is_error=one.kind == "error"))
    return found


def failing_places(failures: Sequence[Failure]) -> list[Failing]:
    """Return the failures of another check."""
    return [Failing(f"{one.file}: {one.message} {one.code}", str(one), file=one.file) for one in failures]


def file_of_test(failure: TestFailure) -> str:
    """Return the file of a failed test: pytest's names begin with it."""
    return failure.name.partition("::")[0] if "::" in failure.name else failure.file


def end_of(output: str, longest: int = LONGEST_OUTPUT) -> str:
    """Return the end of an output without lines that hold secrets."""
    shown = hide_lines(REPEATED_OUTPUT.sub("", output)).rstrip()
    kept = shown[-longest:]
    return kept if kept == shown else f"[…]\n{kept.partition(chr(10))[2] or kept}"


def last_times(root: Path) -> dict[str, int]:
    """Return the last durations of checks in milliseconds, by command; blocking."""
    try:
        known = json.loads((project_state(root) / TIMES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): took for name, took in known.items() if isinstance(took, int)}


def keep_time(root: Path, tool: Tool, took: int) -> None:
    """Remember the duration of a check; blocking. An error is ignored: only models read durations."""
    known = json.dumps({**last_times(root), tool.words: took})
    with suppress(OSError, StateError):
        write_atomic(make_project_state(root) / TIMES, known.encode())
