"""The known name that a mistyped one is nearest to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["nearest"]

LONGEST: Final = 200
"""Characters of a name that is compared."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name with the fewest edits to `name`, None if half of it or more would change.

    An edit inserts, deletes or replaces a character, or swaps two neighbours; case is ignored.
    Of equally near names, one with the same first character goes first.
    """
    best, least = None, (LONGEST, True)
    wanted = name.casefold()
    if len(wanted) > LONGEST:
        return None
    for candidate in known:
        other = candidate.casefold()
        longer = max(len(wanted), len(other))
        limit = min(max(1, longer // 2), longer - 1, least[0])
        if longer > LONGEST or abs(len(wanted) - len(other)) > limit:
            continue
        edits = _distance(wanted, other, limit)
        rank = (edits, wanted[:1] != other[:1])
        if edits <= limit and rank < least:
            best, least = candidate, rank
    return best


def _distance(one: str, other: str, limit: int) -> int:
    """Return the number of edits between two texts, or more than `limit` once it is certain."""
    last: list[int] = []
    row = list(range(len(other) + 1))
    for at, character in enumerate(one, 1):
        new = [at]
        for place, wanted in enumerate(other, 1):
            edits = min(row[place] + 1, new[-1] + 1, row[place - 1] + (character != wanted))
            if at > 1 and place > 1 and character == other[place - 2] and one[at - 2] == wanted:
                edits = min(edits, last[place - 2] + 1)
            new.append(edits)
        last, row = row, new
        if min(last) > limit and min(row) > limit:
            break
    return row[-1] if min(row) <= limit else limit + 1
