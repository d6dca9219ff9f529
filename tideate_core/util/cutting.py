"""Truncate texts so that a cut secret can still be recognised."""

from __future__ import annotations

from typing import Final

CUT: Final = "…"
"""Mark at a cut; `hide_secrets` recognises a truncated secret before it."""


def beginning(text: str, most: int) -> str:
    """Return the beginning of a text, with a mark if it was cut.

    :param most: characters, including the mark.
    """
    return text if len(text) <= most else f"{text[: max(0, most - 1)]}{CUT}"[: max(0, most)]


def ending(text: str, most: int) -> str:
    """Return the end of a text, starting at a line or word.

    :param most: characters.
    """
    if len(text) <= most:
        return text
    kept = text[len(text) - max(0, most) :]
    if text[len(text) - len(kept) - 1].isspace():
        return kept
    return kept.partition("\n")[2] or kept.partition(" ")[2]
