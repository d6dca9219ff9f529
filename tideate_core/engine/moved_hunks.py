"""Hunks that were made for an earlier text, at the lines that stand in their places now."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from tideate_core.workspace import Hunk, diff_lines, matching_blocks, merge_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["TextNow"]


class TextNow:
    """A text as it is now, in which places of hunks that were made for an earlier one are looked for."""

    def __init__(self, before: Sequence[str], now: Sequence[str]) -> None:
        self._now = now
        changes = diff_lines(before, now) if before != now else []
        self._changes = [part for change in changes for part in _line_by_line(change)]
        self._starts = [one.start for one in self._changes]
        self._ends = [one.end for one in self._changes]
        self._shifts = [0, *accumulate(len(one.new) - len(one.old) for one in self._changes)]

    def place(self, hunk: Hunk, made: Hunk | None) -> Hunk | None:
        """Return a hunk at its place, where the lines that it was decided for stand there, else None."""
        old = hunk.old if made is None else made.old
        start, end = self._edges(hunk)
        if not old or tuple(self._now[start:end]) != old:
            return None
        return replace(hunk, start=start, old=old)

    def moved(self, hunk: Hunk) -> Hunk:
        """Return a hunk that has no place at the line where its own are now."""
        return self.beside(hunk)[0]

    def beside(self, hunk: Hunk) -> list[Hunk]:
        """Return an insertion above and below what was inserted at its place."""
        return [replace(hunk, start=start) for start in self._edges(hunk)]

    def merged(self, hunk: Hunk, made: Hunk) -> Hunk | None:
        """Return what the person made of a hunk, or accepted, merged with what its own lines are now.

        Lines that the text's change alone is about stay. Where both changed the same, it changes nothing;
        None where that is to delete lines that they wrote since.
        """
        start, end = self._edges(hunk)
        old = tuple(self._now[start:end])
        if start == end and self._straddled(hunk):
            return Hunk(end, (), made.new) if made.new else None
        if old == made.new:
            return Hunk(start, old, old)
        if not made.old:  # below what was inserted at its place
            return Hunk(end, (), made.new)
        if not old or not made.new:
            return None if old else Hunk(end, (), made.new)
        text = merge_text(*("\n".join(lines) for lines in (made.old, made.new, old)))
        return Hunk(start, old, made.new if text is None else tuple(text.split("\n")))

    def _straddled(self, hunk: Hunk) -> bool:
        """Tell whether lines took the place of some of a hunk's and of others together."""
        near = slice(bisect_left(self._ends, hunk.start), bisect_right(self._starts, hunk.end))
        touched = (one for one in self._changes[near] if one.clashes(hunk))
        return any(one.start < hunk.start or hunk.end < one.end for one in touched)

    def _edges(self, hunk: Hunk) -> tuple[int, int]:
        """Return where a hunk's own lines start and end now: not those that others have a part in."""
        start, end = self._edge(hunk.start, below=True), self._edge(hunk.end, below=False)
        if start <= end:
            return start, end
        return (start, start) if self._straddled(hunk) else (end, start)  # inserted at its place

    def _edge(self, at: int, *, below: bool) -> int:
        """Return where the edge between two lines is now.

        :param below: what was inserted or changed around it, not above.
        """
        passed = bisect_right(self._ends, at)
        if not below:
            passed = min(passed, bisect_left(self._starts, at))
        within = self._changes[passed : passed + 1]
        if within and within[0].start < at < within[0].end:
            return within[0].start + self._shifts[passed] + (len(within[0].new) if below else 0)
        return at + self._shifts[passed]


def _line_by_line(change: Hunk) -> Iterator[Hunk]:
    """Yield a change in parts, where it is plain which line became which: other blanks, or as many lines."""
    old, new = ([line.strip() for line in lines] for lines in (change.old, change.new))
    i = j = 0
    for at, to, size in [*matching_blocks(old, new), (len(old), len(new), 0)]:
        if at - i != to - j:
            gone = [1] * (at - i) if to == j else [at - i]  # line by line where none took their place
            for count in gone:
                yield Hunk(change.start + i, change.old[i : i + count], change.new[j:to])
                i += count
            i, j = at, to
        for _ in range(at - i + size):
            if change.old[i] != change.new[j]:
                yield Hunk(change.start + i, (change.old[i],), (change.new[j],))
            i, j = i + 1, j + 1
