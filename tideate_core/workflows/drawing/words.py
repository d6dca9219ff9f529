"""What a drawing says of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.machines.language import one_line

if TYPE_CHECKING:
    from tideate_core.workflows.definitions import WorkflowStep

__all__ = ["doer", "notes", "tip"]


def doer(step: WorkflowStep) -> str:
    """Return what does a step's work."""
    if step.tool is not None:
        words = f"tool {step.tool.server}/{step.tool.name}"
    elif step.workflow is not None:
        words = f"workflow {step.workflow.name}"
    elif step.machine is not None:
        words = f"machine {step.machine}"
    else:
        words = step.agent or f"handler {step.handler_name}"
    return one_line(words)


def notes(step: WorkflowStep) -> str:
    """Return under which conditions a step runs, in one line."""
    parts = [
        f"when {step.when}" if step.when else "",
        f"for each of {step.for_each.items}" if step.for_each else "",
        "asks first" if step.confirm else "",
        "" if step.parallel else "alone",
    ]
    return one_line(", ".join(filter(None, parts)))


def tip(step: WorkflowStep) -> str:
    """Return all that is said of a step where one points at it."""
    title = "" if step.name == step.id else step.name
    return one_line(": ".join(filter(None, (title or step.id, step.task or doer(step)))))
