"""Drawings of a workflow's steps: for a terminal or buffer, as SVG, and as Mermaid or DOT for other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tideate_core.workflows.definitions import WorkflowDefinition

__all__ = ["Format", "draw_steps"]

Format = Literal["text", "mermaid", "dot", "svg"]


def draw_steps(
    definition: WorkflowDefinition,
    format: Format,  # noqa: A002 what everybody calls it
    *,
    width: int = 80,
    current: str | None = None,
) -> str:
    """Draw the steps in the batches of their execution order; the result ends with a line end.

    :param width: of the text, in columns.
    :param current: the step to highlight.
    :raises InvalidInput: there is no such step, or there are too many for an SVG.
    :raises InvalidDefinition: the steps have no order.
    """
    from tideate_core.errors import InvalidInput, did_you_mean
    from tideate_core.workflows.drawing.notations import draw_dot, draw_mermaid
    from tideate_core.workflows.drawing.svg import draw_svg
    from tideate_core.workflows.drawing.text import draw_text
    from tideate_core.workflows.graph import dependency_graph

    if current is not None and current not in definition.step_names:
        near = did_you_mean(current, definition.step_names)
        raise InvalidInput(f"{current!r} is not a step of workflow {definition.name!r}{near}")
    graph = dependency_graph(definition.steps)
    match format:
        case "text":
            return draw_text(definition, graph, width, current)
        case "mermaid":
            return draw_mermaid(definition, graph, current)
        case "dot":
            return draw_dot(definition, graph, current)
        case "svg":
            return draw_svg(definition, graph, current)
