"""Diagrams for a terminal or buffer: boxes with lanes, batches of steps, or a list of edges."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from tideate_core.machines.diagrams.labels import (
    LEAST,
    UNREACHABLE,
    arrow_label,
    box_columns,
    cut,
    one_line,
    padded,
    title_label,
)
from tideate_core.machines.diagrams.layout import Box, Layout, Route, lay_out
from tideate_core.machines.diagrams.model import MOST_DRAWN, Diagram, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

NARROWEST: Final = 20
PITCH: Final = 2
"""Columns between two lanes."""
MOST_LANES: Final = 12
"""More parallel lines cannot be followed; further edges get a number."""
FRAME: Final = 4
"""Columns of a box's border and padding on both sides."""
NUMBERED: Final = 4
"""Columns before a name in a numbered arrow."""
AXIS: Final = 4
"""The column of a box for arrows down."""
WIDEST_COLUMN: Final = 30
"""Maximum columns of names in a list of batches."""

_SINGLE: Final = tuple("┌─┐│├┤┬└┘")
_DOUBLE: Final = tuple("╔═╗║╟╢╤╚╝")
_DASHED: Final = tuple("┌╌┐╎├┤┬└┘")
_ROUND: Final = tuple("╭─╮│├┤┬╰╯")
# bits for the neighbours that a rail's cell connects to
_NOTHING, _ABOVE, _BELOW, _INWARD, _OUTWARD = 0, 1, 2, 4, 8
_LINES: Final = {0: " ", 3: "│", 5: "╯", 6: "╮", 7: "┤", 12: "─", 15: "┼"}
_MIRROR: Final = str.maketrans("╯╮┤◀", "╰╭├▶")


def draw_text(diagram: Diagram, width: int) -> str:
    """Draw boxes with lines, or list batches and oversized graphs; no line is wider than `width`."""
    width = max(width, NARROWEST)
    if diagram.batches:
        lines = [cut(line, width) for line in _batch_lines(diagram)]
    elif len(diagram.edges) > MOST_DRAWN:
        head = f"A list: {len(diagram.edges):,} transitions are too many to draw."
        lines = [*wrap(head, width), *(cut(line, width) for line in _edge_lines(diagram))]
    else:
        lines = _drawn(diagram, width)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _drawn(diagram: Diagram, width: int) -> list[str]:
    layout = lay_out(diagram, _lanes(diagram, width))
    gutters = sum(_gutter_width(layout, route) for route in (Route.UP, Route.DOWN))
    inner = min(box_columns(layout), width - gutters - FRAME)
    middle = [" " * (inner + FRAME)] * layout.rows
    for box in layout.boxes:
        middle[box.top : box.bottom + 1] = _box_lines(layout, box, inner)
        if box.leads_down:
            middle[box.bottom + 1] = " " * AXIS + "▼" + " " * (inner + FRAME - AXIS - 1)
    first = layout.first_unreachable
    if first:
        middle[first.top - 1] = padded(UNREACHABLE, inner + FRAME)
    left = [_mirrored(line) for line in _gutter(layout, Route.UP)]
    return ["".join(row) for row in zip(left, middle, _gutter(layout, Route.DOWN), strict=True)]


