"""The sections of a Markdown text, by their headings or by the anchors that GitHub gives them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Heading", "anchor_of", "find_section", "headings"]

_ATX: Final = re.compile(r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))??(?:[ \t]+#+)?[ \t]*$")
_SETEXT: Final = re.compile(r"^ {0,3}(?P<mark>=+|-+)[ \t]*$")
_FENCE: Final = re.compile(r"^ {0,3}(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")
_RULE: Final = re.compile(r"^ {0,3}(?P<mark>[-*_])(?:[ \t]*(?P=mark)){2,}[ \t]*$")
_NO_PARAGRAPH: Final = re.compile(r"^(?: {4}|\t| {0,3}(?:>|[-*+][ \t]|\d+[.)][ \t]|#{1,6}[ \t]|\|))")
_LINK: Final = re.compile(r"!?\[(?P<text>[^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_KEPT: Final = frozenset({"Ll", "Lu", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl", "Pc"})
"""Unicode categories of the characters that an anchor keeps, beside hyphens."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; its section is the lines `start` to `end`, 0-based and half open."""

    title: str
    level: int
    anchor: str
    start: int
    end: int


def headings(text: str) -> list[Heading]:
    """Return all headings outside of code, in their order.

    A section goes as far as the next heading of its level or above.
    """
    lines = text.split("\n")
    found = list(_found([line.removesuffix("\r") for line in lines]))
    taken: dict[str, int] = {}
    made = []
    for place, (start, level, title) in enumerate(found):
        after = (line for line, deep, _ in found[place + 1 :] if deep <= level)
        end = next(after, len(lines))
        made.append(Heading(title, level, _unused(anchor_of(title), taken), start, end))
    return made


def anchor_of(title: str) -> str:
    """Return GitHub's anchor of a heading that no other one is like."""
    words = _LINK.sub(lambda match: match["text"], title).strip().lower()
    kept = (one for one in words if one in " -" or unicodedata.category(one) in _KEPT)
    return "".join(kept).replace(" ", "-")


def find_section(found: Sequence[Heading], wanted: str) -> Heading | None:
    """Return the first heading of these words (in any case), else the one with this anchor."""
    words = wanted.strip().casefold()
    for heading in found:
        if heading.title.casefold() == words:
            return heading
    anchor = wanted.strip().lower()
    return next((heading for heading in found if heading.anchor == anchor), None)


def _unused(anchor: str, taken: dict[str, int]) -> str:
    made = anchor
    while made in taken:
        taken[anchor] += 1
        made = f"{anchor}-{taken[anchor]}"
    taken[made] = 0
    return made


def _found(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield line, level and title of every heading."""
    fence = ""
    paragraph = -1
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark["ticks"].startswith(fence) and not mark["info"].strip():
                fence = ""
            continue
        if mark and not (mark["ticks"][0] == "`" and "`" in mark["info"]):
            fence, paragraph = mark["ticks"], -1
        elif heading := _ATX.match(line):
            yield number, len(heading["marks"]), (heading["title"] or "").strip()
            paragraph = -1
        elif paragraph >= 0 and (under := _SETEXT.match(line)):
            title = " ".join(part.strip() for part in lines[paragraph:number])
            yield paragraph, 1 if under["mark"][0] == "=" else 2, title
            paragraph = -1
        elif not line.strip() or _RULE.match(line) or (paragraph < 0 and _NO_PARAGRAPH.match(line)):
            paragraph = -1
        elif paragraph < 0:
            paragraph = number
