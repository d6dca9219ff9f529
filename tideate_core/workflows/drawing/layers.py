"""Where steps stand: a batch is a row, an edge that passes a row has a place of its own in it.

Rows are ordered by the mean place of the neighbours, then each moves towards them as far as there is room.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.workflows.graph import DependencyGraph

__all__ = ["Layers", "Point", "lay_out_layers", "passes"]

SWEEPS: Final = 8
PASS: Final = 10.0
"""Width of the place of an edge that passes."""


@dataclass(slots=True)
class Point:
    """A step, or an edge's place in a row that it passes (`step` is empty). `x` is its middle."""

    step: str
    row: int
    width: float
    x: float = 0.0


@dataclass(frozen=True, slots=True)
class Layers:
    """Rows from above, and every edge as the points that it leads through."""

    rows: list[list[Point]]
    edges: list[list[Point]]
    width: float


def passes(graph: DependencyGraph) -> int:
    """Count the places that edges need in rows that they pass."""
    row = {name: at for at, batch in enumerate(graph.execution_order) for name in batch}
    return sum(row[target] - row[source] - 1 for source, target in graph.edges)


def lay_out_layers(graph: DependencyGraph, widths: Mapping[str, float], gap: float) -> Layers:
    """Lay a graph out.

    :param widths: of the steps.
    :param gap: between two of a row.
    """
    rows = [
        [Point(name, at, widths[name]) for name in batch] for at, batch in enumerate(graph.execution_order)
    ]
    points = {point.step: point for row in rows for point in row}
    edges = []
    for source, target in graph.edges:
        way = [points[source]]
        for at in range(points[source].row + 1, points[target].row):
            rows[at].append(Point("", at, PASS))
            way.append(rows[at][-1])
        edges.append([*way, points[target]])
    return _placed(rows, edges, gap)


def _placed(rows: list[list[Point]], edges: list[list[Point]], gap: float) -> Layers:
    above: dict[int, list[Point]] = {id(point): [] for row in rows for point in row}
    below: dict[int, list[Point]] = {id(point): [] for row in rows for point in row}
    for way in edges:
        for upper, lower in pairwise(way):
            above[id(lower)].append(upper)
            below[id(upper)].append(lower)
    for row in rows:
        _pack(row, gap)
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        neighbours = above if downwards else below
        for row in rows if downwards else reversed(rows):
            wanted = {id(point): _mean(neighbours[id(point)], point.x) for point in row}
            if sweep < SWEEPS // 2:
                row.sort(key=lambda point: wanted[id(point)])
            _move(row, [wanted[id(point)] for point in row], gap)
    left = min(point.x - point.width / 2 for row in rows for point in row)
    for row in rows:
        for point in row:
            point.x -= left
    width = max(point.x + point.width / 2 for row in rows for point in row)
    return Layers(rows, edges, width)


def _pack(row: Sequence[Point], gap: float) -> None:
    """Put a row's points side by side, the middle of the row at 0."""
    x = -(sum(point.width for point in row) + gap * (len(row) - 1)) / 2
    for point in row:
        point.x = x + point.width / 2
        x += point.width + gap


def _move(row: Sequence[Point], wanted: Sequence[float], gap: float) -> None:
    """Move each point as near to where it is wanted as its neighbours leave room for.

    It is the mean of two solutions: one that gives way to the right only, and one to the left.
    """
    right, left = list(wanted), list(wanted)
    for at in range(1, len(row)):
        right[at] = max(right[at], right[at - 1] + _apart(row[at - 1], row[at], gap))
    for at in range(len(row) - 2, -1, -1):
        left[at] = min(left[at], left[at + 1] - _apart(row[at], row[at + 1], gap))
    for point, one, other in zip(row, right, left, strict=True):
        point.x = (one + other) / 2


def _apart(one: Point, other: Point, gap: float) -> float:
    return (one.width + other.width) / 2 + gap


def _mean(points: Sequence[Point], otherwise: float) -> float:
    return sum(point.x for point in points) / len(points) if points else otherwise
