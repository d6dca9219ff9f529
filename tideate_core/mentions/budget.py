"""Cuts items to a budget, and says what was cut."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tideate_core.mentions.items import CHARACTERS_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.mentions.items import ContextItem

__all__ = ["fitted", "head"]


def fitted(items: Sequence[ContextItem], tokens: int | None) -> list[ContextItem]:
    """Return the items with no more content than a budget allows, in the same order.

    Each has an equal share; what short ones leave of theirs goes to the longer ones. Headers do not count.

    :param tokens: of four characters each; None = no limit.
    """
    result = list(items)
    if tokens is None:
        return result
    room = max(0, tokens) * CHARACTERS_PER_TOKEN
    by_length = sorted(range(len(items)), key=lambda place: len(items[place].content))
    for rank, place in enumerate(by_length):
        share = room // (len(items) - rank)
        result[place] = _cut(items[place], share)
        room -= len(result[place].content)
    return result


def head(text: str, characters: int) -> str:
    """Return the beginning of a text, as far as the last line end that fits; a first line too long is cut."""
    if len(text) <= characters:
        return text
    kept = text[: max(0, characters)]
    lines = kept[: kept.rfind("\n") + 1]
    return lines or kept


def _cut(item: ContextItem, characters: int) -> ContextItem:
    kept = head(item.content, characters)
    if len(kept) == len(item.content):
        return item
    lines, total = _lines(kept), _lines(item.content)
    short = replace(item, content=kept)
    which = f"the first {lines} of {total} lines" if lines < total else "the beginning of the line"
    words = f"only {which} fit the budget (about {short.tokens} of {item.tokens} tokens)"
    if not kept:
        words = f"nothing of its {total} lines fits the budget (about {item.tokens} tokens)"
    return replace(short, cut="; ".join(filter(None, (item.cut, words))))


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")
