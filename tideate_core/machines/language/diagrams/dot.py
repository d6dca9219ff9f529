"""The drawing in DOT, for Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.machines.language.diagrams.layout import Kind, lay_out
from tideate_core.machines.language.diagrams.words import cut, one_line

if TYPE_CHECKING:
    from tideate_core.machines.language.model import MachineDefinition

__all__ = ["draw_dot", "quoted"]

LONGEST: Final = 60
"""Longer labels push the states apart; the whole text is the tooltip."""


def draw_dot(definition: MachineDefinition, current: str | None) -> str:
    """Draw as a `digraph`: the entry is a point, the exit a double circle."""
    ids = {name: f"s{at}" for at, name in enumerate(definition.states)}
    lines = [
        f"digraph {quoted(definition.name)} {{",
        "    rankdir=TB;",
        '    node [shape=box, style=rounded, fontname="sans-serif"];',
        '    edge [fontname="sans-serif", fontsize=10];',
        '    entry [shape=point, width=0.15, tooltip="entry"];',
    ]
    boxes = lay_out(definition, 0).boxes
    if any(box.kind is Kind.EXIT for box in boxes):
        look = 'label="", width=0.15, style=filled, fillcolor=black, tooltip="exit"'
        lines.append(f"    exit [shape=doublecircle, {look}];")
    lost = {box.name for box in boxes if not box.reachable}
    for name in definition.states:
        look = ', style="rounded,dashed"' if name in lost else ""
        look += ", penwidth=3" if name == current else ""
        tip = f", tooltip={quoted(definition.states[name].guidance or name)}"
        lines.append(f"    {ids[name]} [label={quoted(name)}{look}{tip}];")
    for source, transitions in definition.outgoing.items():
        for transition in transitions:
            start, end = ids.get(source, "entry"), ids.get(transition.target, "exit")
            lines.append(f"    {start} -> {end}{_label(transition.when)};")
    return "\n".join([*lines, "}"]) + "\n"


def _label(when: str) -> str:
    when = one_line(when)
    if not when:
        return ""
    return f" [label={quoted(cut(when, LONGEST))}, tooltip={quoted(when)}]"


def quoted(text: str) -> str:
    """Return a text as a string of DOT."""
    plain = one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'
