"""Execution order and dependency cycles."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tests.harness.work import assert_linear
from tideate_core.errors import InvalidDefinition
from tideate_core.workflows.graph import cycles, dependency_graph, format_cycle
from tideate_core.workflows.step_definition import WorkflowStep


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


@pytest.mark.slow
def test_a_long_circle_is_found_with_work_that_grows_with_it() -> None:
    def circle(count: int) -> dict[str, list[str]]:
        return {str(i): [str((i + 1) % count)] for i in range(count)}

    def find(steps: dict[str, list[str]]) -> None:
        (cycle,) = cycles(steps)
        assert len(cycle) == len(steps)

    assert_linear(circle, find, 500)
    find(circle(200_000))


def step(name: str, *dependencies: str) -> WorkflowStep:
    return WorkflowStep(id=name, dependencies=dependencies)


def test_an_unknown_dependency_is_named_with_the_nearest_step() -> None:
    with pytest.raises(InvalidDefinition, match=r"'merge' depends on 'styel'.*did you mean 'style'"):
        dependency_graph([step("style"), step("merge", "styel")])


@pytest.mark.slow
@given(st.lists(st.sets(st.integers(0, 30)), max_size=30))
def test_every_step_comes_after_its_dependencies_and_as_early_as_it_can(wanted: list[set[int]]) -> None:
    steps = [step(f"s{i}", *(f"s{d}" for d in sorted(deps) if d < i)) for i, deps in enumerate(wanted)]
    graph = dependency_graph(steps)
    batch_of = {name: index for index, batch in enumerate(graph.execution_order) for name in batch}
    assert len(batch_of) == len(steps)
    for one in steps:
        assert batch_of[one.id] == max((batch_of[d] + 1 for d in one.dependencies), default=0)
