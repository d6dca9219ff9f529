"""What an answer says of a place besides its lines: which ones stand above it, or that the file ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.edits.indent import indent_of
from tideate_core.edits.punctuation import plain_line

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Scope"]

_CLOSERS = ("}", ")", "]", "end", "else", "elif", "except", "finally", "catch", "{")


@dataclass(frozen=True, slots=True)
class Scope:
    """Says which of several places can be meant.

    Line numbers are no part of it: models count wrongly, and a wrong number would choose a wrong place.
    """

    anchors: tuple[str, ...] = ()
    """Lines above the place, the outer one first; those that the file does not have once say nothing."""
    at_end: bool = False

    def of(self, starts: Sequence[int], count: int, lines: Sequence[str]) -> list[int]:
        """Return those of the places, each `count` lines long, that fit."""
        if not self.anchors and not self.at_end:
            return list(starts)
        first, last = self._block(lines)
        allowed = [start for start in starts if first <= start]
        if len(allowed) > 1:
            allowed = [start for start in allowed if start < last]
        if self.at_end and len(allowed) > 1:
            allowed = [start for start in allowed if not any(line.strip() for line in lines[start + count :])]
        return allowed

    def _block(self, lines: Sequence[str]) -> tuple[int, int]:
        """Return the lines of the innermost anchor that is there once within the outer ones."""
        keys = [plain_line(line) for line in lines] if self.anchors else []
        first, last = 0, len(lines)
        for anchor in self.anchors:
            found = [at for at in range(first, last) if keys[at] == plain_line(anchor)]
            if len(found) == 1:
                first, last = found[0], _end_of_block(lines, found[0], last)
        return first, last


def _end_of_block(lines: Sequence[str], head: int, last: int) -> int:
    """Return the line after the block that a line opens, by the indentation."""
    width = len(indent_of(lines[head]).expandtabs(4))
    for at in range(head + 1, last):
        text = lines[at].strip()
        if text and len(indent_of(lines[at]).expandtabs(4)) <= width and not text.startswith(_CLOSERS):
            return at
    return last
