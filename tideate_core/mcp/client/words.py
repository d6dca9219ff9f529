"""A server's words as they can be shown, written to a log and given to a model."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["is_tool_name", "one_line", "quoted", "readable", "short"]

LONGEST: Final = 2000
"""Characters of a server's own words in an error."""
LONGEST_NAME: Final = 128

# the characters of the specification, and those that servers use beside them
_NAME: Final = re.compile(rf"[A-Za-z0-9_./:@-]{{1,{LONGEST_NAME}}}")
_LOOK_AT: Final = re.compile(r"[^\x20-\x7e\n\t]")
_JOINERS: Final = "\u200d\ufe0e\ufe0f"
"""Parts of an emoji; by themselves they are shown."""
_SELECTORS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Seen by a model and not by a person, though Unicode calls them letters and marks."""
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def readable(text: str) -> str:
    """Return a text in which everything that a terminal obeys or a person does not see is named."""
    text = text.replace("\r\n", "\n")
    return _LOOK_AT.sub(lambda found: _shown(text, found.start()), text)


def short(text: str, longest: int = LONGEST) -> str:
    """Return a server's words: readable, bounded."""
    shown = readable(text[:longest])
    return shown if max(len(text), len(shown)) <= longest else f"{shown[:longest]} … ({len(text)} characters)"


def quoted(text: str, longest: int = LONGEST) -> str:
    """Return a server's words for a message of ours: what is not its first line is indented."""
    return "\n    ".join(short(text.strip(), longest).splitlines())


def one_line(text: str, longest: int) -> str:
    """Return a server's words for one line."""
    return " ".join(short(text, longest).split())


def is_tool_name(name: str) -> bool:
    """Tell whether a name can be shown beside others without being taken for something else."""
    return _NAME.fullmatch(name) is not None


def _shown(text: str, place: int) -> str:
    character = text[place]
    if character in _JOINERS and place and text[place - 1] > "\u203b" and text[place - 1] not in _JOINERS:
        return character
    if unicodedata.category(character) in _HIDDEN or _SELECTORS.match(character):
        return f"<U+{ord(character):04X}>"
    return character
