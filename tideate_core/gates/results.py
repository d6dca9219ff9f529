"""Types of results: checks, the report of all checks, a gate's issues and decision, statistics."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from tideate_core.store import GateCount
from tideate_core.toolchain import Check, Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class CheckStatus(StrEnum):
    """Outcome of a check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CONFIGURED = "not_configured"
    """No command is configured."""
    TIMED_OUT = "timed_out"
    NOT_TRUSTED = "not_trusted"
    """It would run the project's code, which is not trusted yet."""
    CANCELLED = "cancelled"
    """Interrupted, or not started, because of a cancellation."""
    SKIPPED = "skipped"
    """The change touches no part of the project that has this check."""


class CheckResult(BaseModel):
    """The result of one check."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: Check
    status: CheckStatus
    required: bool = True
    """False: it is skipped, or turned off in the configuration."""
    reason: str = ""
    """Origin of the command and notes for the person; the remedy, if it did not run."""
    command: list[str] = Field(default_factory=list)
    duration_ms: int = 0
    exit_code: int | None = None
    """None if it did not run or a signal ended it."""
    signal: str | None = None
    output: str = ""
    """The end of its output, both streams."""
    failures: list[Failure] = Field(default_factory=list)
    more_failures: bool = False
    """There are further failures."""
    folder: str = ""
    """Folder of a part, relative to the root; empty: the root."""
    parts: list[CheckResult] = Field(default_factory=list)
    """The results of the project's parts, if the check has several commands; without output and failures."""

    @classmethod
    def of_parts(cls, check: Check, parts: Sequence[CheckResult]) -> CheckResult:
        """Combine the results of a check's commands; it passed if none failed."""
        if len(parts) == 1 and not parts[0].folder:
            return parts[0]
        bad = [part for part in parts if not part.passed]
        ran = [part for part in parts if part.status == CheckStatus.PASSED]
        # an edit can only fix commands that ran
        chosen = next((part for part in bad if part.correctable), None) or next(iter([*bad, *ran, *parts]))
        shown = bad or ran
        heads = [
            f"{part.folder or '.'}: {shlex.join(part.command)}\n{part.output}"
            for part in shown
            if part.output
        ]
        return chosen.model_copy(
            update={
                "check": check,
                "folder": "",
                "reason": "; ".join(part.part_words for part in parts),
                "duration_ms": sum(part.duration_ms for part in parts),
                "output": "\n".join(heads),
                "failures": [failure for part in parts for failure in part.failures],
                "more_failures": any(part.more_failures for part in parts),
                "parts": [part.model_copy(update={"output": "", "failures": []}) for part in parts],
            }
        )

    @property
    def part_words(self) -> str:
        """Description of a part's result: ``web passed``."""
        command = f" `{shlex.join(self.command)}`" if self.command else ""
        said = "" if self.status == CheckStatus.PASSED else f" ({self.reason})"
        return f"{self.folder or 'the root'}{command} {str(self.status).replace('_', ' ')}{said}"

    @property
    def passed(self) -> bool:
        """True if it passed, or is not required."""
        return self.status == CheckStatus.PASSED or not self.required

    @property
    def correctable(self) -> bool:
        """True if it ran and failed, so that edits may fix it."""
        ran = self.exit_code is not None or self.signal is not None
        return not self.passed and ran and self.status in (CheckStatus.FAILED, CheckStatus.TIMED_OUT)

    @property
    def summary(self) -> str:
        """A line for a person."""
        return f"{self.check}: {self.status}" + (f" ({self.reason})" if self.reason else "")


class VerificationReport(BaseModel):
    """All five checks, in the order in which they ran."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    checks: list[CheckResult] = Field(default_factory=list)
    duration_ms: int = 0

    @property
    def passed(self) -> bool:
        """True if each of the five checks passed or is not required."""
        return {result.check for result in self.checks} == set(Check) and all(c.passed for c in self.checks)

    @property
    def correctable(self) -> bool:
        """True if edits may fix a failed check."""
        return any(result.correctable for result in self.checks)

    def of(self, check: Check) -> CheckResult:
        """Return the result of one check."""
        return next(result for result in self.checks if result.check == check)

    def quickfix(self) -> list[dict[str, Any]]:
        """Return the failures of all checks as entries of `setqflist()`."""
        return [failure.as_json() for result in self.checks for failure in result.failures]

    def signature(self) -> frozenset[tuple[str, ...]]:
        """Return the errors in a form that is independent of their lines.

        Line numbers are ignored, since an edit above changes them; so are numbers in output without parsed
        failures, which are mostly times.
        """
        return frozenset(entry for result in self.checks if not result.passed for entry in _entries(result))


class Verifier(Protocol):
    """Runs the five checks; see `VerificationPipeline`."""

    async def run_all(self) -> VerificationReport:
        """Return the report of all five checks."""


class GateIssue(BaseModel):
    """A defect and its place."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: str
    where: str = ""
    """For a person: ``step 2``, ``tests``; or the file's path, with the line if known."""
    file: str = ""
    """Relative to the root; empty if no file is concerned."""
    line: int | None = None
    """1-based."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what

    @classmethod
    def at(cls, file: str, line: int | None, what: str) -> GateIssue:
        """Create an issue at a place in a file."""
        return cls(what=what, where=f"{file}:{line}" if line else file, file=file, line=line)


class GateResult(BaseModel):
    """A gate's decision; serializable, for events and checkpoints."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gate: int
    passed: bool
    issues: list[GateIssue] = Field(default_factory=list)
    """Reasons why it failed; issues that were accepted if it passed."""
    auto_fixed: bool = False
    """It passed on condition that the audit's fixes are applied to the plan."""
    report: VerificationReport | None = None
    """Report of gate 5."""
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class GateStats:
    """Counts of each gate's decisions."""

    gates: dict[int, GateCount] = field(default_factory=dict)
    """All five gates, including gates without decisions."""

    @classmethod
    def of(cls, counts: Iterable[GateCount]) -> GateStats:
        """Build statistics from counts."""
        known = {count.gate: count for count in counts}
        return cls({gate: known.get(gate, GateCount(gate)) for gate in range(1, 6)})

    @property
    def passed(self) -> int:
        """Passes of all gates."""
        return sum(count.passed for count in self.gates.values())

    @property
    def failed(self) -> int:
        """Failures of all gates."""
        return sum(count.failed for count in self.gates.values())

    def pass_rate(self, gate: int) -> float | None:
        """Return the share of a gate's decisions that passed; None without decisions."""
        count = self.gates[gate]
        total = count.passed + count.failed
        return count.passed / total if total else None

    def average_ms(self, gate: int) -> float | None:
        """Return the average duration of a gate in milliseconds; None without decisions."""
        count = self.gates[gate]
        total = count.passed + count.failed
        return count.total_ms / total if total else None


def _entries(result: CheckResult) -> list[tuple[str, ...]]:
    found = [(result.check, failure.file, failure.code, failure.message) for failure in result.failures]
    if found:
        return [tuple(map(str, entry)) for entry in found]
    return [(str(result.check), str(result.status), re.sub(r"\d+", "#", result.output))]
