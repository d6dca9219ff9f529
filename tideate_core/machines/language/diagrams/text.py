"""The drawing for a terminal or a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.machines.language.diagrams.layout import Arrow, Box, Kind, Layout, Way, lay_out
from tideate_core.machines.language.diagrams.listing import MOST_DRAWN, count_drawn, list_text
from tideate_core.machines.language.diagrams.words import columns, one_line, padded
from tideate_core.machines.language.model import BOUNDARY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.machines.language.model import MachineDefinition

__all__ = ["NOT_REACHABLE", "arrow_words", "draw_text", "is_current", "natural_room", "title_words"]

NARROWEST: Final = 20
PITCH: Final = 2
"""Columns from one lane to the next."""
MOST_LANES: Final = 12
"""More lines side by side cannot be followed; a number can."""
FRAME: Final = 4
"""Columns of a box that are not its words: border and blank, on both sides."""
NUMBERED: Final = 4
"""Columns before a name in a numbered arrow."""
LEAST: Final = 8
"""Columns that the words of a box have at least."""

AXIS: Final = 4
"""The column of a box in which the arrows down stand."""
NOT_REACHABLE: Final = "unreachable:"

_SINGLE: Final = tuple("┌─┐│├┤┬└┘")
_DOUBLE: Final = tuple("╔═╗║╟╢╤╚╝")
_DASHED: Final = tuple("┌╌┐╎├┤┬└┘")
_ROUND: Final = tuple("╭─╮│├┤┬╰╯")
# which neighbours a cell of a rail is joined with
_NOTHING, _ABOVE, _BELOW, _INWARD, _OUTWARD = 0, 1, 2, 4, 8
_LINES: Final = {0: " ", 3: "│", 5: "╯", 6: "╮", 7: "┤", 12: "─", 15: "┼"}
_MIRROR: Final = str.maketrans("╯╮┤◀", "╰╭├▶")

_CIRCLES: Final = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"


def draw_text(definition: MachineDefinition, width: int, current: str | None) -> str:
    """Draw with box characters, no line wider than `width`; list what would be too much of a drawing."""
    width = max(width, NARROWEST)
    if count_drawn(definition) > MOST_DRAWN:
        return list_text(definition, width, current)
    layout = lay_out(definition, _lanes(definition, width))
    gutters = sum(_gutter_width(layout, way) for way in (Way.UP, Way.DOWN))
    inner = min(natural_room(layout), width - gutters - FRAME)
    middle = [" " * (inner + FRAME)] * layout.rows
    for box in layout.boxes:
        middle[box.top : box.bottom + 1] = _drawn(layout, box, inner, current)
        if any(arrow.way is Way.NEXT for arrow in box.arrows):
            middle[box.bottom + 1] = " " * AXIS + "▼" + " " * (inner + FRAME - AXIS - 1)
    first = next((box for box in layout.boxes if not box.reachable), None)
    if first:
        middle[first.top - 1] = padded(NOT_REACHABLE, inner + FRAME)
    left = [_mirrored(line) for line in _gutter(layout, Way.UP)]
    rows = zip(left, middle, _gutter(layout, Way.DOWN), strict=True)
    return "".join("".join(row).rstrip() + "\n" for row in rows)


def title_words(layout: Layout, box: Box) -> str:
    """Return what stands at the top of a box."""
    if box.kind is not Kind.STATE:
        sign = "●" if box.kind is Kind.ENTRY else "◉"
        return f"{sign} {_number(layout.numbers[box.at])}" if box.at in layout.numbers else sign
    return _name(layout, box.at)


def arrow_words(layout: Layout, arrow: Arrow) -> str:
    """Return the line of a transition in its source's box."""
    when = one_line(arrow.when)
    if arrow.way is Way.SELF:
        return f"↺ {when}".rstrip()
    target = _name(layout, arrow.target) if arrow.way is Way.NUMBERED else _plain_name(layout, arrow.target)
    return f"→ {target}: {when}" if when else f"→ {target}"


