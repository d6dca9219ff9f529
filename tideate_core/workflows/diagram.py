"""Diagram of a workflow's steps: batches in the order of execution, an edge for each dependency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import InvalidInput, MachineError, did_you_mean

if TYPE_CHECKING:
    from tideate_core.machines.diagrams import Diagram, Format
    from tideate_core.workflows.definitions import WorkflowDefinition, WorkflowStep

__all__ = ["draw_steps", "step_diagram", "step_summary"]


def draw_steps(
    definition: WorkflowDefinition,
    format: Format,  # noqa: A002 what everybody calls it
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
    """Return a node for each step, which says what does its work and when it runs.

    :raises InvalidDefinition: the steps have no order.
    """
    from tideate_core.machines.diagrams import Diagram, Edge, Node
    from tideate_core.workflows.graph import dependency_graph

    graph = dependency_graph(definition.steps)
    places = {step.id: at for at, step in enumerate(definition.steps)}
    return Diagram(
        definition.name,
        [
            Node(step.id, details=(_worker(step), _conditions(step)), tooltip=step_summary(step))
            for step in definition.steps
        ],
        [Edge(places[source], places[target]) for source, target in graph.edges],
        batches=[[places[name] for name in batch] for batch in graph.execution_order],
        current=None if current is None else places[current],
        title=definition.title,
    )


def step_summary(step: WorkflowStep) -> str:
    """Return a step's title or name and its task, on one line."""
    from tideate_core.machines.diagrams import one_line

    title = "" if step.name == step.id else step.name
    return one_line(": ".join(filter(None, (title or step.id, step.task or _worker(step)))))


def _worker(step: WorkflowStep) -> str:
    """Return what does a step's work."""
    if step.tool is not None:
        return f"tool {step.tool.server}/{step.tool.name}"
    if step.workflow is not None:
        return f"workflow {step.workflow.name}"
    if step.machine is not None:
        return f"machine {step.machine}"
    return step.agent or f"handler {step.handler_name}"


def _conditions(step: WorkflowStep) -> str:
    """Return under which conditions a step runs."""
    parts = (
        f"when {step.when}" if step.when else "",
        f"for each of {step.for_each.items}" if step.for_each else "",
        "asks first" if step.confirm else "",
        "" if step.parallel else "alone",
    )
    return ", ".join(filter(None, parts))
