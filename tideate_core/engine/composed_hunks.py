"""Hunks of a change with the borders of known ones, and whether a change makes those, too."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from tideate_core.workspace import FileChange, Hunk, HunkIndex, apply_hunks, diff_lines, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["MadeHunks", "hunks_by", "place_of"]


class MadeHunks:
    """Hunks that are made of a text, in which others are looked for."""

    def __init__(self, hunks: Iterable[Hunk]) -> None:
        self.hunks = [*hunks]
        self._index = HunkIndex(self.hunks)
        self._rows = dict[int, dict[str, list[int]]]()

    def clash(self, hunk: Hunk) -> bool:
        """Tell whether one of them clashes with another one."""
        return self._index.clashes(hunk)

    def make(self, hunk: Hunk) -> bool:
        """Tell whether one of them makes another one, too: of its lines as many, at its edge."""
        return any(self._makes(number, hunk) for number in self._index.around(hunk))

    def _makes(self, number: int, inner: Hunk) -> bool:
        one = self.hunks[number]
        size, last = len(inner.new), len(one.new) - len(inner.new)
        at_edge = [at for at, edge in ((0, one.start == inner.start), (last, one.end == inner.end)) if edge]
        starts = at_edge or (self._starts(number, inner.new) if size else range(last + 1))
        return any(at >= 0 and one.new[at : at + size] == inner.new for at in starts)

    def _starts(self, number: int, lines: Sequence[str]) -> Iterator[int]:
        """Yield where lines may start in a hunk, by the one of them that it has least of."""
        if number not in self._rows:
            rows = self._rows[number] = {}
            for row, line in enumerate(self.hunks[number].new):
                rows.setdefault(line, []).append(row)
        known = self._rows[number]
        offset = min(range(len(lines)), key=lambda at: len(known.get(lines[at], ())))
        return (row - offset for row in known.get(lines[offset], ()))


def place_of(hunk: Hunk) -> tuple[int, int]:
    """Return what hunks are put in order by."""
    return hunk.start, hunk.end


def hunks_by(change: FileChange, *known: Sequence[Hunk]) -> Sequence[Hunk]:
    """Return the hunks of a change, with the borders of the known ones that it differs least from.

    Where lines repeat, a comparison would part the same text in other ways.
    """
    lines, after = lines_of(change.before), lines_of(change.after)
    found, least = change.hunks, _size(change.hunks)
    for hunks in known:
        applied = apply_hunks(lines, hunks)
        # no line and one empty line are the same text
        differing = diff_lines(applied, after) if "\n".join(applied) != change.after else []
        if (size := _size(differing)) >= least:
            continue
        made = _Composition(lines, sorted(hunks, key=place_of), applied).then(differing)
        same = "\n".join(apply_hunks(lines, made)) == change.after
        if same and not any(hunk.clashes(one) for hunk, one in pairwise(made)):
            found, least = made, size
    return found


def _size(hunks: Sequence[Hunk]) -> int:
    return sum(len(hunk.old) + len(hunk.new) for hunk in hunks)


@dataclass(slots=True)
class _Group:
    """Hunks of a second change, and the range of those of the first one that they touch."""

    then: list[Hunk]
    first: int
    end: int


class _Composition:
    """A change of a text that another change follows.

    :param first: in order; those that the second change does not touch stay as they are.
    :param middle: the text with them.
    """

    def __init__(self, lines: Sequence[str], first: Sequence[Hunk], middle: Sequence[str]) -> None:
        self._lines, self._first, self._middle = lines, first, middle
        self._shifts = [0, *accumulate(len(hunk.new) - len(hunk.old) for hunk in first)]
        self._starts = [hunk.start + shift for hunk, shift in zip(first, self._shifts, strict=False)]
        self._ends = [start + len(hunk.new) for hunk, start in zip(first, self._starts, strict=True)]

    def then(self, hunks: Sequence[Hunk]) -> list[Hunk]:
        """Return hunks that make of the text what the two changes make, one after the other."""
        groups = list[_Group]()
        for hunk in hunks:
            low, high = bisect_left(self._ends, hunk.start), bisect_right(self._starts, hunk.end)
            if groups and low < min(high, groups[-1].end):
                groups[-1].then.append(hunk)
                groups[-1].end = high
            else:
                groups.append(_Group([hunk], low, high))
        gone = {one for group in groups for one in self._first[group.first : group.end]}
        made = [part for group in groups for part in self._parts(group)]
        return sorted([*(hunk for hunk in self._first if hunk not in gone), *made], key=place_of)

    def _parts(self, group: _Group) -> Iterator[Hunk]:
        """Yield what the comparison finds in the lines of hunks that touch each other."""
        low, high = group.then[0].start, group.then[-1].end
        start = low - self._shifts[bisect_left(self._ends, low)]
        if group.first < group.end:
            high = max(high, self._ends[group.end - 1])
            if self._starts[group.first] <= low:
                low, start = self._starts[group.first], self._first[group.first].start
        size = high - low - (self._shifts[group.end] - self._shifts[group.first])
        new = apply_hunks(
            self._middle[low:high], [replace(hunk, start=hunk.start - low) for hunk in group.then]
        )
        for part in diff_lines(self._lines[start : start + size], new):
            yield replace(part, start=part.start + start)
