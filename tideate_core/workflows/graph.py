"""The order of a workflow's steps: Kahn's algorithm, in batches that could run side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.errors import InvalidDefinition, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.workflows.definitions import WorkflowStep

__all__ = ["DependencyGraph", "dependency_graph"]


@dataclass(frozen=True, slots=True)
class DependencyGraph:
    """Document 5's graph: `edges` lead from a dependency to its dependent."""

    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]
    execution_order: tuple[tuple[str, ...], ...]


def dependency_graph(steps: Sequence[WorkflowStep]) -> DependencyGraph:
    """Order the steps.

    :raises InvalidDefinition: a dependency is no step, or steps wait for each other (the cycle is named).
    """
    nodes = [step.id for step in steps]
    known = set(nodes)
    dependents: dict[str, list[str]] = {node: [] for node in nodes}
    missing: dict[str, int] = {}
    for step in steps:
        for dependency in step.dependencies:
            if dependency not in known:
                raise InvalidDefinition(
                    f"step {step.id!r} depends on {dependency!r}, which is not a step of this workflow"
                    f"{did_you_mean(dependency, known)}"
                )
            dependents[dependency].append(step.id)
        missing[step.id] = len(step.dependencies)
    order: list[tuple[str, ...]] = []
    batch = [node for node in nodes if not missing[node]]
    while batch:
        order.append(tuple(batch))
        following = []
        for node in batch:
            for dependent in dependents[node]:
                missing[dependent] -= 1
                if not missing[dependent]:
                    following.append(dependent)
        batch = following
    stuck = {node for node in nodes if missing[node]}
    if stuck:
        raise InvalidDefinition(f"steps wait for each other: {_cycle(stuck, steps)}")
    edges = tuple((dependency, step.id) for step in steps for dependency in step.dependencies)
    return DependencyGraph(tuple(nodes), edges, tuple(order))


def _cycle(stuck: set[str], steps: Sequence[WorkflowStep]) -> str:
    waits_for = {s.id: next(d for d in s.dependencies if d in stuck) for s in steps if s.id in stuck}
    path = [next(iter(waits_for))]
    while path[-1] not in path[:-1]:
        path.append(waits_for[path[-1]])
    return " → ".join(path[path.index(path[-1]) :])
