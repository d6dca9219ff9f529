"""What the documents' checks need of Markdown: headings and list items, each with its line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DocumentIssue", "Heading", "headings", "prose_lines", "same_words"]

_HEADING: Final = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<text>.*))?$")
_FENCE: Final = re.compile(r"[ \t]{0,12}(?P<marks>`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class DocumentIssue:
    """Something wrong in a document."""

    line: int
    """1-based."""
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading with `#`."""

    line: int
    """1-based."""
    level: int
    text: str


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines outside of fences and comments."""
    fence, comment = "", False
    for number, line in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(line)
        if fence:
            # as long as the one that opened it, and with nothing behind
            if mark and mark["marks"].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif comment:
            comment = "-->" not in line
        elif mark:
            fence = mark["marks"]
        elif line.lstrip().startswith("<!--"):
            comment = "-->" not in line
        else:
            yield number, line.rstrip("\r")


def headings(text: str) -> list[Heading]:
    """Return the headings of a text."""
    found = []
    for number, line in prose_lines(text):
        if match := _HEADING.match(line):
            title = (match["text"] or "").rstrip()
            found.append(Heading(number, len(match["marks"]), re.sub(r"[ \t]#{1,20}$", "", title).strip()))
    return found


def same_words(text: str) -> str:
    """Return a text by which it is found again: without marks, and blanks and case made equal."""
    return " ".join(re.sub(r"[`*_~\[\]]", "", text).casefold().split())
