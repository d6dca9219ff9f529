"""Dependency lanes beside a list of steps, in the style of `git log --graph`.

Steps with the same dependencies share one lane: it starts at the first dependency, joins the others, and ends
at the last dependent step. Many parallel steps between two others take two lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_LANES: Final = 8
"""More parallel lines cannot be followed; further dependencies are named instead."""
MOST_NAMED: Final = 3
"""Maximum number of named dependencies."""
_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_SIGNS: Final = {
    _UP | _DOWN: "│",
    _LEFT | _RIGHT: "─",
    _UP | _LEFT: "╯",
    _UP | _RIGHT: "╰",
    _DOWN | _LEFT: "╮",
    _DOWN | _RIGHT: "╭",
    _UP | _DOWN | _LEFT: "┤",
    _UP | _DOWN | _RIGHT: "├",
    _UP | _LEFT | _RIGHT: "┴",
    _DOWN | _LEFT | _RIGHT: "┬",
    _UP | _DOWN | _LEFT | _RIGHT: "┼",
}


class LaneRow(NamedTuple):
    """Characters around a step's mark and on the lines below it; equal widths in one graph."""

    before: str
    after: str
    below: str
    words: str = ""
    """Names of the dependencies without a lane."""


@dataclass(slots=True)
class _Lane:
    sources: int
    targets: int = 0
    last: int = 0
    """Position of the last dependent step."""
    column: int | None = None
    begun: bool = False
    """A source was drawn; a lane without a free column then never gets one."""


def lane_rows(batches: Iterable[Iterable[str]], edges: Iterable[tuple[str, str]]) -> dict[str, LaneRow]:
    """Return the lanes of all steps in order; empty if each step needs only the previous one.

    The time is linear in steps and edges.

    :param batches: the steps in execution order.
    :param edges: pairs of a step and a dependent step of a later batch.
    """
    order = [step for batch in batches for step in batch]
    place = {step: at for at, step in enumerate(order)}
    sources: list[set[int]] = [set() for _ in order]
    for source, target in edges:
        sources[place[target]].add(place[source])
    needs = [tuple(sorted(each)) for each in sources]
    if all(each == ((at - 1,) if at else ()) for at, each in enumerate(needs)):
        return {}
    rows = _Drawing(order, needs).rows()
    width = max(len(f"{row.before}*{row.after}".rstrip()) for row in rows)
    return {step: _fitted(row, width) for step, row in zip(order, rows, strict=True)}


class _Drawing:
    """State of the columns between two rows."""

    def __init__(self, order: Sequence[str], needs: list[tuple[int, ...]]) -> None:
        self._order = order
        self._needs = needs
        """Positions of each step's dependencies."""
        self._columns: list[_Lane | None] = [None] * MOST_LANES
        self._lanes: dict[tuple[int, ...], _Lane] = {}
        self._leaving: list[list[_Lane]] = [[] for _ in order]
        for at, sources in enumerate(needs):
            lane = self._lanes.get(sources)
            if lane is None:
                lane = self._lanes[sources] = _Lane(len(sources))
                for source in sources:
                    self._leaving[source].append(lane)
            lane.targets += 1
            lane.last = at

    def rows(self) -> list[LaneRow]:
        return [self._row(at) for at in range(len(self._order))]

    def _row(self, at: int) -> LaneRow:
        before = [lane is not None for lane in self._columns]
        comes = self._lanes[self._needs[at]]
        if not comes.sources and comes.targets > 1 and not comes.begun:
            self._open(comes, 0)  # parallel steps at the start
        step = self._place_of_step(comes)
        joined = {step} | ({comes.column} if comes.column is not None else set())
        for lane in self._leaving[at]:
            if not lane.begun:
                self._open(lane, step if lane.sources == 1 and self._is_free(step) else step + 1)
            if lane.column is not None:
                joined.add(lane.column)
        if comes.column is not None and at == comes.last and self._columns[comes.column] is comes:
            self._columns[comes.column] = None
        words = "" if comes.column is not None or not comes.sources else self._words(self._needs[at])
        after = [lane is not None for lane in self._columns]
        line, below = _line(before, after, joined, step), " ".join("│" if one else " " for one in after)
        return LaneRow(line[: 2 * step], line[2 * step + 1 :], below, words)

    def _place_of_step(self, comes: _Lane) -> int:
        """Return a step's column: its lane's if the lane leads nowhere else, or a free one beside it."""
        if comes.column is None:
            return self._free(0)
        if comes.targets == 1:
            self._columns[comes.column] = None
            return comes.column
        return self._free(comes.column + 1)

    def _is_free(self, column: int) -> bool:
        return column < MOST_LANES and self._columns[column] is None

    def _free(self, first: int) -> int:
        """Return a free column; the last one is always free."""
        columns = range(first, MOST_LANES)
        return next((column for column in columns if self._columns[column] is None), MOST_LANES)

    def _open(self, lane: _Lane, first: int) -> None:
        lane.begun = True
        column = self._free(first)
        if column < MOST_LANES:
            lane.column = column
            self._columns[column] = lane

    def _words(self, needs: tuple[int, ...]) -> str:
        names = [self._order[at] for at in needs[:MOST_NAMED]]
        more = f" and {len(needs) - MOST_NAMED} more" if len(needs) > MOST_NAMED else ""
        return f"← {', '.join(names)}{more}"


def _fitted(row: LaneRow, width: int) -> LaneRow:
    room = width - len(row.before) - 1
    return LaneRow(row.before, row.after[:room].ljust(room), row.below[:width].ljust(width), row.words)


def _line(before: list[bool], after: list[bool], joined: set[int], step: int) -> str:
    """Draw a row: connect the step with the joined columns, behind the lanes in between."""
    first, last = min(joined), max(joined)
    parts = []
    for column in range(MOST_LANES + 1):
        above, below = (column < MOST_LANES and side[column] for side in (before, after))
        level = (column > first and column <= last) * _LEFT | (first <= column < last) * _RIGHT
        upright = above * _UP | below * _DOWN
        sign = _SIGNS.get(upright | level, " ") if column in joined or not upright else "│"
        parts.append(sign + ("─" if level & _RIGHT else " "))
    return "".join(parts)[:-1]
