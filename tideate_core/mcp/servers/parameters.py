"""Types of the tools' parameters: what can be told of a value alone is told before anything is done."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator, Field

from tideate_core.mcp.careful import without_control_characters

__all__ = ["Line", "RelativePath", "Text"]

MAX_LINE: Final = 4_096
MAX_TEXT: Final = 4 << 20
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that end a line, turn its direction, or are not seen at all."""


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
