"""Results of checks and gates: reports, issues, decisions and their statistics."""

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

__all__ = [
    "CheckResult",
    "CheckStatus",
    "GateIssue",
    "GateResult",
    "GateStats",
    "VerificationReport",
    "Verifier",
]


class CheckStatus(StrEnum):
    """Outcome of a check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CONFIGURED = "not_configured"
    """There is no command for it."""
    TIMED_OUT = "timed_out"
    NOT_TRUSTED = "not_trusted"
    """It would run the project's code, which is not trusted yet."""
    CANCELLED = "cancelled"
    """Ended, or not begun, because somebody cancelled."""
    SKIPPED = "skipped"
    """The change touches none of the parts of the project that have it."""


class CheckResult(BaseModel):
    """The result of one check."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: Check
    status: CheckStatus
    required: bool = True
    """False: it is skipped, or the configuration says that the project has no such check."""
    reason: str = ""
    """The command's origin and notes for the person; a remedy, where it did not run."""
    command: list[str] = Field(default_factory=list)
    duration_ms: int = 0
    exit_code: int | None = None
    """None if it did not run or a signal ended it."""
    signal: str | None = None
    output: str = ""
    """The end of what it printed, both streams."""
    failures: list[Failure] = Field(default_factory=list)
    more_failures: bool = False
    """There are more than these."""
    folder: str = ""
    """Of a part: the folder in which it ran, relative to the root; empty: the root."""
    parts: list[CheckResult] = Field(default_factory=list)
    """The results of the project's parts, if the check has several commands; without output and failures."""

    @classmethod
    def of_parts(cls, check: Check, parts: Sequence[CheckResult]) -> CheckResult:
        """Return the result of a check from those of its commands; it passed if none of them failed."""
        if len(parts) == 1 and not parts[0].folder:
            return parts[0]
        bad = [part for part in parts if not part.passed]
        ran = [part for part in parts if part.status == CheckStatus.PASSED]
        # an edit can only mend what ran
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
        """A part's result in words: ``web passed``."""
        command = f" `{shlex.join(self.command)}`" if self.command else ""
        said = "" if self.status == CheckStatus.PASSED else f" ({self.reason})"
        return f"{self.folder or 'the root'}{command} {str(self.status).replace('_', ' ')}{said}"

    @property
    def passed(self) -> bool:
        """It passed, or is one that the project does not have."""
        return self.status == CheckStatus.PASSED or not self.required

    @property
    def correctable(self) -> bool:
        """It ran and did not pass: another text of the files may change that."""
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
        """All five passed, or are ones that the project does not have."""
        return {result.check for result in self.checks} == set(Check) and all(c.passed for c in self.checks)

    @property
    def correctable(self) -> bool:
        """At least one check ran and did not pass."""
        return any(result.correctable for result in self.checks)

    def of(self, check: Check) -> CheckResult:
        """Return the result of one check."""
        return next(result for result in self.checks if result.check == check)

    def quickfix(self) -> list[dict[str, Any]]:
        """Return the failures of all checks as entries of `setqflist()`."""
        return [failure.as_json() for result in self.checks for failure in result.failures]

    def signature(self) -> frozenset[tuple[str, ...]]:
        """Return the errors in a form that is the same wherever they stand.

        Line numbers do not count, as an edit above moves them; nor do numbers in output that nothing could
        be parsed from, as they are mostly times.
        """
        return frozenset(entry for result in self.checks if not result.passed for entry in _entries(result))


class Verifier(Protocol):
    """Runs the five checks, as a `VerificationPipeline`."""

    async def run_all(self) -> VerificationReport:
        """Run all five checks."""


class GateIssue(BaseModel):
    """A defect and its place."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: str
    where: str = ""
    """For a person: ``step 2``, ``tests``; of a file its path, with the line where there is one."""
    file: str = ""
    """Relative to the root; empty if it is not about a file."""
    line: int | None = None
    """1-based."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what

    @classmethod
    def at(cls, file: str, line: int | None, what: str) -> GateIssue:
        """Make an issue of a place in a file."""
        return cls(what=what, where=f"{file}:{line}" if line else file, file=file, line=line)


class GateResult(BaseModel):
    """A gate's decision; serializable, as it goes into events and checkpoints."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gate: int
    passed: bool
    issues: list[GateIssue] = Field(default_factory=list)
    """Why it failed; of a gate that passed, what it let pass."""
    auto_fixed: bool = False
    """Passed on the condition that the audit's fixes are made in the plan."""
    report: VerificationReport | None = None
    """Of gate 5."""
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class GateStats:
    """Counts of each gate's decisions."""

    gates: dict[int, GateCount] = field(default_factory=dict)
    """All five, those that never decided too."""

    @classmethod
    def of(cls, counts: Iterable[GateCount]) -> GateStats:
        """Make statistics of what was counted."""
        known = {count.gate: count for count in counts}
        return cls({gate: known.get(gate, GateCount(gate)) for gate in range(1, 6)})

    @property
    def passed(self) -> int:
        """Of all gates."""
        return sum(count.passed for count in self.gates.values())

    @property
    def failed(self) -> int:
        """Of all gates."""
        return sum(count.failed for count in self.gates.values())

    def pass_rate(self, gate: int) -> float | None:
        """Return the share of a gate's decisions that passed, None if it never decided."""
        count = self.gates[gate]
        total = count.passed + count.failed
        return count.passed / total if total else None

    def average_ms(self, gate: int) -> float | None:
        """Return how long a gate takes, in milliseconds, None if it never decided."""
        count = self.gates[gate]
        total = count.passed + count.failed
        return count.total_ms / total if total else None


def _entries(result: CheckResult) -> list[tuple[str, ...]]:
    found = [(result.check, failure.file, failure.code, failure.message) for failure in result.failures]
    if found:
        return [tuple(map(str, entry)) for entry in found]
    return [(str(result.check), str(result.status), re.sub(r"\d+", "#", result.output))]
