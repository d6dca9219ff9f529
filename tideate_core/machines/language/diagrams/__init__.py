"""Drawings of a machine: for a terminal or buffer, as SVG, and as Mermaid or DOT for other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

from tideate_core.errors import MachineError, did_you_mean
from tideate_core.machines.language.diagrams.dot import draw_dot
from tideate_core.machines.language.diagrams.mermaid import draw_mermaid
from tideate_core.machines.language.diagrams.svg import draw_svg
from tideate_core.machines.language.diagrams.text import draw_text
from tideate_core.machines.language.model import BOUNDARY

if TYPE_CHECKING:
    from tideate_core.machines.language.model import MachineDefinition

__all__ = ["FORMATS", "Format", "draw"]

Format = Literal["text", "mermaid", "dot", "svg"]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)


def draw(
    definition: MachineDefinition,
    format: Format,  # noqa: A002 - the contract's word
    *,
    width: int = 80,
    current: str | None = None,
) -> str:
    """Draw a machine; the result ends with a line end.

    Of more than two thousand transitions the text is a list, and its first line says so.

    :param width: of the text, in columns; less than 20 counts as 20.
    :param current: the state to highlight, `*` for the entry.
    :raises MachineError: there is no such state or format, or the machine is too large for an SVG.
    """
    if current is not None and current != BOUNDARY and current not in definition.states:
        near = did_you_mean(current, definition.states)
        raise MachineError(f"{current!r} is not a state of workflow {definition.name!r}{near}")
    match format:
        case "text":
            return draw_text(definition, width, current)
        case "mermaid":
            return draw_mermaid(definition, current)
        case "dot":
            return draw_dot(definition, current)
        case "svg":
            return draw_svg(definition, current)
        case _:
            known = ", ".join(FORMATS)
            raise MachineError(f"unknown format {format!r}{did_you_mean(format, FORMATS)} (known: {known})")
