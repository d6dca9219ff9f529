"""Streamed text as it can be stored and sent: pairs of surrogates joined, lone ones replaced."""

from __future__ import annotations

__all__ = ["SurrogateJoiner", "mended"]


def mended(text: str) -> str:
    """Return the text as valid Unicode.

    JSON may bring an emoji as two escapes, and a provider may cut between them.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class SurrogateJoiner:
    """Mends a stream: half a pair at the end of a piece waits for its other half."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown of this piece; may be empty."""
        text = self._half + piece
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return mended(text)
