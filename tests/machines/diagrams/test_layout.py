"""Layout: lanes, numbers for edges without a lane, distances of boxes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings, strategies as st

from tideate_core.machines.diagrams import Diagram, Edge, Kind, Node
from tideate_core.machines.diagrams.layout import Route, lay_out


def ordered(names: str, *edges: tuple[int, int]) -> Diagram:
    """Return a graph with one node in each batch."""
    pairs = [Edge(source, target) for source, target in edges]
    return Diagram("ordered", [Node(name) for name in names], pairs, [[at] for at in range(len(names))])


def test_edges_that_pass_the_same_boxes_have_lanes_of_their_own() -> None:
    layout = lay_out(ordered("abcd", (0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)), 24)
    inner, outer = sorted(layout.rails, key=lambda rail: rail.last)
    assert [layout.boxes[rail.target].node.name for rail in (inner, outer)] == ["c", "d"]
    assert (len(inner.sources), len(outer.sources)) == (1, 2)
    assert inner.lane != outer.lane


def test_edges_that_share_no_row_share_a_lane() -> None:
    layout = lay_out(ordered("abcdef", (0, 2), (3, 5)), 24)
    assert [rail.lane for rail in layout.rails] == [0, 0]
    assert layout.lanes == {Route.UP: 0, Route.DOWN: 1}


def test_an_edge_to_the_next_box_needs_no_lane() -> None:
    layout = lay_out(ordered("abc", (0, 1), (1, 2)), 24)
    assert not layout.rails
    assert [box.leads_down for box in layout.boxes] == [True, True, False]


def test_a_target_without_a_free_lane_gets_a_number() -> None:
    layout = lay_out(ordered("abcd", (0, 2), (0, 3)), 1)
    assert [rail.target for rail in layout.rails] == [2]
    assert layout.numbers == {3: 1}
    assert [arrow.route for arrow in layout.boxes[0].arrows] == [Route.DOWN, Route.NUMBERED]


def test_boxes_of_a_batch_stand_closer_than_batches() -> None:
    diagram = Diagram("two", [Node("a"), Node("b"), Node("c")], [], [[0], [1, 2]])
    layout = lay_out(diagram, 24)
    above, first, last = layout.boxes
    assert first.top - above.bottom > last.top - first.bottom
    assert layout.batches == [(above, above), (first, last)]


def test_unreachable_nodes_stand_below_the_exit() -> None:
    nodes = [Node("", Kind.ENTRY), Node("lost"), Node("a"), Node("", Kind.EXIT)]
    layout = lay_out(Diagram("m", nodes, [Edge(0, 2), Edge(2, 3), Edge(1, 2)]), 24)
    assert [box.node.name or box.node.kind for box in layout.boxes] == ["entry", "a", "exit", "lost"]
    assert layout.first_unreachable is layout.boxes[-1]


EDGES = st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40)


@settings(deadline=None)
@given(EDGES, st.integers(0, 24))
def test_every_edge_has_an_arrow_of_its_own_and_no_two_lines_share_a_place(
    edges: set[tuple[int, int]], lanes: int
) -> None:
    layout = lay_out(ordered("abcdefghijkl", *edges), lanes)
    arrows = [arrow for box in layout.boxes for arrow in box.arrows]
    assert Counter((arrow.source, arrow.target) for arrow in arrows) == Counter(edges)
    for box in layout.boxes:
        for arrow in box.arrows:
            rails = [
                rail for rail in layout.rails if (rail.route, rail.target) == (arrow.route, arrow.target)
            ]
            on_rail = arrow.route in (Route.UP, Route.DOWN)
            assert [arrow.row in rail.sources for rail in rails] == [True] * on_rail
            assert arrow.route is not Route.NUMBERED or arrow.target in layout.numbers
            assert arrow.route is not Route.NEXT or arrow.target == box.at + 1
    assert all(rail.head == layout.boxes[rail.target].title for rail in layout.rails)
    ordered_rails = sorted(layout.rails, key=lambda rail: (rail.route, rail.lane, rail.first))
    for one, other in pairwise(ordered_rails):
        assert (one.route, one.lane) != (other.route, other.lane) or one.last < other.first
