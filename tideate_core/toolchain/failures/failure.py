"""Failure: one finding of a check or test, and helpers of the parsers that read them off tools' output.

All expressions of the parsers are anchored at a line's beginning, and what they repeat is bounded or cannot
match in two ways: the time they take grows with the text and no faster, whatever stands in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from tideate_core.util.cutting import beginning

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

__all__ = [
    "AT",
    "LONGEST_LINE",
    "Failure",
    "Parser",
    "Severity",
    "ToolOutput",
    "is_path",
    "make_failure",
    "project_path",
    "severity_of",
]

Severity: TypeAlias = Literal["error", "warning", "note"]

_QUICKFIX: Final[Mapping[Severity, str]] = {"error": "E", "warning": "W", "note": "I"}


@dataclass(frozen=True, slots=True)
class Failure:
    """A place in a file, and what is wrong there."""

    file: str
    """Relative to the project's root, absolute if it is outside; empty if the tool named none."""
    line: int | None
    """1-based."""
    column: int | None
    """1-based, as the tool counts."""
    message: str
    code: str = ""
    """The tool's name for this kind: a rule, an exception, a warning's option."""
    severity: Severity = "error"
    tool: str = ""
    test: str = ""
    """The test that failed, whose name the message then begins with, where it is one."""

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        code = f" [{self.code}]" if self.code else ""
        return f"{where}: {self.message}{code}" if where else f"{self.message}{code}"

    def as_json(self) -> dict[str, Any]:
        """Return it as an entry of `setqflist()`, with `code` and `tool` beside."""
        return {
            "filename": self.file,
            "lnum": self.line or 0,
            "col": self.column or 0,
            "text": f"{self.message} [{self.code}]" if self.code else self.message,
            "type": _QUICKFIX[self.severity],
            "code": self.code,
            "tool": self.tool,
        }


def project_path(name: str, root: Path, folder: str = "") -> str:
    """Return a path that a tool printed relative to the root if it is inside, else absolute.

    :param folder: where the tool ran, relative to the root.
    """
    path = Path(os.path.normpath(root / folder / name.removeprefix("file://")))
    for base in (root, Path(os.path.realpath(root))):
        if path.is_relative_to(base):
            return str(path.relative_to(base))
    return str(path)


LONGEST_LINE: Final = 2_000
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


class ToolOutput:
    """The output of one tool, as its parsers read it."""

    def __init__(self, text: str, root: Path, tool: str) -> None:
        self.text = text
        self.root = root
        self.tool = tool

    @cached_property
    def lines(self) -> list[str]:
        return [line[:LONGEST_LINE].rstrip() for line in self.text.split("\n")]


Parser: TypeAlias = Callable[[ToolOutput], Iterator[Failure]]
"""Yields what it finds; paths as they are printed."""


def make_failure(
    place: re.Match[str] | None,
    message: str,
    *,
    code: str = "",
    severity: Severity = "error",
    file: str = "",
    line: object = None,
    column: object = None,
    test: str = "",
) -> Failure:
    """Make a failure of what an expression with `AT` matched, or of what is given.

    :param line: with `column`, of a tool's JSON: what is no number is left out.
    """
    groups = place.groupdict() if place is not None else {}
    return Failure(
        file=(groups.get("file") or file).strip(),
        line=_number(groups.get("line"), line),
        column=_number(groups.get("column"), column),
        message=beginning((f"{test}: {message}" if test else message).strip(), _MESSAGE),
        code=code,
        severity=severity,
        test=test,
    )


def _number(matched: str | None, given: object) -> int | None:
    if matched:
        return int(matched)
    return given if isinstance(given, int) else None


def severity_of(word: str) -> Severity:
    """Return what a tool's word means; what is not known is an error."""
    return _SEVERITIES.get(word.lower(), "error")  # type: ignore[return-value]


def is_path(name: str) -> bool:
    """Tell whether a text may be a file's name rather than a time or a sentence."""
    if "://" in name or len(name) > 300:
        return False
    stem, dot, end = name.rpartition("/")[2].rpartition(".")
    return bool(dot and stem and end.isalnum() and end[0].isalpha()) or name in ("Makefile", "Dockerfile")
