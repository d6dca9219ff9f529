"""Choice of a step's handler by its kind: tool, agent, nested workflow, or a registered handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tideate_core.errors import MissingStepHandler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.engine.context.context import Context
    from tideate_core.workflows import StepHandler, WorkflowStep

__all__ = ["handler_for"]

EngineHandler = Callable[[Any], Awaitable[Any]]
"""Handler of the engine; takes the `Context` of a step."""


def handler_for(step: WorkflowStep, handlers: Mapping[str, StepHandler]) -> EngineHandler:
    """Return the step's handler; a missing dependency fails when it is called.

    :param handlers: the workflow's registered handlers, by name.
    """
    handler: EngineHandler = _of_kind(step) or handlers.get(step.handler_name) or _fail_missing
    if step.for_each is None:
        return handler
    from tideate_core.engine.steps.for_each import for_each

    return partial(for_each, step, step.for_each, handler)


def _of_kind(step: WorkflowStep) -> EngineHandler | None:
    # imported on demand: templates and schemas are slow to load
    if step.tool is not None:
        from tideate_core.engine.tools import call_tool

        return partial(call_tool, step.tool)
    if step.workflow is not None:
        from tideate_core.engine.steps.nested import run_workflow

        return partial(run_workflow, step.workflow)
    if step.machine is not None:
        from tideate_core.engine.steps.nested import run_machine

        return partial(run_machine, step.machine)
    if step.agent is not None:
        from tideate_core.engine.steps.agent import do_task

        return partial(do_task, step, step.agent)
    return None


async def _fail_missing(step: Context) -> None:
    name = step.definition.handler_name if step.definition else step.step
    raise MissingStepHandler(name, step.run.name)
