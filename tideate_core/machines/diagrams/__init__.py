"""Diagrams of state machines and step graphs as text, SVG or Mermaid."""

from __future__ import annotations

from tideate_core.errors import MachineError, did_you_mean
from tideate_core.machines.diagrams.labels import one_line
from tideate_core.machines.diagrams.lanes import LaneRow, lane_rows
from tideate_core.machines.diagrams.model import FORMATS, Diagram, Edge, Format, Kind, Node

__all__ = [
    "FORMATS",
    "Diagram",
    "Edge",
    "Format",
    "Kind",
    "LaneRow",
    "Node",
    "draw_diagram",
    "lane_rows",
    "one_line",
]


def draw_diagram(diagram: Diagram, format: Format, width: int = 80) -> str:  # noqa: A002 the field's word
    """Draw a diagram; the result ends with a newline.

    With more than two thousand edges the text becomes a list, and its first line says so.

    :param width: columns of the text; at least 20.
    :raises MachineError: the format is unknown, or the diagram is too large for SVG.
    """
    # imported on use: most callers only need the names of the formats
    match format:
        case "text":
            from tideate_core.machines.diagrams.text import draw_text

            return draw_text(diagram, width)
        case "mermaid":
            from tideate_core.machines.diagrams.mermaid import draw_mermaid

            return draw_mermaid(diagram)
        case "svg":
            from tideate_core.machines.diagrams.svg import draw_svg

            return draw_svg(diagram)
        case _:
            known = ", ".join(FORMATS)
            raise MachineError(f"unknown format {format!r}{did_you_mean(format, FORMATS)} (known: {known})")
