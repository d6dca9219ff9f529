"""Layout of a diagram in rows and lanes, shared by text and SVG.

All boxes stand in one column: the entry, the nodes in the order of reach, the exit, then unreachable nodes;
boxes of a batch stand close together. An edge to the next box goes straight down. Any other edge leaves its
source in its own row and follows a lane to its target: down at the right, up at the left. Edges to one target
share a lane.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from tideate_core.machines.diagrams.model import Kind, Node

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.machines.diagrams.model import Diagram

GAP: Final = 1
"""Rows between two boxes, for the arrow down."""


class Route(StrEnum):
    """The route of an arrow."""

    NEXT = "next"
    SELF = "self"
    DOWN = "down"
    UP = "up"
    NUMBERED = "numbered"


_SIDES: Final = (Route.UP, Route.DOWN)


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge between boxes. `row`: its line in the source's box, None without one."""

    source: int
    target: int
    route: Route
    label: str
    row: int | None


@dataclass(frozen=True, slots=True)
class Box:
    """The `at`-th box. `title`: the row of incoming arrows; without a frame it is the only row."""

    at: int
    node: Node
    is_reached: bool
    is_current: bool
    batch: int
    """Number of the batch that starts here, 0 if none does."""
    framed: bool
    top: int
    title: int
    bottom: int
    arrows: tuple[Arrow, ...]

    @property
    def details(self) -> Sequence[tuple[int, str]]:
        """The lines below the title with their rows."""
        return list(enumerate(filter(None, self.node.details), self.title + 1))

    @property
    def leads_down(self) -> bool:
        """Return whether an arrow goes straight to the next box."""
        return any(arrow.route is Route.NEXT for arrow in self.arrows)


@dataclass(frozen=True, slots=True)
class Rail:
    """The part of a lane to one `target`: in at the rows of `sources`, out at the row `head`."""

    route: Route
    target: int
    lane: int
    sources: tuple[int, ...]
    head: int

    @property
    def first(self) -> int:
        """The top row."""
        return min(*self.sources, self.head)

    @property
    def last(self) -> int:
        """The bottom row."""
        return max(*self.sources, self.head)


@dataclass(frozen=True, slots=True)
class Layout:
    """Boxes from top to bottom; lanes are numbered from the boxes outwards."""

    boxes: tuple[Box, ...]
    rails: tuple[Rail, ...]
    lanes: Mapping[Route, int]
    numbers: Mapping[int, int]
    """Numbers of the target boxes for which no lane was free."""
    rows: int

    @property
    def batches(self) -> Sequence[tuple[Box, Box]]:
        """The first and last box of each batch."""
        firsts = [box.at for box in self.boxes if box.batch]
        ends = [*firsts[1:], len(self.boxes)]
        return [(self.boxes[at], self.boxes[end - 1]) for at, end in zip(firsts, ends, strict=False)]

    @property
    def first_unreachable(self) -> Box | None:
        return next((box for box in self.boxes if not box.is_reached), None)


def lay_out(diagram: Diagram, lanes: int) -> Layout:
    """Lay out a diagram with at most this many lanes; edges without a lane get a number."""
    boxes = _boxes(diagram)
    rails, left_out = _rails(boxes, lanes)
    numbers = {target: count for count, target in enumerate(sorted({to for _, to in left_out}), 1)}
    used = {
        route: 1 + max((rail.lane for rail in rails if rail.route is route), default=-1) for route in _SIDES
    }
    return Layout(
        boxes=tuple(_numbered(box, left_out) for box in boxes),
        rails=rails,
        lanes=used,
        numbers=numbers,
        rows=boxes[-1].bottom + 1,
    )


def _boxes(diagram: Diagram) -> list[Box]:
    reached = set(diagram.reached)
    order = [*diagram.reached, *(at for at in range(len(diagram.nodes)) if at not in reached)]
    places = {node: at for at, node in enumerate(order)}
    begins = {batch[0]: number for number, batch in enumerate(diagram.batches, 1)}
    boxes: list[Box] = []
    for at, node in enumerate(order):
        batch = begins.get(node, 0)
        gap = GAP if batch or not diagram.batches else 0
        top = boxes[-1].bottom + 1 + gap if boxes else 0
        out = [(places[target], label) for _, target, label in diagram.outgoing[node]]
        box = _box(diagram.nodes[node], at, top, out)
        boxes.append(
            replace(box, is_reached=node in reached, is_current=node == diagram.current, batch=batch)
        )
    return boxes


def _box(node: Node, at: int, top: int, out: Iterable[tuple[int, str]]) -> Box:
    routes = [(_route(at, target), target, label) for target, label in out]
    framed = node.kind is Kind.NODE or any(route is not Route.NEXT or label for route, _, label in routes)
    title = top + 1 if framed else top
    row = title + 1 + sum(map(bool, node.details))
    arrows: list[Arrow] = []
    for route, target, label in routes:
        # an unlabelled arrow down needs no line
        silent = route is Route.NEXT and not label
        arrows.append(Arrow(at, target, route, label, None if silent else row))
        row += not silent
    return Box(at, node, True, False, 0, framed, top, title, row if framed else top, tuple(arrows))


def _route(source: int, target: int) -> Route:
    if target == source:
        return Route.SELF
    if target == source + 1:
        return Route.NEXT
    return Route.DOWN if target > source else Route.UP


def _rails(boxes: Sequence[Box], budget: int) -> tuple[tuple[Rail, ...], set[tuple[Route, int]]]:
    """Assign lanes to the shortest rails first, so that they stay near the boxes and rarely cross."""
    sources: dict[tuple[Route, int], list[int]] = defaultdict(list)
    for box in boxes:
        for arrow in box.arrows:
            if arrow.route in _SIDES and arrow.row is not None:
                sources[arrow.route, arrow.target].append(arrow.row)
    wanted = [Rail(route, to, -1, tuple(rows), boxes[to].title) for (route, to), rows in sources.items()]
    taken: dict[Route, list[list[Rail]]] = {route: [] for route in _SIDES}
    left_out = set()
    for rail in sorted(wanted, key=lambda rail: (rail.last - rail.first, rail.first)):
        side = taken[rail.route]
        lane = next((at for at, others in enumerate(side) if _is_free(others, rail)), len(side))
        if lane == len(side):
            if sum(map(len, taken.values())) >= budget:
                left_out.add((rail.route, rail.target))
                continue
            side.append([])
        insort(side[lane], replace(rail, lane=lane), key=_first)
    return tuple(rail for side in taken.values() for lane in side for rail in lane), left_out


def _is_free(others: Sequence[Rail], rail: Rail) -> bool:
    """Return whether a lane, with its rails in row order, has space for a rail."""
    at = bisect(others, rail.first, key=_first)
    before, after = others[at - 1 : at], others[at : at + 1]
    return all(each.last < rail.first for each in before) and all(rail.last < each.first for each in after)


def _first(rail: Rail) -> int:
    return rail.first


def _numbered(box: Box, left_out: set[tuple[Route, int]]) -> Box:
    """Return the box with numbers for arrows without a lane."""
    if not any((arrow.route, arrow.target) in left_out for arrow in box.arrows):
        return box
    arrows = (
        replace(arrow, route=Route.NUMBERED) if (arrow.route, arrow.target) in left_out else arrow
        for arrow in box.arrows
    )
    return replace(box, arrows=tuple(arrows))
