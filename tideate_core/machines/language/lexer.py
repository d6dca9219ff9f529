"""Lexer of the `.workflow` language: one token a line, including the guidance block below it.

The language is line-based, so a token is a line with everything that belongs to it: a transition has its
target, the text after its `:` and the indented block below. One regular expression reads the whole text; all
its repetitions are possessive, so it reads each character at most once, except one per line.

A line ends with `\\n` or `\\r\\n` only: U+2028 is an ordinary character, and a lone `\\r` is a mistake, like
all other control characters except the tab, and lone surrogates. A leading byte order mark is ignored.
"Blank" means spaces and tabs.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

BLANKS: Final = " \t"
_TAB_STOP: Final = 8
_EMPTY: Final = " \t\n"


class TokenKind(Enum):
    """The kind of a line."""

    TRANSITION = "transition"
    WHEN = "when"
    """A guidance line, `: text`."""
    COMMENT = "comment"
    MALFORMED = "malformed"
    """Any other line."""
    CHARACTER = "character"
    """Not a line: a forbidden character."""


class Token(NamedTuple):
    """One line, `line` from 1, with the block opened by its `:`."""

    kind: TokenKind
    line: int
    text: str
    """A transition's source, a guidance line's text, a comment, a malformed line up to its `:`."""
    column: int = 1
    target: str = ""
    target_column: int = 0
    inline: str | None = None
    """The text after the `:` of a transition or a malformed line; None without a `:`."""
    block: str = ""
    """The indented and blank lines below that `:`, unchanged, each preceded by a newline."""


_BLOCK = r":([^\n]*+)((?:\n(?:[ \t][^\n]*+)?+(?=\n|\Z))*+)"
_STATE = r"\*|[A-Za-z_][A-Za-z0-9_]*+"
_LINE = re.compile(
    rf"""(?:
        ({_STATE})([ \t]++to[ \t]++)({_STATE})[ \t]*+(?:{_BLOCK})?+(?=\n|\Z)
      | :[ \t]*+([^\n]*+)
      | [ \t]*+((?:\#|//)[^\n]*+)
      | [ \t]*+(?=\n|\Z)
      | ([ \t][^\n]*+)
      | ([^\n:]++)(?:{_BLOCK})?+
    )(?:\n|\Z)""",
    re.VERBOSE,
)
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def plain_text(text: str) -> str:
    """Return the text without its byte order mark and with `\\n` for `\\r\\n`."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


class Lexer:
    """Splits a text into tokens; blank lines outside blocks give none."""

    def __init__(self, text: str) -> None:
        self._text = plain_text(text)

    def tokens(self) -> list[Token]:
        """Return all tokens, kind CHARACTER first."""
        return list(self)

    def __iter__(self) -> Iterator[Token]:
        yield from self._characters()
        yield from self._lines()

    def _lines(self) -> Iterator[Token]:
        transition, malformed = TokenKind.TRANSITION, TokenKind.MALFORMED
        token, make = Token, tuple.__new__  # half the cost of calling Token
        line = 0
        for match in _LINE.finditer(self._text):
            line += 1
            source, to, target, inline, block, when, comment, indented, other, rest, below = match.groups()
            if source is not None:
                column = len(source) + len(to) + 1
                yield make(token, (transition, line, source, 1, target, column, inline, block or ""))
                if block:
                    line += block.count("\n")
            elif when is not None:
                yield make(token, (TokenKind.WHEN, line, when.rstrip(" \t"), 1, "", 0, None, ""))
            elif comment is not None:
                yield Token(TokenKind.COMMENT, line, comment.rstrip(" \t"))
            elif indented is not None:
                yield Token(malformed, line, indented)
            elif other is not None:
                yield Token(malformed, line, other, inline=rest, block=below or "")
                line += (below or "").count("\n")

    def _characters(self) -> Iterator[Token]:
        """Yield each line's first forbidden character."""
        if _FORBIDDEN.search(self._text) is None:
            return
        for number, line in enumerate(self._text.split("\n"), 1):
            if found := _FORBIDDEN.search(line):
                yield Token(TokenKind.CHARACTER, number, found[0], found.start() + 1)


def block_text(inline: str, block: str) -> str:
    """Return the guidance after a `:` and in the block below.

    Blank lines at both ends, trailing blanks and common indentation are removed.
    """
    first = inline.strip(BLANKS)
    body = block.rstrip(_EMPTY) if block else ""
    if not body:
        return first
    if first:
        return f"{first}\n{_dedented(body)}"
    margin = body[: len(body) - len(body.lstrip(_EMPTY))]
    if body.count(margin) == body.count("\n") and " \n" not in body and "\t\n" not in body:
        return body.replace(margin, "\n")[1:]  # most blocks: no need to look at each line
    return _dedented(body).lstrip("\n")


def _dedented(body: str) -> str:
    lines = [line.rstrip(BLANKS) for line in body.split("\n")[1:]]
    indents = {_indent(line) for line in lines if line}
    margin = len(_common(indents))
    if not margin:  # mixed tabs and spaces: compare their visible widths
        lines = [_indent(line).expandtabs(_TAB_STOP) + line.lstrip(BLANKS) for line in lines]
        margin = min(len(_indent(line)) for line in lines if line)
    return "\n".join(line[margin:] for line in lines)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(BLANKS))]


def _common(indents: set[str]) -> str:
    """Return the common prefix: the first and the last in sorted order determine it."""
    low, high = min(indents), max(indents)
    for place, blank in enumerate(low):
        if blank != high[place]:
            return low[:place]
    return low
