"""Escape and shorten text from a server for a terminal, a log or a model."""

from __future__ import annotations

import re
from typing import Final

from tideate_core.util.escaping import visible

LONGEST: Final = 2000
"""Characters of a server's text in an error."""
LONGEST_BODY: Final = 500
"""Characters of an HTTP body in an error."""
LONGEST_NAME: Final = 128

# the characters of the specification, and others that servers use
_NAME: Final = re.compile(rf"[A-Za-z0-9_./:@-]{{1,{LONGEST_NAME}}}")


def short(text: str, longest: int = LONGEST) -> str:
    """Shorten a server's text and escape control and invisible characters."""
    shown = visible(text[:longest].replace("\r\n", "\n"))
    return shown if max(len(text), len(shown)) <= longest else f"{shown[:longest]} … ({len(text)} characters)"


def quoted(text: str, longest: int = LONGEST) -> str:
    """Return a server's text for one of our messages; its further lines are indented."""
    return "\n    ".join(short(text.strip(), longest).splitlines())


def short_line(text: str, longest: int) -> str:
    """Return a server's text on one line."""
    return " ".join(short(text, longest).split())


def body_words(body: bytes) -> str:
    """Return the text of an HTTP body on one line, without markup."""
    text = body.decode("utf-8", "replace")
    if re.match(r"\s*<", text):
        text = re.sub(r"(?is)<(script|style|title)\b.*?</\1\s*>|<[^<>]*>", " ", text)
    return short_line(" ".join(text.split()), LONGEST_BODY)


def is_tool_name(name: str) -> bool:
    """Tell whether a name has only characters that are safe among other names."""
    return _NAME.fullmatch(name) is not None
