"""The order of a workflow's steps, and the circles that have none."""

from __future__ import annotations

import time

import pytest

from tideate_core.errors import InvalidDefinition
from tideate_core.workflows.graph import cycles, dependency_graph, format_cycle
from tideate_core.workflows.parts import WorkflowStep


def test_edges_lead_from_a_dependency_to_its_dependent() -> None:
    graph = dependency_graph([WorkflowStep(id="b", dependencies=("a",)), WorkflowStep(id="a")])
    assert graph.nodes == ("b", "a")
    assert graph.edges == (("a", "b"),)
    assert graph.execution_order == (("a",), ("b",))


def test_all_circles_are_told_in_a_line_each() -> None:
    pairs = [("a", "b"), ("b", "a"), ("c", "c"), ("d", "a")]
    with pytest.raises(InvalidDefinition) as caught:
        dependency_graph([WorkflowStep(id=one, dependencies=(other,)) for one, other in pairs])
    assert str(caught.value).splitlines() == [
        "steps wait for each other: a → b → a",
        "steps wait for each other: c → c",
    ]


def test_steps_that_only_wait_for_a_circle_are_not_part_of_it() -> None:
    found = cycles({"behind": ["a"], "a": ["b"], "b": ["behind2", "a"], "behind2": ["b"]})
    assert [format_cycle(one) for one in found] == ["b → behind2 → b"]


def test_a_long_circle_is_found_in_linear_time() -> None:
    count = 20_000
    started = time.process_time()
    (cycle,) = cycles({str(i): [str((i + 1) % count)] for i in range(count)})
    assert time.process_time() - started < 2
    assert len(cycle) == count
