"""Edges by their ends; drawing order of nodes."""

from __future__ import annotations

from tideate_core.machines.diagrams.model import Diagram, Edge, Kind, Node

NODES = (Node("", Kind.ENTRY), Node("b"), Node("a"), Node("", Kind.EXIT), Node("lonely"))
EDGES = (Edge(0, 2), Edge(2, 1, "ready"), Edge(1, 2), Edge(1, 3), Edge(2, 3))
MACHINE = Diagram("m", NODES, EDGES)


def test_edges_are_found_by_both_of_their_ends() -> None:
    assert MACHINE.outgoing[1] == [Edge(1, 2), Edge(1, 3)]
    assert MACHINE.incoming[3] == [Edge(1, 3), Edge(2, 3)]
    assert (MACHINE.outgoing[4], MACHINE.incoming[4]) == ([], [])


def test_nodes_of_a_machine_come_as_they_are_reached_and_the_exit_last() -> None:
    assert MACHINE.reached == [0, 2, 1, 3]


def test_nodes_in_batches_come_batch_by_batch() -> None:
    assert Diagram("g", NODES, (), batches=((2,), (1, 4))).reached == [2, 1, 4]
