"""Convert a `.workflow` machine to a diagram of states, transitions, entry and exit, and draw it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import MachineError, did_you_mean
from tideate_core.machines.diagrams import Diagram, Edge, Kind, Node, draw_diagram
from tideate_core.machines.language.definition import BOUNDARY

if TYPE_CHECKING:
    from tideate_core.machines.diagrams import Format
    from tideate_core.machines.language.definition import MachineDefinition, State


def draw(
    definition: MachineDefinition,
    format: Format,  # noqa: A002 - the contract's word
    *,
    width: int = 80,
    current: str | None = None,
) -> str:
    """Draw a machine; the result ends with a newline.

    With more than two thousand transitions the text becomes a list, and its first line says so.

    :param width: columns of the text; at least 20.
    :param current: the state to highlight, `*` for the entry.
    :raises MachineError: the state or format is unknown, or the machine is too large for SVG.
    """
    if current is not None and current != BOUNDARY and current not in definition.states:
        near = did_you_mean(current, definition.states)
        raise MachineError(f"{current!r} is not a state of workflow {definition.name!r}{near}")
    return draw_diagram(machine_diagram(definition, current), format, width)


def machine_diagram(definition: MachineDefinition, current: str | None = None) -> Diagram:
    """Return a diagram of the entry, the states in file order, and the exit if a transition leads there."""
    nodes = [Node("", Kind.ENTRY, tooltip="entry"), *map(_node, definition.states.values())]
    sources = {BOUNDARY: 0, **{name: at for at, name in enumerate(definition.states, 1)}}
    targets = {**sources, BOUNDARY: len(nodes)}
    edges = [
        Edge(sources[source], targets[transition.target], transition.when)
        for source, transitions in definition.outgoing.items()
        for transition in transitions
    ]
    if any(transition.target == BOUNDARY for transition in definition.transitions):
        nodes.append(Node("", Kind.EXIT, tooltip="exit"))
    return Diagram(definition.name, nodes, edges, current=None if current is None else sources[current])


def _node(state: State) -> Node:
    return Node(state.name, tooltip=f"{state.name}: {state.guidance}" if state.guidance else state.name)
