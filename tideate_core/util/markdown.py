"""Structure of Markdown texts: headings, sections and list items with their lines.

Parsed by markdown-it-py as CommonMark with tables and task lists. Lines are counted from 0 and end at `\\n`;
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

DEEPEST: Final = 40
"""Levels of nested quotes, lists and items that are read; a deeper list ends the parsing."""

_LINK: Final = re.compile(r"!?\[(?P<text>[^\[\]]*)\](?:\([^)]{0,500}\)|\[[^\[\]]*\])")
_KEPT: Final = frozenset({"Ll", "Lu", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl", "Pc"})
"""Unicode categories of the characters that an anchor keeps, besides hyphens."""
_LITERAL: Final = frozenset({"fence", "code_block", "html_block"})


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading and the lines of its section, up to the next heading of the same or a higher level."""

    title: str
    level: int
    anchor: str
    """GitHub's anchor, unique within the text."""
    start: int
    end: int

    @property
    def line(self) -> int:
        """Line of the heading, 1-based."""
        return self.start + 1


@dataclass(frozen=True, slots=True)
class ListItem:
    """List item and its lines, including nested items."""

    text: str
    """First line of its text."""
    level: int
    """1 for an item of an outermost list."""
    bullet: str
    """`-`, `*` or `+`; `.` or `)` for a numbered item."""
    checked: bool | None
    """None outside of task lists."""
    start: int
    end: int

    @property
    def line(self) -> int:
        """First line of the item, 1-based."""
        return self.start + 1

    def has_part(self, other: ListItem) -> bool:
        """Return whether this item contains another one."""
        return self.start < other.start < self.end


@dataclass(frozen=True, slots=True)
class Markdown:
    """Structure of a text, without headings and items in quotes and without headings in items."""

    text: str
    lines: tuple[str, ...]
    """Without line ends."""
    headings: tuple[Heading, ...]
    items: tuple[ListItem, ...]
    literal: frozenset[int]
    """Lines of code, HTML and HTML comments."""

    @property
    def tasks(self) -> list[ListItem]:
        """Items of task lists."""
        return [item for item in self.items if item.checked is not None]

    def prose(self) -> Iterator[tuple[int, str]]:
        """Yield number and text of the lines outside of code and HTML."""
        return ((at, line) for at, line in enumerate(self.lines) if at not in self.literal)


def read_markdown(text: str) -> Markdown:
    """Parse a text; every text is valid."""
    # a lone `\r` must not shift the line numbers
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
    """Return the first heading with this title in any case, or else with this anchor."""
    words = wanted.strip().casefold()
    for heading in headings:
        if heading.title.casefold() == words:
            return heading
    anchor = wanted.strip().lower()
    return next((heading for heading in headings if heading.anchor == anchor), None)


def anchor_of(title: str) -> str:
    """Return GitHub's anchor of a unique heading."""
    words = _LINK.sub(lambda match: match["text"], title).strip().lower()
    kept = (one for one in words if one in " -" or unicodedata.category(one) in _KEPT)
    return "".join(kept).replace(" ", "-")


def plain_words(text: str) -> str:
    """Normalize a text for comparison: no marks, single blanks, equal case."""
    return " ".join(re.sub(r"[`*_~\[\]]", "", text).casefold().split())


@cache
def _parser() -> MarkdownIt:
    # imported here: most processes read no Markdown
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": DEEPEST, "tasklists": True})
    # only blocks are needed; line ends are already normalized, and link references count as lines
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
    # the next heading of each level; from the end, for linear time
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
