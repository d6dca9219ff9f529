"""The steps in Mermaid's and Graphviz' notations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.machines.language import cut, escaped, one_line, quoted
from tideate_core.workflows.drawing.words import doer, notes, tip

if TYPE_CHECKING:
    from tideate_core.workflows.definitions import WorkflowDefinition, WorkflowStep
    from tideate_core.workflows.graph import DependencyGraph

__all__ = ["draw_dot", "draw_mermaid"]

LONGEST: Final = 60
"""Longer labels push the steps apart."""


def draw_mermaid(definition: WorkflowDefinition, graph: DependencyGraph, current: str | None) -> str:
    """Draw as a `flowchart`, each batch a subgraph."""
    ids = {name: f"s{at}" for at, name in enumerate(graph.nodes)}
    steps = {step.id: step for step in definition.steps}
    lines = ["flowchart TD"]
    for place, batch in enumerate(graph.execution_order, 1):
        lines.append(f'    subgraph b{place}["{place}"]')
        lines += [
            f'        {ids[name]}["{"<br/>".join(map(escaped, _label(steps[name])))}"]' for name in batch
        ]
        lines.append("    end")
    lines += [f"    {ids[source]} --> {ids[target]}" for source, target in graph.edges]
    if current is not None:
        lines += ["    classDef current stroke-width:4px", f"    class {ids[current]} current"]
    return "\n".join(lines) + "\n"


def draw_dot(definition: WorkflowDefinition, graph: DependencyGraph, current: str | None) -> str:
    """Draw as a `digraph`, the steps of a batch on one height."""
    ids = {name: f"s{at}" for at, name in enumerate(graph.nodes)}
    lines = [
        f"digraph {quoted(definition.name)} {{",
        "    rankdir=TB;",
        '    node [shape=box, style=rounded, fontname="sans-serif"];',
    ]
    for step in definition.steps:
        # the line end is DOT's own escape, which must not be quoted
        label = r"\n".join(quoted(line)[1:-1] for line in _label(step))
        look = ", penwidth=3" if step.id == current else ""
        lines.append(f'    {ids[step.id]} [label="{label}"{look}, tooltip={quoted(tip(step))}];')
    rows = (" ".join(f"{ids[name]};" for name in batch) for batch in graph.execution_order)
    lines += [f"    {{ rank=same; {row} }}" for row in rows]
    lines += [f"    {ids[source]} -> {ids[target]};" for source, target in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _label(step: WorkflowStep) -> list[str]:
    lines = (one_line(step.id), doer(step), notes(step))
    return [cut(line, LONGEST) for line in lines if line]
