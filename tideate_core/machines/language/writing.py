"""A definition as the text of a `.workflow` file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.machines.language.guidance import indented

if TYPE_CHECKING:
    from tideate_core.machines.language.model import MachineDefinition, Transition

__all__ = ["move_text", "when_text", "write_definition"]


def write_definition(definition: MachineDefinition) -> str:
    """Write a definition as text; parsing that gives it back, but for its positions.

    That holds for what a parse can give: a state that no transition names is lost.
    """
    return "\n".join(_group(transition) for transition in definition.transitions)


def when_text(text: str) -> str:
    """Write guidance lines, without the last newline."""
    return "\n".join(f": {line}" if line else ":" for line in text.split("\n"))


def move_text(source: str, target: str, guidance: str, *, inline: bool = False) -> str:
    """Write a transition and its guidance, without the last newline.

    :param inline: a guidance of one line stands after the `:`.
    """
    move = f"{source} to {target}"
    if not guidance:
        return move
    if inline and "\n" not in guidance:
        return f"{move}: {guidance}"
    return f"{move}:\n{indented(guidance)}"


def _group(transition: Transition) -> str:
    when = f"{when_text(transition.when)}\n" if transition.when else ""
    return f"{when}{move_text(transition.source, transition.target, transition.guidance)}\n"
