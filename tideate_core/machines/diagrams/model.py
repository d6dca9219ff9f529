"""Diagram model: nodes, labelled edges, and batches of nodes in execution order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from collections.abc import Sequence

Format = Literal["text", "mermaid", "svg"]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
MOST_DRAWN: Final = 2_000
"""Maximum number of edges: more lines cannot be followed, and take seconds and megabytes to draw."""


class Kind(StrEnum):
    """The kind of a node; a machine's entry and exit are symbols without a name."""

    ENTRY = "entry"
    EXIT = "exit"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Node:
    """A state or a step. Texts may come from a file and are sanitized when drawn."""

    name: str
    kind: Kind = Kind.NODE
    details: tuple[str, ...] = ()
    """Lines below the name; empty lines are skipped."""
    tooltip: str = ""


class Edge(NamedTuple):
    """An arrow between two nodes, given by their indices in `Diagram.nodes`."""

    source: int
    target: int
    label: str = ""


@dataclass(frozen=True)
class Diagram:
    """A graph to draw.

    :param name: the workflow's name.
    :param edges: at most one for each pair of nodes.
    :param batches: an acyclic graph's nodes in execution order; empty for a state machine.
    :param current: the node to highlight.
    :param title: shown to people if the name is an identifier.
    """

    name: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    batches: Sequence[Sequence[int]] = ()
    current: int | None = None
    title: str = ""

    @cached_property
    def outgoing(self) -> Sequence[Sequence[Edge]]:
        """Edges by the index of their source."""
        return self._edges_by(0)

    @cached_property
    def incoming(self) -> Sequence[Sequence[Edge]]:
        """Edges by the index of their target."""
        return self._edges_by(1)

    @cached_property
    def reached(self) -> Sequence[int]:
        """Nodes from top to bottom: by batch, or breadth first from the entry, with the exit last."""
        if self.batches:
            return [at for batch in self.batches for at in batch]
        found = dict.fromkeys(at for at, node in enumerate(self.nodes) if node.kind is Kind.ENTRY)
        exits = dict.fromkeys(at for at, node in enumerate(self.nodes) if node.kind is Kind.EXIT)
        waiting = list(found)
        for source in waiting:
            for _, target, _ in self.outgoing[source]:
                if target not in found and target not in exits:
                    found[target] = None
                    waiting.append(target)
        return [*found, *exits]

    def _edges_by(self, end: Literal[0, 1]) -> Sequence[Sequence[Edge]]:
        rows: list[list[Edge]] = [[] for _ in self.nodes]
        for edge in self.edges:
            rows[edge[end]].append(edge)
        return rows
