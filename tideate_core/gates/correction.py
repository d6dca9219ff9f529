"""Self-correction: verify, correct the errors, and verify again while a correction can help."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from tideate_core.gates.results import VerificationReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.gates.results import Verifier

MAX_ATTEMPTS: Final = 3

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Correction:
    """A corrector's change."""

    edit: str
    """A canonical text of the change, such as a diff. Empty: no change."""
    summary: str = ""
    no_change: bool = False
    """The corrector decided that nothing has to change."""

    @property
    def digest(self) -> str:
        """Hash that identifies the edit; empty if nothing was changed."""
        content = self.edit.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, digest_size=16).hexdigest() if content else ""


Corrector: TypeAlias = Callable[[VerificationReport], Awaitable[Correction]]
"""Is given the failures, changes the files, and returns the change."""


class CorrectionEnd(StrEnum):
    """Reason why the loop ended."""

    PASSED = "passed"
    SAME_ERRORS = "same_errors"
    """A correction left exactly the same errors."""
    SAME_EDIT = "same_edit"
    """The corrector repeated an earlier change."""
    NO_EDIT = "no_edit"
    """The corrector changed nothing."""
    NO_CHANGE = "no_change"
    """The corrector decided that nothing has to change."""
    EXHAUSTED = "exhausted"
    NOT_CORRECTABLE = "not_correctable"
    """A command, a program or trust is missing, so no edit can help."""


@dataclass(frozen=True, slots=True)
class CorrectionAttempt:
    """One correction, and the failures before it."""

    number: int
    """1-based."""
    before: VerificationReport
    """The failures given to the corrector."""
    correction: Correction


@dataclass(frozen=True, slots=True)
class CorrectionResult:
    """The outcome of a loop."""

    end: CorrectionEnd | None
    """None: the loop was interrupted between two turns, and can be continued."""
    report: VerificationReport
    """Report of the last verification."""
    attempts: list[CorrectionAttempt] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """True if the last verification passed."""
        return self.end == CorrectionEnd.PASSED


class SelfCorrectionLoop:
    """Verifies, and lets a corrector fix the errors.

    A loop may be interrupted between two turns; a new one continues it with `corrected` and `edits`.

    :param verifier: None: the caller verifies, and passes the report.
    :param max_attempts: maximum number of corrections.
    :param corrected: reports that earlier corrections were made for, the oldest first.
    :param edits: digests of earlier corrections.
    :param on_report: called after each verification with the report and the number of earlier corrections.
    """

    def __init__(
        self,
        verifier: Verifier | None = None,
        *,
        max_attempts: int = MAX_ATTEMPTS,
        corrected: Sequence[VerificationReport] = (),
        edits: Sequence[str] = (),
        on_report: Callable[[VerificationReport, int], None] | None = None,
    ) -> None:
        self._verifier = verifier
        self._max_attempts = max_attempts
        self._corrected = [*corrected]
        self._edits = [*edits]
        self._on_report = on_report

    async def verify_and_correct(
        self, corrector: Corrector | None = None, report: VerificationReport | None = None
    ) -> CorrectionResult:
        """Verify and correct until all checks pass or another correction would not help.

        Without a corrector this returns after the verification, without a verifier after the correction. So a
        caller, such as the gated task, can record each turn. Errors of the corrector are raised.

        :param report: an earlier verification; the loop then begins with a correction.
        """
        attempts: list[CorrectionAttempt] = []
        report = report or await self._verify()
        while (end := self._end_of_report(report)) is None and corrector is not None:
            correction = await corrector(report)
            end = self._end_of_edit(correction)
            self._corrected.append(report)
            self._edits.append(correction.digest)
            attempts.append(CorrectionAttempt(len(self._corrected), report, correction))
            if end is not None or self._verifier is None:
                break
            report = await self._verify()
        if end is not None:
            log.info("verification ended after %d corrections: %s", len(self._corrected), end)
        return CorrectionResult(end, report, attempts)

    async def _verify(self) -> VerificationReport:
        if self._verifier is None:
            raise TypeError("a loop without a verifier needs a report")
        report = await self._verifier.run_all()
        if self._on_report is not None:
            self._on_report(report, len(self._corrected))
        return report

    def _end_of_report(self, report: VerificationReport) -> CorrectionEnd | None:
        if report.passed:
            return CorrectionEnd.PASSED
        if not report.correctable:
            return CorrectionEnd.NOT_CORRECTABLE
        if self._corrected and self._corrected[-1].signature() == report.signature():
            return CorrectionEnd.SAME_ERRORS
        return CorrectionEnd.EXHAUSTED if len(self._corrected) >= self._max_attempts else None

    def _end_of_edit(self, correction: Correction) -> CorrectionEnd | None:
        digest = correction.digest
        if not digest:
            return CorrectionEnd.NO_CHANGE if correction.no_change else CorrectionEnd.NO_EDIT
        return CorrectionEnd.SAME_EDIT if digest in self._edits else None
