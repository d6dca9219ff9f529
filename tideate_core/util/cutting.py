"""Cut texts so that a part of a secret can be told from a word."""

from __future__ import annotations

from typing import Final

__all__ = ["CUT", "beginning", "ending"]

CUT: Final = "…"
"""The mark at a cut; `hide_secrets` knows the beginning of a secret before it."""


def beginning(text: str, most: int) -> str:
    """Return the beginning of a text, with a mark if the rest was left out.

    :param most: characters, the mark included.
    """
    return text if len(text) <= most else f"{text[: max(0, most - 1)]}{CUT}"[: max(0, most)]


def ending(text: str, most: int) -> str:
    """Return the end of a text, from the begin of a line or a word on.

    :param most: characters.
    """
    if len(text) <= most:
        return text
    kept = text[len(text) - max(0, most) :]
    if text[len(text) - len(kept) - 1].isspace():
        return kept
    return kept.partition("\n")[2] or kept.partition(" ")[2]
