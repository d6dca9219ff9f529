"""The plain list of a machine that has too many transitions for a drawing."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final

from tideate_core.machines.language.diagrams.words import cut, one_line
from tideate_core.machines.language.model import BOUNDARY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.machines.language.model import MachineDefinition

__all__ = ["MOST_DRAWN", "count_drawn", "list_text"]

MOST_DRAWN: Final = 2_000
"""Transitions; nobody can follow the lines of more, and drawing them takes seconds and megabytes."""


def count_drawn(definition: MachineDefinition) -> int:
    """Count the transitions that a drawing has: each pair of states once."""
    return sum(map(len, definition.outgoing.values()))


def list_text(definition: MachineDefinition, width: int, current: str | None) -> str:
    """List the transitions below their sources; `▶` stands before the current state."""
    head = f"A list: {count_drawn(definition):,} transitions are too many to draw."
    lines = (cut(line, width).rstrip() for line in _lines(definition, current))
    return "".join(f"{line}\n" for line in (*wrap(head, width), *lines))


def _lines(definition: MachineDefinition, current: str | None) -> Iterator[str]:
    for source, transitions in definition.outgoing.items():
        # a state without a way out is named where a transition leads to it
        if not transitions and source != current:
            continue
        yield ""
        yield ("▶ " if source == current else "") + ("●" if source == BOUNDARY else one_line(source))
        for transition in transitions:
            target = "◉" if transition.target == BOUNDARY else one_line(transition.target)
            when = one_line(transition.when)
            yield f"  → {target}: {when}" if when else f"  → {target}"
