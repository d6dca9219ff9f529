"""The nearest known name, within a bound: to look among thousands for each of many names takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Nearest"]

MOST_COMPARED: Final = 20_000
"""Pairs of names that are compared for one file."""
LONGEST: Final = 100


class Nearest:
    """Hints for the mistakes of one file; later ones go without if there are very many names."""

    def __init__(self) -> None:
        self._left = MOST_COMPARED

    def hint(self, name: str, known: Collection[str]) -> str:
        """Return `did you mean 'x'?`, or an empty string."""
        self._left -= len(known)
        if self._left < 0 or len(name) > LONGEST:
            return ""
        from difflib import get_close_matches

        near = get_close_matches(name, [one for one in known if len(one) <= LONGEST], n=1, cutoff=0.5)
        return f"did you mean {near[0]!r}?" if near else ""
