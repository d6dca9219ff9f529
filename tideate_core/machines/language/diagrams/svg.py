"""The drawing as an SVG that needs nothing else: no script, no font, no style sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from tideate_core.errors import MachineError
from tideate_core.machines.language.diagrams.layout import Box, Kind, Layout, Rail, Way, lay_out
from tideate_core.machines.language.diagrams.listing import MOST_DRAWN, count_drawn
from tideate_core.machines.language.diagrams.page import page
from tideate_core.machines.language.diagrams.text import (
    NOT_REACHABLE,
    arrow_words,
    is_current,
    natural_room,
    title_words,
)
from tideate_core.machines.language.diagrams.words import columns, cut, one_line

if TYPE_CHECKING:
    from tideate_core.machines.language.model import MachineDefinition

__all__ = ["draw_svg"]

LANES: Final = 24
ROOM: Final = 72
"""Columns of words in a box; longer lines are cut, their tooltip has the whole."""
COLUMN: Final = 7.8
ROW: Final = 20
MARGIN: Final = 16
PAD: Final = 12
LANE: Final = 14
"""From one lane to the next."""
STUB: Final = 22
"""From the boxes to the first lane."""
AXIS: Final = 40
BEND: Final = 6

_STYLE: Final = """
.tideate .unreachable { stroke-dasharray: 5 4; }
.tideate .up { stroke: #9a6700; }
.tideate .joint { fill: currentColor; }
.tideate .up.head, .tideate .up.joint { fill: #9a6700; stroke: none; }
@media (prefers-color-scheme: dark) {
  .tideate .up { stroke: #d29922; }
  .tideate .up.head, .tideate .up.joint { fill: #d29922; }
}
"""


def draw_svg(definition: MachineDefinition, current: str | None) -> str:
    """Draw with the layout of the text; every line of words has its whole text as a tooltip.

    :raises MachineError: there are too many transitions.
    """
    count = count_drawn(definition)
    if count > MOST_DRAWN:
        raise MachineError(
            f"workflow {definition.name!r} has {count:,} transitions, an SVG shows {MOST_DRAWN:,} at most; "
            "use the format 'dot' or 'mermaid' and another tool, or 'text' for a list"
        )
    return _Drawing(lay_out(definition, LANES)).document(one_line(definition.name), current)


class _Drawing:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.room = min(ROOM, natural_room(layout))
        self.left = MARGIN + self._gutter(Way.UP)
        self.right = self.left + self.room * COLUMN + 2 * PAD
        self.width = self.right + self._gutter(Way.DOWN) + MARGIN
        self.height = layout.rows * ROW + 2 * MARGIN

    def document(self, name: str, current: str | None) -> str:
        parts = [self._rail(rail) for rail in self.layout.rails]
        parts += self._heading()
        for box in self.layout.boxes:
            parts.append(self._box(box, highlight=is_current(box, current)))
            if any(arrow.way is Way.NEXT for arrow in box.arrows):
                parts.append(self._down(box))
        return page(name, self.width, self.height, _STYLE, parts)

    def _gutter(self, way: Way) -> float:
        return STUB + LANE * (self.layout.lanes[way] - 1) if self.layout.lanes[way] else 0

    def _y(self, row: int) -> float:
        return MARGIN + (row + 0.5) * ROW

    def _heading(self) -> list[str]:
        lost = next((box for box in self.layout.boxes if not box.reachable), None)
        tip = "no transition leads here from the entry"
        return [self._words(NOT_REACHABLE, tip, lost.top - 1, "heading")] if lost else []

    def _box(self, box: Box, *, highlight: bool) -> str:
        if not box.framed:
            return self._sign(box, highlight=highlight)
        looks = ["box", *(["current"] if highlight else []), *([] if box.reachable else ["unreachable"])]
        top, height = self._y(box.top), (box.bottom - box.top) * ROW
        frame = (
            f'<rect class="{" ".join(looks)}" x="{self.left:.1f}" y="{top:.1f}" '
            f'width="{self.right - self.left:.1f}" height="{height}" rx="6"/>'
        )
        tip = one_line(box.name) if box.kind is Kind.STATE else "entry"
        tip += "" if box.reachable else " (not reachable)"
        guidance = one_line(box.guidance)
        tip += f": {guidance}" if guidance else ""
        lines = [self._words(title_words(self.layout, box), tip, box.title, "title")]
        for arrow in box.arrows:
            if arrow.row is not None:
                words = arrow_words(self.layout, arrow)
                lines.append(self._words(words, words, arrow.row, "when"))
        return "\n".join([f"<g>{frame}", *lines]) + "</g>"

    def _words(self, words: str, tip: str, row: int, look: str) -> str:
        shown = cut(words, self.room)
        # whatever font there is, the words keep to their room
        length = f'textLength="{columns(shown) * COLUMN:.1f}" lengthAdjust="spacingAndGlyphs"'
        at = f'x="{self.left + PAD:.1f}" y="{self._y(row) + 4.5:.1f}"'
        return f'<text class="{look}" {at} {length}><title>{escape(tip)}</title>{escape(shown)}</text>'

    def _sign(self, box: Box, *, highlight: bool) -> str:
        x, y = self.left + AXIS, self._y(box.title)
        if box.kind is Kind.ENTRY:
            look, radius = ("box current", 8) if highlight else ("head", 7)
            return f"<g><title>entry</title>{_circle(look, x, y, radius)}</g>"
        number = self.layout.numbers.get(box.at)
        words = f'<text x="{x + 14:.1f}" y="{y + 4.5:.1f}">{number}</text>' if number else ""
        return f"<g><title>exit</title>{_circle('line', x, y, 8)}{_circle('head', x, y, 4)}{words}</g>"

    def _down(self, box: Box) -> str:
        x, below = self.left + AXIS, self.layout.boxes[box.at + 1]
        start = self._y(box.bottom) + (0 if box.framed else 7)
        end = self._y(below.top) - (0 if below.framed else 8)
        line = f'<path class="line" d="M{x:.1f} {start:.1f}V{end - 4:.1f}"/>'
        return f'{line}<path class="head" d="M{x:.1f} {end:.1f}l-4.5 -8h9z"/>'

    def _rail(self, rail: Rail) -> str:
        """Draw a lane: each source's way to the head, with a joint where it meets the others."""
        out = 1 if rail.way is Way.DOWN else -1
        edge = self.right if out > 0 else self.left
        lane, head = edge + out * (STUB - 4 + LANE * rail.lane), self._y(rail.head)
        bare = not self.layout.boxes[rail.target].framed
        tip = self.left + AXIS + out * 9 if bare else edge
        look = rail.way.value
        bend = BEND if head > self._y(rail.sources[0]) else -BEND
        farthest = rail.first if rail.way is Way.DOWN else rail.last
        before = lane - out * BEND
        parts = []
        for row in rail.sources:
            y = self._y(row)
            if row == farthest:
                start = f"M{edge:.1f} {y:.1f}H{before:.1f}Q{lane:.1f} {y:.1f} {lane:.1f} {y + bend:.1f}"
                end = f"V{head - bend:.1f}Q{lane:.1f} {head:.1f} {before:.1f} {head:.1f}H{tip + out * 5:.1f}"
                parts.append(f'<path class="line {look}" d="{start}{end}"/>')
            else:
                parts.append(f'<path class="line {look}" d="M{edge:.1f} {y:.1f}H{lane:.1f}"/>')
                parts.append(_circle(f"joint {look}", lane, y, 2.5))
        parts.append(f'<path class="head {look}" d="M{tip:.1f} {head:.1f}l{out * 8} -4.5v9z"/>')
        return "".join(parts)


def _circle(look: str, x: float, y: float, radius: float) -> str:
    return f'<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'
