"""Repair text with lone surrogates: JSON may split an emoji into two escapes."""

from __future__ import annotations

from typing import Any


def mended(text: str) -> str:
    """Return valid Unicode: surrogate pairs joined, lone ones replaced."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def mended_json(value: Any) -> Any:
    """Return a JSON value with all texts repaired."""
    match value:
        case str():
            return mended(value)
        case dict():
            return {mended(key): mended_json(one) for key, one in value.items()}
        case list():
            return [mended_json(one) for one in value]
        case _:
            return value


class SurrogateJoiner:
    """Repairs a stream: a surrogate at the end of a piece waits for its other half."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """Return the complete characters that were not returned yet."""
        text = self._half + piece
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return mended(text)

    def end(self) -> str:
        """Return a replacement for a waiting surrogate; empty without one."""
        half, self._half = self._half, ""
        return mended(half)
