"""What a runner's report or output says, before it is known how the command ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.process import clean

if TYPE_CHECKING:
    from tideate_core.toolchain.failures.failure import Failure
    from tideate_core.toolchain.results.models import TestFailure

__all__ = ["MOST", "Broken", "Tally", "said_by", "told"]

MOST: Final = 200
"""Failures that are kept."""
_MESSAGE: Final = 600
_NAME: Final = 400


class Broken(Exception):
    """A report cannot be read: it is none, or larger than any that counts."""


@dataclass(slots=True)
class Tally:
    """How many tests there were, and which failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    failures: list[TestFailure] = field(default_factory=list)
    cut: bool = False
    """There were more failures than are kept."""

    @property
    def bad(self) -> int:
        return self.failed + self.errors

    @property
    def total(self) -> int:
        return self.passed + self.bad + self.skipped

    @property
    def full(self) -> bool:
        """No further failure is kept: it need not be made."""
        return len(self.failures) >= MOST

    def add(self, failure: TestFailure) -> None:
        """Keep a failure, if there is room."""
        if self.full:
            self.cut = True
        else:
            self.failures.append(failure)

    def words(self) -> str:
        """Say it in short: ``12 passed, 1 failed``."""
        counts = (
            (self.passed, "passed"),
            (self.failed, "failed"),
            (self.errors, "errors"),
            (self.skipped, "skipped"),
        )
        return ", ".join(f"{number} {word}" for number, word in counts if number)


def said_by(failure: Failure) -> str:
    """Return what a failure says, without the name of its test and with that of the exception."""
    said = failure.message.removeprefix(f"{failure.test}: ") if failure.test else failure.message
    raised = failure.code.endswith(("Error", "Exception")) and failure.code != "AssertionError"
    return f"{failure.code}: {said}" if raised and said != failure.code else said


def told(name: str, message: str, place: Failure | None = None, *, error: bool = False) -> TestFailure:
    """Make a failure of what a runner said; bounded, and nothing in it that steers a terminal."""
    from tideate_core.toolchain.results.models import TestFailure

    return TestFailure(
        kind="error" if error else "failed",
        name=_plain(name)[:_NAME],
        file=_plain(place.file)[:_MESSAGE] if place else "",
        line=place.line if place else None,
        message=_plain(message).strip()[:_MESSAGE],
    )


def _plain(text: str) -> str:
    # half a pair of UTF-16, which JSON can say, cannot be sent
    return clean(text.encode("utf-8", "replace").decode())
