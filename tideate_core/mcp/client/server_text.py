"""Escape and shorten a server's text for a terminal, a log or a model."""

from __future__ import annotations

import re
from typing import Final

from tideate_core.util.escaping import visible

__all__ = ["body_words", "is_tool_name", "quoted", "short", "short_line"]

LONGEST: Final = 2000
"""Characters of a server's own words in an error."""
LONGEST_BODY: Final = 500
"""Characters of an HTTP body in an error."""
LONGEST_NAME: Final = 128

# the characters of the specification, and those that servers use beside them
_NAME: Final = re.compile(rf"[A-Za-z0-9_./:@-]{{1,{LONGEST_NAME}}}")


def short(text: str, longest: int = LONGEST) -> str:
    """Return a server's words, bounded; what a terminal obeys or a person does not see is escaped."""
    shown = visible(text[:longest].replace("\r\n", "\n"))
    return shown if max(len(text), len(shown)) <= longest else f"{shown[:longest]} … ({len(text)} characters)"


def quoted(text: str, longest: int = LONGEST) -> str:
    """Return a server's words for a message of ours: what is not its first line is indented."""
    return "\n    ".join(short(text.strip(), longest).splitlines())


def short_line(text: str, longest: int) -> str:
    """Return a server's words for one line."""
    return " ".join(short(text, longest).split())


def body_words(body: bytes) -> str:
    """Return the text of an HTTP body in one line, without the markup of a page."""
    text = body.decode("utf-8", "replace")
    if re.match(r"\s*<", text):
        text = re.sub(r"(?is)<(script|style|title)\b.*?</\1\s*>|<[^<>]*>", " ", text)
    return short_line(" ".join(text.split()), LONGEST_BODY)


def is_tool_name(name: str) -> bool:
    """Tell whether a name can be shown beside others without being taken for something else."""
    return _NAME.fullmatch(name) is not None
