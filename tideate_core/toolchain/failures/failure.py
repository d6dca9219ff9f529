"""Failure record of a check or test, with helpers of the output parsers.

All patterns of the parsers are anchored at the start of a line; repetitions are bounded or unambiguous, so
that their time is linear in the text for any content.
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

Severity: TypeAlias = Literal["error", "warning", "note"]

_QUICKFIX: Final[Mapping[Severity, str]] = {"error": "E", "warning": "W", "note": "I"}


@dataclass(frozen=True, slots=True)
class Failure:
    """A location in a file and its problem."""

    file: str
    """Relative to the root, absolute if outside; empty if the tool named none."""
    line: int | None
    """1-based."""
    column: int | None
    """1-based, in the tool's units."""
    message: str
    code: str = ""
    """The tool's identifier: a rule, an exception, a warning option."""
    severity: Severity = "error"
    tool: str = ""
    test: str = ""
    """The failed test, if it is one; the message then begins with its name."""

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        code = f" [{self.code}]" if self.code else ""
        return f"{where}: {self.message}{code}" if where else f"{self.message}{code}"

    def as_json(self) -> dict[str, Any]:
        """Return an entry of `setqflist()`, with `code` and `tool` added."""
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
    """Return a printed path relative to the root if it is inside, else absolute.

    :param folder: the tool's working folder relative to the root.
    """
    path = Path(os.path.normpath(root / folder / name.removeprefix("file://")))
    for base in (root, Path(os.path.realpath(root))):
        if path.is_relative_to(base):
            return str(path.relative_to(base))
    return str(path)


LONGEST_LINE: Final = 2_000
"""Maximum characters of a line that are parsed."""

_MESSAGE: Final = 600
"""Maximum characters of a message."""

AT: Final = r"(?P<file>[^\s:'\"][^:\n]{0,300}):(?P<line>\d{1,7})(?::(?P<column>\d{1,5}))?"
"""A location in the most common format; for the start of a pattern."""

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
    """The output of one tool, as input of its parsers."""

    def __init__(self, text: str, root: Path, tool: str) -> None:
        self.text = text
        self.root = root
        self.tool = tool

    @cached_property
    def lines(self) -> list[str]:
        return [line[:LONGEST_LINE].rstrip() for line in self.text.split("\n")]


Parser: TypeAlias = Callable[[ToolOutput], Iterator[Failure]]
"""Yields failures with unchanged paths."""


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
    """Return a failure from a match of a pattern with `AT`, or from the given values.

    :param line: like `column`, from a tool's JSON: ignored if it is not a number.
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
    """Return the severity of a tool's word; unknown words are errors."""
    return _SEVERITIES.get(word.lower(), "error")  # type: ignore[return-value]


def is_path(name: str) -> bool:
    """Return whether a text may be a file's name, not a time or a sentence."""
    if "://" in name or len(name) > 300:
        return False
    stem, dot, end = name.rpartition("/")[2].rpartition(".")
    return bool(dot and stem and end.isalnum() and end[0].isalpha()) or name in ("Makefile", "Dockerfile")
