"""A step whose work a model does: the agent `assistant`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.edits import fence_for
from tideate_core.engine.mentions import with_material
from tideate_core.engine.steps.output import check_value
from tideate_core.engine.steps.typed import WantedOutput
from tideate_core.engine.subject import brief
from tideate_core.workflows import render_task

if TYPE_CHECKING:
    from tideate_core.workflows import StepContext, StepHandler, WorkflowStep

__all__ = ["PROMPT", "assist"]

PROMPT = "assistant"
"""The prompt file; a project or a person may have their own."""


def assist(definition: WorkflowStep) -> StepHandler:
    """Return what gives a step's task to a model, and returns the answer.

    The model sees of the steps before what the task's template says. With an `output_schema` the result is
    a value that fits it, else the answer's text.
    """
    wanted = WantedOutput(definition.id, definition.output_schema) if definition.output_schema else None

    async def answer(step: StepContext) -> Any:
        words = wanted.words if wanted else ""
        task = render_task(definition.task or "", step.values())
        prompt = step.render(
            PROMPT,
            task=task,
            schema=words,
            fence=fence_for(words),
            feedback=step.feedback,
        )
        prompt = await with_material(step, prompt, task)
        reply = await step.ask(brief(step, prompt), schema=wanted.shape if wanted else None)
        if reply.truncated:
            step.notice("the answer was cut off at the model's length limit", level="warn")
        if wanted is None:
            return reply.text.strip()
        value = wanted.value_of(reply)
        check_value(definition, value)
        return value

    return answer
