"""The steps as an SVG that needs nothing else: no script, no font, no style sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from tideate_core.errors import InvalidInput
from tideate_core.machines.language import columns, cut, one_line, page
from tideate_core.workflows.drawing.layers import Point, lay_out_layers, passes
from tideate_core.workflows.drawing.words import doer, notes, tip

if TYPE_CHECKING:
    from tideate_core.workflows.definitions import WorkflowDefinition, WorkflowStep
    from tideate_core.workflows.graph import DependencyGraph

__all__ = ["draw_svg"]

MOST: Final = 5_000
"""Steps, edges and rows that edges pass; nobody can follow the lines of more."""
ROOM: Final = 36
"""Columns of words in a box; the tooltip has the whole."""
COLUMN: Final = 7.8
LINE: Final = 18
PAD: Final = 12
GAP: Final = 24
BETWEEN: Final = 44
"""From one row to the next."""
MARGIN: Final = 20
NUMBERS: Final = 34
"""Room of the batches' numbers at the left."""

_STYLE: Final = """
.tideate .more, .tideate .batch { fill-opacity: .65; }
.tideate .line { stroke-opacity: .75; }
"""


def draw_svg(definition: WorkflowDefinition, graph: DependencyGraph, current: str | None) -> str:
    """Draw each batch as a row.

    :raises InvalidInput: there is too much.
    """
    count = len(graph.nodes) + len(graph.edges) + passes(graph)
    if count > MOST:
        raise InvalidInput(
            f"workflow {definition.name!r} is too large for an SVG: {len(graph.nodes):,} steps and "
            f"{len(graph.edges):,} dependencies; use the format 'dot' and another tool, or 'text'"
        )
    return _Drawing(definition, graph).document(one_line(definition.title), current)


class _Drawing:
    def __init__(self, definition: WorkflowDefinition, graph: DependencyGraph) -> None:
        self.steps = {step.id: step for step in definition.steps}
        self.words = {name: _words(step) for name, step in self.steps.items()}
        widths = {name: max(map(columns, lines)) * COLUMN + 2 * PAD for name, lines in self.words.items()}
        self.layers = lay_out_layers(graph, widths, GAP)
        self.tops: list[float] = []
        self.heights: list[float] = []
        y: float = MARGIN
        for batch in graph.execution_order:
            self.tops.append(y)
            self.heights.append(max(len(self.words[name]) for name in batch) * LINE + PAD)
            y += self.heights[-1] + BETWEEN
        self.height = y - BETWEEN + MARGIN
        self.width = self.layers.width + 2 * MARGIN + NUMBERS

    def document(self, name: str, current: str | None) -> str:
        parts = [self._edge(way) for way in self.layers.edges]
        for at, row in enumerate(self.layers.rows):
            y = self.tops[at] + self.heights[at] / 2 + 4.5
            parts.append(f'<text class="batch" x="{MARGIN}" y="{y:.1f}">{at + 1}</text>')
            parts += [self._box(point, highlight=point.step == current) for point in row if point.step]
        return page(name, self.width, self.height, _STYLE, parts)

    def _x(self, point: Point) -> float:
        return MARGIN + NUMBERS + point.x

    def _bottom(self, point: Point) -> float:
        """Return where a step's box ends; boxes of a row are as high as their words."""
        if not point.step:
            return self.tops[point.row] + self.heights[point.row]
        return self.tops[point.row] + len(self.words[point.step]) * LINE + PAD

    def _box(self, point: Point, *, highlight: bool) -> str:
        x, y = self._x(point) - point.width / 2, self.tops[point.row]
        look = "box current" if highlight else "box"
        frame = (
            f'<rect class="{look}" x="{x:.1f}" y="{y:.1f}" width="{point.width:.1f}" '
            f'height="{self._bottom(point) - y:.1f}" rx="6"/>'
        )
        lines = [
            _line(line, "more" if at else "title", x + PAD, y + PAD / 2 + at * LINE + 13)
            for at, line in enumerate(self.words[point.step])
        ]
        return "".join([f"<g><title>{escape(tip(self.steps[point.step]))}</title>{frame}", *lines, "</g>"])

    def _edge(self, way: list[Point]) -> str:
        x, y = self._x(way[0]), self._bottom(way[0])
        path = [f"M{x:.1f} {y:.1f}"]
        for point in way[1:]:
            to, top = self._x(point), self.tops[point.row] - (7 if point.step else 0)
            bend = (top - y) / 2
            path.append(f"C{x:.1f} {y + bend:.1f} {to:.1f} {top - bend:.1f} {to:.1f} {top:.1f}")
            x, y = to, top
            if not point.step:
                y = self._bottom(point)
                path.append(f"V{y:.1f}")
        head = f'<path class="head" d="M{x:.1f} {y + 7:.1f}l-4.5 -8h9z"/>'
        return f'<path class="line" d="{"".join(path)}"/>{head}'


def _line(words: str, look: str, x: float, y: float) -> str:
    # whatever font there is, the words keep to their room
    length = f'textLength="{columns(words) * COLUMN:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" {length}>{escape(words)}</text>'


def _words(step: WorkflowStep) -> list[str]:
    lines = (one_line(step.id), doer(step), notes(step))
    return [cut(line, ROOM) for line in lines if line]
