"""The lines of patches, however they are wrapped: ``@@`` headings, and lines with a blank, ``-`` or ``+``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.edits.parts import Part
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["added_lines", "counts_of", "read_hunks"]

_COUNTS = re.compile(r"@@+ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@+")
_NO_PLACE = re.compile(r"[-+\d, .…@]*")
END_OF_FILE = "*** End of File"


@dataclass(slots=True)
class _Hunk:
    anchors: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    at_end: bool = False

    def part(self, name: str) -> Part:
        old, new = _side(self.rows, "-"), _side(self.rows, "+")
        return Part(name, ((old, new),), tuple(self.anchors), self.at_end)


def read_hunks(lines: Sequence[str], of: str) -> tuple[Part, ...]:
    """Return the parts that one file's section of a patch has. Line numbers and counts are not read.

    :param of: the file, for names and messages.
    :raises UnusableAnswer: nothing is changed in it.
    """
    hunks = [_Hunk()]
    for line in lines:
        if line.startswith("@@"):
            if hunks[-1].rows:
                hunks.append(_Hunk())
            if heading := _heading(line):
                hunks[-1].anchors.append(heading)
        elif line.rstrip() == END_OF_FILE:
            hunks[-1].at_end = True
        elif not line.startswith("\\"):
            if hunks[-1].at_end:
                hunks.append(_Hunk())
            hunks[-1].rows.append(line)
    changing = [hunk for hunk in hunks if any(row[:1] in {"+", "-"} for row in hunk.rows)]
    if not changing:
        raise UnusableAnswer(f"the patch changes nothing in {of or 'the file'}: no line begins with + or -")
    tail = f" of {of}" if of else ""
    return tuple(hunk.part(f"hunk {number}{tail}") for number, hunk in enumerate(changing, 1))


def added_lines(lines: Sequence[str], of: str) -> tuple[str, ...]:
    """Return the text of a file that a patch adds.

    :raises UnusableAnswer: a line does not begin with ``+``.
    """
    rows = [line for line in lines if not line.startswith(("@@", "\\")) and line.rstrip() != END_OF_FILE]
    while rows and not rows[-1]:
        rows.pop()
    wrong = next((row for row in rows if not row.startswith("+")), None)
    if wrong is not None:
        raise UnusableAnswer(f"the patch adds {of}, but its line {wrong!r} does not begin with +")
    return tuple(row[1:] for row in rows)


def counts_of(heading: str) -> tuple[int, int] | None:
    """Return how many old and new lines a hunk of a diff says it has; None: it says nothing."""
    match = _COUNTS.match(heading)
    return (int(match[1] or 1), int(match[2] or 1)) if match else None


def _heading(line: str) -> str:
    match = _COUNTS.match(line)
    text = (line[match.end() :] if match else line.lstrip("@")).strip().removesuffix("@@").strip()
    return "" if _NO_PLACE.fullmatch(text) else text


def _side(rows: Sequence[str], sign: str) -> tuple[str, ...]:
    """Return the old (``-``) or the new (``+``) lines; one without any sign is taken as it is, as context."""
    other = "+" if sign == "-" else "-"
    kept = (row for row in rows if not row.startswith(other))
    return tuple(row[1:] if row[:1] in {" ", sign} else row for row in kept)
