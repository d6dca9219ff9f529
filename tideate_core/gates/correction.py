"""Verifying, having the errors corrected, verifying again: as long as that leads anywhere."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from tideate_core.gates.report import VerificationReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.gates.report import Verifier

__all__ = [
    "Corrected",
    "Correction",
    "CorrectionAttempt",
    "CorrectionEnd",
    "Corrector",
    "SelfCorrectionLoop",
    "digest_of_edit",
    "end_of_edit",
    "end_of_report",
]

MAX_ATTEMPTS: Final = 3

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Correction:
    """What a corrector did."""

    edit: str
    """What it changed, the same text for the same change: a diff, say. Empty: it changed nothing."""
    summary: str = ""


Corrector: TypeAlias = Callable[[VerificationReport], Awaitable[Correction]]
"""Is given what is wrong, changes the files, and says how."""


class CorrectionEnd(StrEnum):
    """Why the loop ended."""

    PASSED = "passed"
    SAME_ERRORS = "same_errors"
    """A correction left exactly the errors that there were."""
    SAME_EDIT = "same_edit"
    """The corrector came back with a change that it had made before."""
    NO_EDIT = "no_edit"
    """The corrector changed nothing."""
    EXHAUSTED = "exhausted"
    NOT_CORRECTABLE = "not_correctable"
    """What is missing is a command, a program or trust: no edit brings that."""


@dataclass(frozen=True, slots=True)
class CorrectionAttempt:
    """One correction."""

    number: int
    """From 1."""
    before: VerificationReport
    """What the corrector was given."""
    correction: Correction


@dataclass(frozen=True, slots=True)
class Corrected:
    """How it came out."""

    end: CorrectionEnd
    report: VerificationReport
    """Of the last verification."""
    attempts: list[CorrectionAttempt] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """The last verification passed."""
        return self.end == CorrectionEnd.PASSED


class SelfCorrectionLoop:
    """Verifies and has the errors corrected.

    :param max_attempts: corrections at most.
    :param on_report: called after each verification with the report and how many corrections came before.
    """

    def __init__(
        self,
        verifier: Verifier,
        *,
        max_attempts: int = MAX_ATTEMPTS,
        on_report: Callable[[VerificationReport, int], None] | None = None,
    ) -> None:
        self._verifier = verifier
        self._max_attempts = max_attempts
        self._on_report = on_report

    async def verify_and_correct(self, corrector: Corrector) -> Corrected:
        """Verify, and correct until all checks pass or a further correction would not help.

        Whatever the corrector raises goes on to the caller.
        """
        attempts: list[CorrectionAttempt] = []
        while True:
            report = await self._verify(len(attempts))
            end = end_of_report(report, [one.before for one in attempts], self._max_attempts)
            if end is None:
                attempt = CorrectionAttempt(len(attempts) + 1, report, await corrector(report))
                end = end_of_edit(attempt.correction.edit, [one.correction.edit for one in attempts])
                attempts.append(attempt)
            if end is not None:
                log.info("verification ended after %d corrections: %s", len(attempts), end)
                return Corrected(end, report, attempts)

    async def _verify(self, corrections: int) -> VerificationReport:
        report = await self._verifier.run_all()
        if self._on_report is not None:
            self._on_report(report, corrections)
        return report


def end_of_report(
    report: VerificationReport, corrected: Sequence[VerificationReport], most: int = MAX_ATTEMPTS
) -> CorrectionEnd | None:
    """Say why a verification is the last one; None: a correction may help.

    :param corrected: what earlier corrections were given, the oldest first.
    :param most: corrections at most.
    """
    if report.passed:
        return CorrectionEnd.PASSED
    if not report.correctable:
        return CorrectionEnd.NOT_CORRECTABLE
    if corrected and corrected[-1].signature() == report.signature():
        return CorrectionEnd.SAME_ERRORS
    return CorrectionEnd.EXHAUSTED if len(corrected) >= most else None


def end_of_edit(edit: str, earlier: Sequence[str]) -> CorrectionEnd | None:
    """Say why a correction is the last one; None: verification has to tell.

    :param edit: what it changes, or that text's `digest_of_edit`.
    :param earlier: the same of earlier corrections.
    """
    if not edit:
        return CorrectionEnd.NO_EDIT
    return CorrectionEnd.SAME_EDIT if edit in earlier else None


def digest_of_edit(edit: str) -> str:
    """Return what tells an edit from others and can be kept; empty if it changes nothing."""
    return hashlib.blake2b(edit.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest() if edit else ""
