"""Diagram model: nodes, labelled edges, and the batches in which the nodes of an ordered graph stand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FORMATS", "MOST_DRAWN", "Diagram", "Edge", "Format", "Kind", "Node"]

Format = Literal["text", "mermaid", "dot", "svg"]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
MOST_DRAWN: Final = 2_000
"""Edges; nobody can follow the lines of more, and drawing them takes seconds and megabytes."""


class Kind(StrEnum):
    """The kind of a node: the begin and the end of a machine are signs without a name."""

    ENTRY = "entry"
    EXIT = "exit"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Node:
    """A state or a step. All texts may come from a file and are cleaned when they are drawn."""

    name: str
    kind: Kind = Kind.NODE
    details: tuple[str, ...] = ()
    """Lines below the name; empty ones are left out."""
    tooltip: str = ""


class Edge(NamedTuple):
    """An arrow from one node to another, by their places in `Diagram.nodes`."""

    source: int
    target: int
    label: str = ""


@dataclass(frozen=True)
class Diagram:
    """A graph to be drawn.

    :param name: the workflow's.
    :param edges: each pair of nodes once.
    :param batches: the nodes of an acyclic graph in the order of their execution; empty for a state machine.
    :param current: the node to highlight.
    :param title: for people, where the name is an identifier.
    """

    name: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    batches: Sequence[Sequence[int]] = ()
    current: int | None = None
    title: str = ""

    @cached_property
    def outgoing(self) -> Sequence[Sequence[Edge]]:
        """The edges by the place of their source."""
        return self._edges_by(0)

    @cached_property
    def incoming(self) -> Sequence[Sequence[Edge]]:
        """The edges by the place of their target."""
        return self._edges_by(1)

    @cached_property
    def reached(self) -> Sequence[int]:
        """The nodes from above: batch by batch, else breadth first from the entry, and the exit last."""
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
