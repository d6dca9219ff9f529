"""The words of a drawing: one line each, without what a terminal would obey, cut to their room."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["columns", "cut", "one_line", "padded"]


# all but letters of Latin alphabets and arrows: what may take no column, or two
_UNUSUAL: Final = re.compile("[^\x00-\u02ff\u2190-\u21ff]")


def one_line(text: str) -> str:
    """Return the text on one line. Control and format characters go: a file is never a terminal's master."""
    text = " ".join(text.split())
    if text.isascii() and text.isprintable():
        return text
    kept = (char for char in text if _is_drawn(char))
    return " ".join("".join(kept).split())


def columns(text: str) -> int:
    """Count the columns that a cleaned text takes in a terminal."""
    return len(text) + sum(_columns(char) - 1 for char in _UNUSUAL.findall(text))


def cut(text: str, room: int) -> str:
    """Return the text if it fits, or as much of it as does, and an ellipsis."""
    if columns(text) <= room:
        return text
    taken = 0
    for at, char in enumerate(text):
        taken += _columns(char)
        if taken > room - 1:
            return text[:at].rstrip() + "…"[: max(room, 0)]
    return text


def padded(text: str, room: int) -> str:
    """Return the text cut or filled up to exactly so many columns."""
    text = cut(text, room)
    return text + " " * (room - columns(text))


def _is_drawn(char: str) -> bool:
    # selectors make a sign two columns wide in some terminals and one in others
    return unicodedata.category(char)[0] != "C" and not "\ufe00" <= char <= "\ufe0f"


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
