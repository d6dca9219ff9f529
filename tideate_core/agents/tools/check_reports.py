"""Reports of checks for a model: failures with their error lines, marked as new or old."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.agents.tools.results import bounded_text
from tideate_core.errors import StateError
from tideate_core.mentions import hide_lines
from tideate_core.project import make_project_state, project_state
from tideate_core.util.atomic_files import write_atomic

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from tideate_core.toolchain import Failure, TestResults, Tool

MOST_FAILURES: Final = 60
LONGEST_FAILURE: Final = 1_200
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


@dataclass(frozen=True, slots=True)
class Failing:
    """One failure of a check."""

    key: str
    """Identifies the failure before and after an edit, so it has no line."""
    head: str
    details: str = ""


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

    def text(self, tool: Tool, about: str, before: Collection[str] | None) -> str:
        """Return the report for a model.

        :param before: keys of the failures without the staged edits; None: not known.
        """
        where = f" in {tool.folder}" if tool.folder else ""
        old = before is not None and self.failures and all(one.key in before for one in self.failures)
        status = f"{self.status}, as without your edits" if old else self.status
        time = f" in {self.duration_ms / 1000:.1f} s"
        words = f"{tool.check} {status}: `{shlex.join(self.argv)}`{where} {self.ending}{time}, {about}"
        lines = _failure_lines(self.failures, before)
        rest = ["it printed last:", self.output] if self.output else []
        return bounded_text("\n".join([words, *lines, *rest]), "run fewer tests").rstrip()


def _failure_lines(failures: Sequence[Failing], before: Collection[str] | None) -> list[str]:
    """Return failures with their details; equal details once."""
    lines: list[str] = []
    told: dict[str, str] = {}
    for one in failures[:MOST_FAILURES]:
        mark = "" if before is None else " (also without your edits)" if one.key in before else " (new)"
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
        found.append(Failing(one.name or f"{one.file}: {one.message}", head or details, details))
    return found


def failing_places(failures: Sequence[Failure]) -> list[Failing]:
    """Return the failures of another check."""
    return [Failing(f"{one.file}: {one.message} {one.code}", str(one)) for one in failures]


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
