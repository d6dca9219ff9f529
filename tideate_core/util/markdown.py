"""Markdown texts as headings, sections and list items, each with its lines.

Read by markdown-it-py as CommonMark with tables and task lists. Lines are counted from 0 and end at `\\n`;
ranges are half open.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = [
    "DEEPEST",
    "Heading",
    "ListItem",
    "Markdown",
    "anchor_of",
    "find_section",
    "plain_words",
    "read_markdown",
]

DEEPEST: Final = 40
"""Levels of quotes, lists and their items that are read; a list that is deeper ends the reading."""

_LINK: Final = re.compile(r"!?\[(?P<text>[^\[\]]*)\](?:\([^)]{0,500}\)|\[[^\[\]]*\])")
_KEPT: Final = frozenset({"Ll", "Lu", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl", "Pc"})
"""Unicode categories of the characters that an anchor keeps, beside hyphens."""
_LITERAL: Final = frozenset({"fence", "code_block", "html_block"})


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and the lines of its section, which the next heading of its level or above ends."""

    title: str
    level: int
    anchor: str
    """Unique within the text, as GitHub makes it."""
    start: int
    end: int

    @property
    def line(self) -> int:
        """The heading's line, 1-based."""
        return self.start + 1


@dataclass(frozen=True, slots=True)
class ListItem:
    """An item of a list and its lines, those of the items in it included."""

    text: str
    """The first line of its words."""
    level: int
    """1: its list is in no other one."""
    bullet: str
    """`-`, `*` or `+`, of a numbered item `.` or `)`."""
    checked: bool | None
    """None: it is no item of a task list."""
    start: int
    end: int

    @property
    def line(self) -> int:
        """The item's first line, 1-based."""
        return self.start + 1

    def has_part(self, other: ListItem) -> bool:
        """Tell whether another item stands in this one."""
        return self.start < other.start < self.end


@dataclass(frozen=True, slots=True)
class Markdown:
    """The structure of a text; headings and items within quotes, and headings within items, are left out."""

    text: str
    lines: tuple[str, ...]
    """Without their ends."""
    headings: tuple[Heading, ...]
    items: tuple[ListItem, ...]
    literal: frozenset[int]
    """Lines of code, of HTML and its comments."""

    @property
    def tasks(self) -> list[ListItem]:
        """The items of task lists."""
        return [item for item in self.items if item.checked is not None]

    def prose(self) -> Iterator[tuple[int, str]]:
        """Yield number and text of the lines that are not literal."""
        return ((at, line) for at, line in enumerate(self.lines) if at not in self.literal)


def read_markdown(text: str) -> Markdown:
    """Return the structure of a text; every text has one."""
    # a lone `\r` must not move the numbers of the lines below it
    lines = text.replace("\r\n", "\n").replace("\r", " ").split("\n")
    tokens = _parser().parse("\n".join(_without_front_matter(lines)))
    literal = {at for token in tokens if token.type in _LITERAL for at in range(*(token.map or (0, 0)))}
    return Markdown(
        text,
        tuple(lines),
        tuple(_headings(tokens, len(lines))),
        tuple(_items(tokens)),
        frozenset(literal),
    )


def find_section(headings: Sequence[Heading], wanted: str) -> Heading | None:
    """Return the first heading of these words (in any case), else the one with this anchor."""
    words = wanted.strip().casefold()
    for heading in headings:
        if heading.title.casefold() == words:
            return heading
    anchor = wanted.strip().lower()
    return next((heading for heading in headings if heading.anchor == anchor), None)


def anchor_of(title: str) -> str:
    """Return GitHub's anchor of a heading that no other one is like."""
    words = _LINK.sub(lambda match: match["text"], title).strip().lower()
    kept = (one for one in words if one in " -" or unicodedata.category(one) in _KEPT)
    return "".join(kept).replace(" ", "-")


def plain_words(text: str) -> str:
    """Return a text by which it is found again: without marks, and blanks and case made equal."""
    return " ".join(re.sub(r"[`*_~\[\]]", "", text).casefold().split())


@cache
def _parser() -> MarkdownIt:
    # here, because most processes read no Markdown
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": DEEPEST, "tasklists": True})
    # only blocks are wanted; line ends are ours, and the changelog's link references are lines as others
    return parser.enable("table").disable(["normalize", "inline", "text_join", "reference"])


def _without_front_matter(lines: list[str]) -> list[str]:
    if lines[0].rstrip() != "---":
        return lines
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() in {"---", "..."}), None)
    return lines if end is None else [""] * (end + 1) + lines[end + 1 :]


def _headings(tokens: Sequence[Token], length: int) -> list[Heading]:
    found = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = " ".join(part.strip() for part in inline.content.split("\n"))
            found.append((token.map[0], int(token.tag[1:]), title.strip()))
    taken: dict[str, int] = {}
    anchors = [_unused(anchor_of(title), taken) for _, _, title in found]
    # of each level the next heading below; from the end, so that the time is linear
    following = [length] * 6
    made = []
    for (start, level, title), anchor in zip(reversed(found), reversed(anchors), strict=True):
        made.append(Heading(title, level, anchor, start, min(following[:level])))
        following[level - 1] = start
    return made[::-1]


def _unused(anchor: str, taken: dict[str, int]) -> str:
    made = anchor
    while made in taken:
        taken[anchor] += 1
        made = f"{anchor}-{taken[anchor]}"
    taken[made] = 0
    return made


def _items(tokens: Sequence[Token]) -> Iterator[ListItem]:
    quotes = level = 0
    for at, token in enumerate(tokens):
        if token.type in {"blockquote_open", "blockquote_close"}:
            quotes += token.nesting
        elif token.type in {"list_item_open", "list_item_close"}:
            level += token.nesting
            if token.nesting == 1 and not quotes and token.map:
                text = _first_line(tokens, at + 1)
                checked = token.meta.get("checked") if text else None
                yield ListItem(text, level, token.markup, checked, *token.map)


def _first_line(tokens: Sequence[Token], at: int) -> str:
    if tokens[at].type not in {"paragraph_open", "heading_open"}:
        return ""
    return tokens[at + 1].content.partition("\n")[0].strip()