def _lanes(diagram: Diagram, width: int) -> int:
    """Return the number of lanes that leave the boxes half of the width, or enough for the names."""
    names = max(
        (cell_len(one_line(node.name)) for node in diagram.nodes if node.kind is Kind.NODE), default=0
    )
    words = max(LEAST, min(max(names + NUMBERED, width // 2), width - FRAME - 2 * PITCH))
    return min(MOST_LANES, max(0, (width - FRAME - words - 2) // PITCH))


def _gutter_width(layout: Layout, route: Route) -> int:
    return layout.lanes[route] * PITCH + 1 if layout.lanes[route] else 0


def _gutter(layout: Layout, route: Route) -> list[str]:
    """Draw the rails of one side as if it were the right side."""
    cells = [[_NOTHING] * _gutter_width(layout, route) for _ in range(layout.rows)]
    rails = [rail for rail in layout.rails if rail.route is route]
    for rail in rails:
        column = PITCH * (rail.lane + 1)
        for row in range(rail.first, rail.last):
            cells[row][column] |= _BELOW
            cells[row + 1][column] |= _ABOVE
        for row in {*rail.sources, rail.head}:
            cells[row][column] |= _INWARD
            for between in range(column):
                cells[row][between] |= _INWARD | _OUTWARD
    lines = ["".join(_LINES[cell] for cell in row) for row in cells]
    for rail in rails:
        if layout.boxes[rail.target].framed:
            lines[rail.head] = "◀" + lines[rail.head][1:]
    return lines


def _mirrored(line: str) -> str:
    return line[::-1].translate(_MIRROR)


def _box_lines(layout: Layout, box: Box, inner: int) -> list[str]:
    if not box.framed:
        return [_sign(layout, box, inner)]
    if box.is_current:
        return _framed(layout, box, inner, _DOUBLE)
    if box.node.kind is Kind.ENTRY:
        return _framed(layout, box, inner, _ROUND)
    return _framed(layout, box, inner, _SINGLE if box.is_reached else _DASHED)


def _framed(layout: Layout, box: Box, inner: int, signs: Sequence[str]) -> list[str]:
    top_left, level, top_right, upright, port_right, port_left, port_down, bottom_left, bottom_right = signs
    edge = level * (inner + 2)
    words = [title_label(layout, box), *(one_line(line) for _, line in box.details)]
    lines = [top_left + edge + top_right, *(f"{upright} {padded(line, inner)} {upright}" for line in words)]
    for arrow in box.arrows:
        if arrow.row is not None:
            left = port_left if arrow.route is Route.UP else upright
            right = port_right if arrow.route is Route.DOWN else upright
            lines.append(f"{left} {padded(arrow_label(layout, arrow), inner)} {right}")
    if box.leads_down:
        edge = edge[: AXIS - 1] + port_down + edge[AXIS:]
    return [*lines, bottom_left + edge + bottom_right]


def _sign(layout: Layout, box: Box, inner: int) -> str:
    """Draw the entry or exit as a symbol on the axis, with arrows up to it."""
    routes = {rail.route for rail in layout.rails if rail.target == box.at}
    sign = title_label(layout, box)
    if box.is_current:
        return padded(" " * (AXIS - 1) + f"({sign})", inner + FRAME)
    before = "─" * (AXIS - 1) + "▶" if Route.UP in routes else " " * AXIS
    room = inner + FRAME - AXIS - cell_len(sign)
    return before + sign + ("◀" + "─" * (room - 1) if Route.DOWN in routes else " " * room)


def _batch_lines(diagram: Diagram) -> Iterator[str]:
    """Yield the batches from top to bottom, each step with its dependencies; `▶` marks the current step."""
    counted = _counted(len(diagram.nodes), "step"), _counted(len(diagram.batches), "batch", "batches")
    yield f"{one_line(diagram.title)}: {' in '.join(counted)}"
    yield ""
    number = len(str(len(diagram.batches)))
    names = _column(node.name for node in diagram.nodes)
    details = _column(detail for node in diagram.nodes for detail in node.details[:1])
    for place, batch in enumerate(diagram.batches, 1):
        if place > 1:
            yield f"{' ' * number}  │"
        for at, step in enumerate(batch):
            node = diagram.nodes[step]
            first, *rest = map(one_line, node.details)
            before = "" if at else str(place)
            branch = "●" if len(batch) == 1 else "┌" if at == 0 else "└" if at == len(batch) - 1 else "├"
            mark = "▶" if step == diagram.current else " "
            head = f"{before:>{number}} {mark}{branch} {padded(one_line(node.name), names)}"
            yield "  ".join(filter(None, (head, padded(first, details), _sources(diagram, step), *rest)))


def _sources(diagram: Diagram, at: int) -> str:
    names = [one_line(diagram.nodes[source].name) for source, _, _ in diagram.incoming[at]]
    return f"← {', '.join(names)}" if names else ""


def _column(texts: Iterable[str]) -> int:
    return min(WIDEST_COLUMN, max(cell_len(one_line(text)) for text in texts))


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _edge_lines(diagram: Diagram) -> Iterator[str]:
    """Yield the edges grouped by source; `▶` marks the current node."""
    for at, edges in enumerate(diagram.outgoing):
        # a node without edges appears as a target
        if not edges and at != diagram.current:
            continue
        node = diagram.nodes[at]
        name = one_line(node.name) if node.kind is Kind.NODE else "●"
        yield ""
        yield f"▶ {name}" if at == diagram.current else name
        for _, target, label in edges:
            to = diagram.nodes[target]
            words = one_line(label)
            line = f"  → {one_line(to.name) if to.kind is Kind.NODE else '◉'}"
            yield f"{line}: {words}" if words else line
