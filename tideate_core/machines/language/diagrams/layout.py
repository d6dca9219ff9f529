"""Where everything of a drawn machine stands, in rows and lanes; the text and the SVG show the same.

The boxes stand in one column: the entry, the states breadth first, the exit, then what cannot be reached.
A transition to the next box goes straight down. Any other leaves its source at its own row and runs in a
lane to its target: downwards at the right side, upwards at the left. Transitions to one target share a lane.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from tideate_core.machines.language.model import BOUNDARY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.machines.language.model import MachineDefinition, Transition

__all__ = ["Arrow", "Box", "Kind", "Layout", "Rail", "Way", "lay_out"]

GAP: Final = 1
"""Rows between two boxes: the room of the arrow down."""


class Kind(StrEnum):
    """What a box stands for."""

    ENTRY = "entry"
    STATE = "state"
    EXIT = "exit"


class Way(StrEnum):
    """How a transition is drawn."""

    NEXT = "next"
    SELF = "self"
    DOWN = "down"
    UP = "up"
    NUMBERED = "numbered"


_SIDES: Final = (Way.UP, Way.DOWN)


@dataclass(frozen=True, slots=True)
class Arrow:
    """One transition. `row`: that of its line in its source's box, None without one."""

    source: int
    target: int
    way: Way
    when: str
    row: int | None


@dataclass(frozen=True, slots=True)
class Box:
    """The `at`-th box. `title` is the row at which arrows arrive; without a frame it is the only one."""

    at: int
    kind: Kind
    name: str
    guidance: str
    reachable: bool
    framed: bool
    top: int
    title: int
    bottom: int
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True)
class Rail:
    """A lane's piece that leads to `target`: in at the rows of `sources`, out at the row `head`."""

    way: Way
    target: int
    lane: int
    sources: tuple[int, ...]
    head: int

    @property
    def first(self) -> int:
        """The uppermost row."""
        return min(*self.sources, self.head)

    @property
    def last(self) -> int:
        """The lowest row."""
        return max(*self.sources, self.head)


@dataclass(frozen=True, slots=True)
class Layout:
    """Boxes from above; lanes are counted from the boxes outwards."""

    boxes: tuple[Box, ...]
    rails: tuple[Rail, ...]
    lanes: Mapping[Way, int]
    numbers: Mapping[int, int]
    """The numbers of the boxes to which no lane was free."""
    rows: int


@dataclass(frozen=True, slots=True)
class _Node:
    kind: Kind
    name: str
    reachable: bool


def lay_out(definition: MachineDefinition, lanes: int) -> Layout:
    """Lay a machine out with at most so many lanes; transitions that find none get a number."""
    nodes = _nodes(definition)
    boxes = _boxes(definition, nodes)
    rails, left_out = _rails(boxes, lanes)
    numbers = {target: count for count, target in enumerate(sorted({to for _, to in left_out}), 1)}
    used = {way: 1 + max((rail.lane for rail in rails if rail.way is way), default=-1) for way in _SIDES}
    return Layout(
        boxes=tuple(_renumbered(box, left_out) for box in boxes),
        rails=rails,
        lanes=used,
        numbers=numbers,
        rows=boxes[-1].bottom + 1,
    )


def _nodes(definition: MachineDefinition) -> list[_Node]:
    reached: dict[str, None] = {BOUNDARY: None}
    waiting = [BOUNDARY]
    for source in waiting:
        for transition in definition.outgoing[source]:
            if transition.target not in reached:
                reached[transition.target] = None
                waiting.append(transition.target)
    nodes = [_Node(Kind.ENTRY, "", True)]
    nodes += [_Node(Kind.STATE, name, True) for name in reached if name != BOUNDARY]
    if any(transition.target == BOUNDARY for transition in definition.transitions):
        nodes.append(_Node(Kind.EXIT, "", True))
    return nodes + [_Node(Kind.STATE, name, False) for name in definition.states if name not in reached]


def _boxes(definition: MachineDefinition, nodes: Sequence[_Node]) -> list[Box]:
    places = {node.name: at for at, node in enumerate(nodes) if node.kind is Kind.STATE}
    places[BOUNDARY] = next((at for at, node in enumerate(nodes) if node.kind is Kind.EXIT), -1)
    boxes: list[Box] = []
    row = 0
    for at, node in enumerate(nodes):
        source = BOUNDARY if node.kind is Kind.ENTRY else node.name
        out = () if node.kind is Kind.EXIT else definition.outgoing[source]
        state = definition.states.get(node.name)
        arrows = [(places[each.target], each) for each in out]
        boxes.append(_box(node, at, row, arrows, state.guidance if state else ""))
        row = boxes[-1].bottom + 1 + GAP
    return boxes


def _box(node: _Node, at: int, top: int, out: Iterable[tuple[int, Transition]], guidance: str) -> Box:
    arrows: list[Arrow] = []
    ways = [(_way(at, target), target, transition.when) for target, transition in out]
    framed = node.kind is Kind.STATE or any(way is not Way.NEXT or when for way, _, when in ways)
    row = top + 2 if framed else top
    for way, target, when in ways:
        # the arrow down says enough when there is nothing to say about it
        silent = way is Way.NEXT and not when
        arrows.append(Arrow(at, target, way, when, None if silent else row))
        row += not silent
    title = top + 1 if framed else top
    bottom = row if framed else top
    return Box(at, node.kind, node.name, guidance, node.reachable, framed, top, title, bottom, tuple(arrows))


def _way(source: int, target: int) -> Way:
    if target == source:
        return Way.SELF
    if target == source + 1:
        return Way.NEXT
    return Way.DOWN if target > source else Way.UP


def _rails(boxes: Sequence[Box], budget: int) -> tuple[tuple[Rail, ...], set[tuple[Way, int]]]:
    """Give out the lanes, to the shortest ways first: they stay near the boxes and cross little."""
    sources: dict[tuple[Way, int], list[int]] = defaultdict(list)
    for box in boxes:
        for arrow in box.arrows:
            if arrow.way in _SIDES and arrow.row is not None:
                sources[arrow.way, arrow.target].append(arrow.row)
    wanted = [Rail(way, to, -1, tuple(rows), boxes[to].title) for (way, to), rows in sources.items()]
    taken: dict[Way, list[list[Rail]]] = {way: [] for way in _SIDES}
    left_out = set()
    for rail in sorted(wanted, key=lambda rail: (rail.last - rail.first, rail.first)):
        side = taken[rail.way]
        lane = next((at for at, others in enumerate(side) if _is_free(others, rail)), len(side))
        if lane == len(side):
            if sum(map(len, taken.values())) >= budget:
                left_out.add((rail.way, rail.target))
                continue
            side.append([])
        insort(side[lane], replace(rail, lane=lane), key=_first)
    return tuple(rail for side in taken.values() for lane in side for rail in lane), left_out


def _is_free(others: Sequence[Rail], rail: Rail) -> bool:
    """Tell whether a lane, its rails in the order of their rows, has room for one more."""
    at = bisect(others, rail.first, key=_first)
    before, after = others[at - 1 : at], others[at : at + 1]
    return all(each.last < rail.first for each in before) and all(rail.last < each.first for each in after)


def _first(rail: Rail) -> int:
    return rail.first


def _renumbered(box: Box, left_out: set[tuple[Way, int]]) -> Box:
    if not any((arrow.way, arrow.target) in left_out for arrow in box.arrows):
        return box
    arrows = (
        replace(arrow, way=Way.NUMBERED) if (arrow.way, arrow.target) in left_out else arrow
        for arrow in box.arrows
    )
    return replace(box, arrows=tuple(arrows))
