"""What the five checks of a project said."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from tideate_core.toolchain import Check, Failure

__all__ = ["CheckResult", "CheckStatus", "VerificationReport", "Verifier"]


class CheckStatus(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CONFIGURED = "not_configured"
    """There is no command for it."""
    TIMED_OUT = "timed_out"
    NOT_TRUSTED = "not_trusted"
    """It would run the project's code, and nobody said that it may."""
    CANCELLED = "cancelled"
    """Ended, or not begun, because somebody cancelled."""


class CheckResult(BaseModel):
    """What one check said."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: Check
    status: CheckStatus
    required: bool = True
    """False: the configuration says that the project has no such check."""
    reason: str = ""
    """Where the command comes from, and what else a person should know; for what did not run, what to do."""
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
        """What a person is told of it in a line."""
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
        """Return what one check said."""
        return next(result for result in self.checks if result.check == check)

    def quickfix(self) -> list[dict[str, Any]]:
        """Return the failures of all checks as entries of `setqflist()`."""
        return [failure.as_json() for result in self.checks for failure in result.failures]

    def signature(self) -> frozenset[tuple[str, ...]]:
        """Return what is wrong, the same for the same errors wherever they stand.

        Line numbers do not count, as an edit above moves them; nor do numbers in output that nothing could
        be parsed from, as they are mostly times.
        """
        return frozenset(entry for result in self.checks if not result.passed for entry in _entries(result))


class Verifier(Protocol):
    """What verifies: a `VerificationPipeline`."""

    async def run_all(self) -> VerificationReport:
        """Run all five checks."""


def _entries(result: CheckResult) -> list[tuple[str, ...]]:
    found = [(result.check, failure.file, failure.code, failure.message) for failure in result.failures]
    if found:
        return [tuple(map(str, entry)) for entry in found]
    return [(str(result.check), str(result.status), re.sub(r"\d+", "#", result.output))]
