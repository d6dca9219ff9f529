"""A step that is another workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.engine.steps.nested import run_nested
from tideate_core.engine.steps.rendering import render_value
from tideate_core.workflows import render_task

if TYPE_CHECKING:
    from tideate_core.engine.steps.services import Services
    from tideate_core.workflows import NestedWorkflow, StepContext, StepHandler

__all__ = ["run_workflow"]


def run_workflow(nested: NestedWorkflow, services: Services) -> StepHandler:
    """Return what runs a workflow as a run of its own, and returns its response."""

    async def run(step: StepContext) -> Any:
        values = step.values()
        prompt = render_task(nested.prompt, values) if nested.prompt else step.prompt
        inputs = render_value(nested.inputs, values)
        result = await run_nested(step, services, nested.name, prompt=prompt, inputs=inputs)
        return result.response

    return run
