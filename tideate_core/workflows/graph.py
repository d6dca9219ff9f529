"""The order of a workflow's steps: Kahn's algorithm, in batches that could run side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.errors import InvalidDefinition, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.workflows.definitions import WorkflowStep

__all__ = ["DependencyGraph", "cycles", "dependency_graph", "shown_cycle"]


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
        circles = cycles({step.id: step.dependencies for step in steps if step.id in stuck})
        raise InvalidDefinition(
            "\n".join(f"steps wait for each other: {shown_cycle(one)}" for one in circles)
        )
    edges = tuple((dependency, step.id) for step in steps for dependency in step.dependencies)
    return DependencyGraph(tuple(nodes), edges, tuple(order))


def cycles(waiting: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """Return circles of steps that wait for each other, no step in two of them; each step is named once.

    :param waiting: the steps that no order has a place for, with their dependencies.
    """
    following = {step: next((d for d in of if d in waiting), None) for step, of in waiting.items()}
    seen: set[str] = set()
    found = []
    for start in waiting:
        path: dict[str, None] = {}
        step: str | None = start
        while step is not None and step not in seen and step not in path:
            path[step] = None
            step = following[step]
        if step is not None and step in path:
            names = list(path)
            found.append(tuple(names[names.index(step) :]))
        seen.update(path)
    return found


def shown_cycle(cycle: Sequence[str]) -> str:
    """Return `a → b → a`."""
    return " → ".join((*cycle, cycle[0]))
