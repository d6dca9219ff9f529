"""Dependency graph of a workflow's steps: execution order in parallel batches, cycles, diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import InvalidDefinition, InvalidInput, MachineError, did_you_mean
from tideate_core.store import Graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.machines.diagrams import Diagram, Format
    from tideate_core.workflows.definitions import WorkflowDefinition
    from tideate_core.workflows.step_definition import WorkflowStep


def dependency_graph(steps: Sequence[WorkflowStep]) -> Graph:
    """Order the steps by Kahn's algorithm.

    :raises InvalidDefinition: a dependency is unknown, or steps form a cycle, which is named.
    """
    check_dependencies(steps)
    order = batches_of({step.id: step.dependencies for step in steps})
    placed = {step for batch in order for step in batch}
    if stuck := {step.id: step.dependencies for step in steps if step.id not in placed}:
        raise InvalidDefinition(
            "\n".join(f"steps wait for each other: {format_cycle(one)}" for one in cycles(stuck))
        )
    edges = tuple((dependency, step.id) for step in steps for dependency in step.dependencies)
    return Graph(tuple(step.id for step in steps), edges, tuple(map(tuple, order)))


def batches_of(waiting: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the steps in batches after their dependencies, without steps in a cycle or after one.

    :param waiting: dependencies by step.
    """
    dependents: dict[str, list[str]] = {step: [] for step in waiting}
    for step, needed in waiting.items():
        for dependency in needed:
            dependents[dependency].append(step)
    missing = {step: len(needed) for step, needed in waiting.items()}
    order = []
    batch = [step for step, count in missing.items() if not count]
    while batch:
        order.append(batch)
        batch = []
        for dependent in (one for step in order[-1] for one in dependents[step]):
            missing[dependent] -= 1
            if not missing[dependent]:
                batch.append(dependent)
    return order


def check_dependencies(steps: Sequence[WorkflowStep]) -> None:
    """Reject unknown dependencies.

    :raises InvalidDefinition: a step depends on an unknown one.
    """
    known = {step.id for step in steps}
    for step in steps:
        for dependency in step.dependencies:
            if dependency not in known:
                raise InvalidDefinition(
                    f"step {step.id!r} depends on {dependency!r}, which is not a step of this workflow"
                    f"{did_you_mean(dependency, known)}"
                )


def cycles(waiting: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """Return disjoint dependency cycles; each step is listed once.

    :param waiting: the steps without a place in the order, with their dependencies.
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


def format_cycle(cycle: Sequence[str]) -> str:
    """Return `a → b → a`."""
    return " → ".join((*cycle, cycle[0]))


def draw_steps(
    definition: WorkflowDefinition,
    format: Format,  # noqa: A002 the usual name
    *,
    width: int = 80,
    current: str | None = None,
) -> str:
    """Draw the steps in the batches of their execution order; the result ends with a line end.

    :param width: of the text, in columns.
    :param current: the step to highlight.
    :raises InvalidInput: there is no such step or format, or there are too many for an SVG.
    :raises InvalidDefinition: the steps have no order.
    """
    from tideate_core.machines.diagrams import draw_diagram

    if current is not None and current not in definition.step_names:
        near = did_you_mean(current, definition.step_names)
        raise InvalidInput(f"{current!r} is not a step of workflow {definition.name!r}{near}")
    try:
        return draw_diagram(step_diagram(definition, current), format, width)
    except MachineError as error:
        raise InvalidInput(str(error)) from error


def step_diagram(definition: WorkflowDefinition, current: str | None = None) -> Diagram:
    """Return a diagram with a node for each step: its worker, conditions and summary.

    :raises InvalidDefinition: the steps form a cycle.
    """
    from tideate_core.machines.diagrams import Diagram, Edge, Node

    graph = dependency_graph(definition.steps)
    places = {step.id: at for at, step in enumerate(definition.steps)}
    return Diagram(
        definition.name,
        [
            Node(step.id, details=(step.worker, _conditions(step)), tooltip=step_summary(step))
            for step in definition.steps
        ],
        [Edge(places[source], places[target]) for source, target in graph.edges],
        batches=[[places[name] for name in batch] for batch in graph.execution_order],
        current=None if current is None else places[current],
        title=definition.title,
    )


def step_summary(step: WorkflowStep) -> str:
    """Return a step's title and task on one line."""
    from tideate_core.machines.diagrams import one_line

    title = "" if step.name == step.id else step.name
    return one_line(": ".join(filter(None, (title or step.id, step.task or step.worker))))


def _conditions(step: WorkflowStep) -> str:
    """Return the conditions under which a step runs."""
    parts = (
        f"when {step.when}" if step.when else "",
        f"for each of {step.for_each.items}" if step.for_each else "",
        "asks first" if step.confirm else "",
        "" if step.parallel else "alone",
    )
    return ", ".join(filter(None, parts))