def _lanes(definition: MachineDefinition, width: int) -> int:
    """Count the lanes that leave the boxes half of the width, and more if the names need it."""
    names = max((columns(one_line(name)) for name in definition.states), default=0)
    words = max(LEAST, min(max(names + NUMBERED, width // 2), width - FRAME - 2 * PITCH))
    return min(MOST_LANES, max(0, (width - FRAME - words - 2) // PITCH))


def _gutter_width(layout: Layout, way: Way) -> int:
    return layout.lanes[way] * PITCH + 1 if layout.lanes[way] else 0


def _gutter(layout: Layout, way: Way) -> list[str]:
    """Draw the rails of one side as if it were the right one."""
    cells = [[_NOTHING] * _gutter_width(layout, way) for _ in range(layout.rows)]
    rails = [rail for rail in layout.rails if rail.way is way]
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


def _drawn(layout: Layout, box: Box, inner: int, current: str | None) -> list[str]:
    if not box.framed:
        return [_bare(layout, box, inner, highlight=is_current(box, current))]
    if is_current(box, current):
        return _framed(layout, box, inner, _DOUBLE)
    if box.kind is Kind.ENTRY:
        return _framed(layout, box, inner, _ROUND)
    return _framed(layout, box, inner, _SINGLE if box.reachable else _DASHED)


def _framed(layout: Layout, box: Box, inner: int, signs: Sequence[str]) -> list[str]:
    top_left, level, top_right, upright, port_right, port_left, port_down, bottom_left, bottom_right = signs
    edge = level * (inner + 2)
    lines = [top_left + edge + top_right, f"{upright} {padded(title_words(layout, box), inner)} {upright}"]
    for arrow in box.arrows:
        if arrow.row is not None:
            left = port_left if arrow.way is Way.UP else upright
            right = port_right if arrow.way is Way.DOWN else upright
            lines.append(f"{left} {padded(arrow_words(layout, arrow), inner)} {right}")
    if any(arrow.way is Way.NEXT for arrow in box.arrows):
        edge = edge[: AXIS - 1] + port_down + edge[AXIS:]
    return [*lines, bottom_left + edge + bottom_right]


def _bare(layout: Layout, box: Box, inner: int, *, highlight: bool) -> str:
    """Draw the entry or the exit as a sign on the axis; arrows reach up to it."""
    ways = {rail.way for rail in layout.rails if rail.target == box.at}
    sign = title_words(layout, box)
    if highlight:
        return padded(" " * (AXIS - 1) + f"({sign})", inner + FRAME)
    before = "─" * (AXIS - 1) + "▶" if Way.UP in ways else " " * AXIS
    room = inner + FRAME - AXIS - columns(sign)
    return before + sign + ("◀" + "─" * (room - 1) if Way.DOWN in ways else " " * room)


def natural_room(layout: Layout) -> int:
    """Return the columns of text that the boxes need to cut nothing."""
    lines = [title_words(layout, box) for box in layout.boxes]
    arrows = (arrow for box in layout.boxes for arrow in box.arrows)
    lines += [arrow_words(layout, arrow) for arrow in arrows if arrow.row is not None]
    return max(LEAST, *map(columns, lines))


def is_current(box: Box, current: str | None) -> bool:
    """Tell whether the box is the one to highlight; `*` is the entry."""
    return current is not None and (
        box.kind is Kind.ENTRY if current == BOUNDARY else box.kind is Kind.STATE and box.name == current
    )


def _number(number: int) -> str:
    return _CIRCLES[number - 1] if number <= len(_CIRCLES) else f"({number})"


def _plain_name(layout: Layout, at: int) -> str:
    box = layout.boxes[at]
    return one_line(box.name) if box.kind is Kind.STATE else "◉"


def _name(layout: Layout, at: int) -> str:
    name = _plain_name(layout, at)
    return f"{_number(layout.numbers[at])} {name}" if at in layout.numbers else name
