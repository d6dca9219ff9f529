"""Self-contained SVG diagrams in light and dark, without scripts, fonts or external styles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from rich.cells import cell_len

from tideate_core.errors import MachineError
from tideate_core.machines.diagrams.labels import (
    UNREACHABLE,
    arrow_label,
    box_columns,
    cut,
    one_line,
    title_label,
)
from tideate_core.machines.diagrams.layout import Box, Layout, Rail, Route, lay_out
from tideate_core.machines.diagrams.model import MOST_DRAWN, Diagram, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BOXES: Final = 5_000
LANES: Final = 24
ROOM: Final = 72
"""Columns of text in a box; longer lines are truncated, their tooltip has the full text."""
COLUMN: Final = 7.8
ROW: Final = 20
MARGIN: Final = 16
PAD: Final = 12
LANE: Final = 14
"""Distance between two lanes."""
STUB: Final = 22
"""Distance from the boxes to the first lane."""
AXIS: Final = 40
BEND: Final = 6
BATCHES: Final = 30
"""Space for the batch numbers at the left."""

_STYLE: Final = """
.tideate { color: #1f2328; font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.tideate .paper { fill: #ffffff; }
.tideate text { fill: currentColor; white-space: pre; }
.tideate .title { font-weight: bold; }
.tideate .detail, .tideate .batch { fill-opacity: .65; stroke-opacity: .65; }
.tideate .box { fill: currentColor; fill-opacity: .04; stroke: currentColor; stroke-width: 1.2; }
.tideate .current { fill-opacity: .14; stroke-width: 3; }
.tideate .unreachable { stroke-dasharray: 5 4; }
.tideate .line { fill: none; stroke: currentColor; stroke-width: 1.2; }
.tideate .head, .tideate .joint { fill: currentColor; }
.tideate .up { stroke: #9a6700; }
.tideate .up.head, .tideate .up.joint { fill: #9a6700; stroke: none; }
@media (prefers-color-scheme: dark) {
  .tideate { color: #e6edf3; }
  .tideate .paper { fill: #0d1117; }
  .tideate .up { stroke: #d29922; }
  .tideate .up.head, .tideate .up.joint { fill: #d29922; }
}
"""


def draw_svg(diagram: Diagram) -> str:
    """Draw with the layout of the text diagram; each line of text has its full text as a tooltip.

    :raises MachineError: there are too many edges or nodes.
    """
    if len(diagram.edges) > MOST_DRAWN or len(diagram.nodes) > MOST_BOXES:
        nodes = sum(node.kind is Kind.NODE for node in diagram.nodes)
        node, edge = ("steps", "dependencies") if diagram.batches else ("states", "transitions")
        raise MachineError(
            f"workflow {diagram.name!r} is too large for an SVG: {nodes:,} {node} and {len(diagram.edges):,} "
            f"{edge}; use the format 'mermaid' and another tool, or 'text' for a list"
        )
    return _Drawing(lay_out(diagram, LANES)).document(one_line(diagram.title or diagram.name))


class _Drawing:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.room = min(ROOM, box_columns(layout))
        numbers = BATCHES if layout.batches else 0
        self.left = MARGIN + numbers + self._gutter(Route.UP)
        self.right = self.left + self.room * COLUMN + 2 * PAD
        self.width = self.right + self._gutter(Route.DOWN) + MARGIN
        self.height = layout.rows * ROW + 2 * MARGIN

    def document(self, name: str) -> str:
        size = f'width="{self.width:.0f}" height="{self.height:.0f}"'
        view = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tideate" role="img" {size} {view}>',
            f"<title>{escape(name)}</title>",
            f"<style>{_STYLE}</style>",
            '<rect class="paper" width="100%" height="100%"/>',
        )
        return "\n".join([*head, *self._elements(), "</svg>"]) + "\n"

    def _elements(self) -> Iterator[str]:
        """Yield all elements from back to front."""
        yield from map(self._rail, self.layout.rails)
        yield from self._batches()
        if lost := self.layout.first_unreachable:
            tip = "no transition leads here from the entry"
            yield self._text(UNREACHABLE, tip, lost.top - 1, "heading")
        for box in self.layout.boxes:
            yield self._box(box) if box.framed else self._sign(box)
            if box.leads_down:
                yield self._down(box)

    def _batches(self) -> Iterator[str]:
        """Yield each batch's number, and a line beside its parallel steps."""
        for first, last in self.layout.batches:
            y = self._y(first.title) + 4.5
            yield f'<text class="batch" x="{MARGIN}" y="{y:.1f}">{first.batch}</text>'
            if first is not last:
                x, top, bottom = MARGIN + BATCHES - PAD / 2, self._y(first.top), self._y(last.bottom)
                yield f'<path class="line batch" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>'

    def _gutter(self, route: Route) -> float:
        return STUB + LANE * (self.layout.lanes[route] - 1) if self.layout.lanes[route] else 0

    def _y(self, row: int) -> float:
        return MARGIN + (row + 0.5) * ROW

    def _box(self, box: Box) -> str:
        looks = {"box": True, "current": box.is_current, "unreachable": not box.is_reached}
        look = " ".join(name for name, holds in looks.items() if holds)
        top, height = self._y(box.top), (box.bottom - box.top) * ROW
        frame = (
            f'<rect class="{look}" x="{self.left:.1f}" y="{top:.1f}" '
            f'width="{self.right - self.left:.1f}" height="{height}" rx="6"/>'
        )
        tip = one_line(box.node.tooltip) + ("" if box.is_reached else " (not reachable)")
        lines = [self._text(title_label(self.layout, box), tip, box.title, "title")]
        lines += [self._text(one_line(line), line, row, "detail") for row, line in box.details]
        for arrow in box.arrows:
            if arrow.row is not None:
                label = arrow_label(self.layout, arrow)
                lines.append(self._text(label, label, arrow.row, "when"))
        return "\n".join([f"<g>{frame}", *lines]) + "</g>"

    def _text(self, text: str, tip: str, row: int, look: str) -> str:
        shown = cut(text, self.room)
        # with any font, the text keeps its width
        length = f'textLength="{cell_len(shown) * COLUMN:.1f}" lengthAdjust="spacingAndGlyphs"'
        at = f'x="{self.left + PAD:.1f}" y="{self._y(row) + 4.5:.1f}"'
        return (
            f'<text class="{look}" {at} {length}><title>{escape(one_line(tip))}</title>{escape(shown)}</text>'
        )

    def _sign(self, box: Box) -> str:
        x, y = self.left + AXIS, self._y(box.title)
        if box.node.kind is Kind.ENTRY:
            look, radius = ("box current", 8) if box.is_current else ("head", 7)
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
        """Draw a lane: each source's path to the head, with a joint at each meeting point."""
        out = 1 if rail.route is Route.DOWN else -1
        edge = self.right if out > 0 else self.left
        lane, head = edge + out * (STUB - 4 + LANE * rail.lane), self._y(rail.head)
        bare = not self.layout.boxes[rail.target].framed
        tip = self.left + AXIS + out * 9 if bare else edge
        look = rail.route.value
        bend = BEND if head > self._y(rail.sources[0]) else -BEND
        farthest = rail.first if rail.route is Route.DOWN else rail.last
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
