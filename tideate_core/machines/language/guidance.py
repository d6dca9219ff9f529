"""From the lines of an indented block to its text, and back."""

from __future__ import annotations

from typing import Final

__all__ = ["BLANKS", "block_text", "indented"]

BLANKS: Final = " \t"
INDENT: Final = "  "
_TAB_STOP: Final = 8
_EMPTY: Final = " \t\n"


def block_text(inline: str, block: str) -> str:
    """Return the guidance that stands after a `:` and in the lines below.

    Blank lines at both ends, blanks at the ends of lines and the common indentation are dropped.
    """
    first = inline.strip(BLANKS)
    body = block.rstrip(_EMPTY) if block else ""
    if not body:
        return first
    if first:
        return f"{first}\n{_dedented(body)}"
    margin = body[: len(body) - len(body.lstrip(_EMPTY))]
    if body.count(margin) == body.count("\n") and " \n" not in body and "\t\n" not in body:
        return body.replace(margin, "\n")[1:]  # what most blocks are; no line is looked at
    return _dedented(body).lstrip("\n")


def indented(text: str) -> str:
    """Write a guidance text as the block that gives it back."""
    return "\n".join(f"{INDENT}{line}" if line else "" for line in text.split("\n"))


def _dedented(body: str) -> str:
    lines = [line.rstrip(BLANKS) for line in body.split("\n")[1:]]
    indents = {_indent(line) for line in lines if line}
    margin = len(_common(indents))
    if not margin:  # tabs here, spaces there: compare what one sees
        lines = [_indent(line).expandtabs(_TAB_STOP) + line.lstrip(BLANKS) for line in lines]
        margin = min(len(_indent(line)) for line in lines if line)
    return "\n".join(line[margin:] for line in lines)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(BLANKS))]


def _common(indents: set[str]) -> str:
    """The common beginning: that of the first and the last in order is that of all."""
    low, high = min(indents), max(indents)
    for place, blank in enumerate(low):
        if blank != high[place]:
            return low[:place]
    return low
