"""Index of hunks by line, to find conflicting hunks without comparing all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.workspace.changes import Hunk


class HunkIndex:
    """Hunks of one text, numbered in the order of their addition."""

    def __init__(self, hunks: Iterable[Hunk] = ()) -> None:
        self._hunks: dict[int, Hunk] = {}
        self._owners: dict[int, list[int]] = {}
        self._added = 0
        for hunk in hunks:
            self.add(hunk)

    def add(self, hunk: Hunk) -> int:
        """Add a hunk, conflicting or not, and return its number."""
        self._hunks[self._added] = hunk
        for place in _places(hunk):
            self._owners.setdefault(place, []).append(self._added)
        self._added += 1
        return self._added - 1

    def remove(self, number: int) -> Hunk:
        """Remove a hunk and return it."""
        hunk = self._hunks.pop(number)
        for place in _places(hunk):
            self._owners[place].remove(number)
            if not self._owners[place]:
                del self._owners[place]
        return hunk

    def clashes(self, hunk: Hunk) -> bool:
        """Return whether a hunk conflicts with an indexed one."""
        return not self._owners.keys().isdisjoint(_places(hunk))

    def first_clash(self, hunk: Hunk) -> int | None:
        """Return the lowest number of a conflicting hunk."""
        return min(self.all_clashes(hunk), default=None)

    def all_clashes(self, hunk: Hunk) -> list[int]:
        """Return the numbers of all conflicting hunks."""
        return sorted({number for place in _places(hunk) for number in self._owners.get(place, ())})

    def around(self, hunk: Hunk) -> list[int]:
        """Return the numbers of the hunks that contain a hunk or that it inserts next to."""
        beside = range(2 * hunk.start - 1, 2 * hunk.start + 2)
        found = {number for place in beside for number in self._owners.get(place, ())}
        return sorted(number for number in found if _is_within(hunk, self._hunks[number]))


def _places(hunk: Hunk) -> range:
    """Return the places that a hunk covers: odd numbers for lines, even ones for the gaps between.

    Two hunks conflict exactly if they share a place.
    """
    return range(2 * hunk.start + 1, 2 * hunk.end) if hunk.old else range(2 * hunk.start, 2 * hunk.start + 1)


def _is_within(hunk: Hunk, other: Hunk) -> bool:
    return other.start <= hunk.start and hunk.end <= other.end
