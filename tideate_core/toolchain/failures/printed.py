"""What a tool printed, as its parser looks at it.

All expressions are anchored at a line's beginning, and what they repeat is bounded or cannot match in two
ways: the time they take grows with the text and no faster, whatever stands in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from tideate_core.toolchain.failures.failure import Failure

if TYPE_CHECKING:
    import re
    from pathlib import Path

    from tideate_core.toolchain.failures.failure import Severity

__all__ = ["AT", "Parser", "Printed", "found", "is_path", "severity_of"]

_LONGEST: Final = 2_000
"""Characters of a line that are looked at."""

_MESSAGE: Final = 600
"""Characters that are kept of a message."""

AT: Final = r"(?P<file>[^\s:'\"][^:\n]{0,300}):(?P<line>\d{1,7})(?::(?P<column>\d{1,5}))?"
"""A place, as most tools write it; for the beginning of an expression."""

_SEVERITIES: Final = {
    "warning": "warning",
    "warn": "warning",
    "note": "note",
    "info": "note",
    "information": "note",
    "hint": "note",
    "help": "note",
}


class Printed:
    """The output of one tool."""

    def __init__(self, text: str, root: Path, tool: str) -> None:
        self.text = text
        self.root = root
        self.tool = tool

    @cached_property
    def lines(self) -> list[str]:
        return [line[:_LONGEST].rstrip() for line in self.text.split("\n")]


Parser: TypeAlias = Callable[[Printed], Iterator[Failure]]
"""Yields what it finds; paths as they are printed."""


def found(
    place: re.Match[str] | None,
    message: str,
    *,
    code: str = "",
    severity: Severity = "error",
    file: str = "",
    line: str = "",
    test: str = "",
) -> Failure:
    """Make a failure of what an expression with `AT` matched, or of what is given."""
    groups = place.groupdict() if place is not None else {}
    number, column = groups.get("line") or line, groups.get("column")
    return Failure(
        file=(groups.get("file") or file).strip(),
        line=int(number) if number else None,
        column=int(column) if column else None,
        message=(f"{test}: {message}" if test else message).strip()[:_MESSAGE],
        code=code,
        severity=severity,
        test=test,
    )


def severity_of(word: str) -> Severity:
    """Return what a tool's word means; what is not known is an error."""
    return _SEVERITIES.get(word.lower(), "error")  # type: ignore[return-value]


def is_path(name: str) -> bool:
    """Tell whether a text may be a file's name rather than a time or a sentence."""
    if "://" in name or len(name) > 300:
        return False
    stem, dot, end = name.rpartition("/")[2].rpartition(".")
    return bool(dot and stem and end.isalnum() and end[0].isalpha()) or name in ("Makefile", "Dockerfile")
