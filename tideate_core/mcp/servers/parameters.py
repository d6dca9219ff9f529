"""Parameter types that the tools share; values are refused before a tool runs."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator, Field

__all__ = ["MAX_TEXT", "SHOWN", "Line", "RelativePath", "Text", "short_repr", "without_control_characters"]

SHOWN: Final = 60
"""Characters of a client's own word that an error message repeats."""
MAX_LINE: Final = 4_096
MAX_TEXT: Final = 4 << 20
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that end a line, turn its direction, or are not seen at all."""


def short_repr(word: str) -> str:
    """Quote a client's word for a message: bounded, on one line, nothing that steers a terminal."""
    return repr(word if len(word) <= SHOWN else word[:SHOWN] + "…")


def without_control_characters(text: str) -> str:
    """Return the text.

    :raises ValueError: it holds a control character other than tab and line ends.
    """
    for character in text:
        if (character < " " and character not in "\t\n\r") or "\x7f" <= character <= "\x9f":
            raise ValueError(f"the control character U+{ord(character):04X} is not allowed")
    return text


def _line(text: str) -> str:
    for character in text:
        if unicodedata.category(character) in _UNSEEN:
            raise ValueError(
                f"the character U+{ord(character):04X} is not allowed: give one line of plain text"
            )
    return text


def _relative(path: str) -> str:
    _line(path)
    if not path:
        raise ValueError("a path is missing")
    if path.startswith(("/", "~")):
        raise ValueError("give a path relative to the root")
    if ".." in path.split("/"):
        raise ValueError("`..` is not allowed: give a path below the root")
    return path


Line: TypeAlias = Annotated[str, Field(max_length=MAX_LINE), AfterValidator(_line)]
"""One line, nothing in it that is not seen."""
RelativePath: TypeAlias = Annotated[str, Field(max_length=MAX_LINE), AfterValidator(_relative)]
"""A path below the root; that links do not lead out of it is for `Root` to tell."""
Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(without_control_characters)]
"""Any text without control characters other than tabs and line ends."""
