"""Handlers for the kinds of steps of a definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import MissingStepHandler

if TYPE_CHECKING:
    from tideate_core.engine.step_services import Services
    from tideate_core.workflows import StepContext, StepHandler, WorkflowStep

__all__ = ["handler_for"]


def handler_for(
    step: WorkflowStep, *, registered: StepHandler | None = None, services: Services
) -> StepHandler:
    """Return what does a step's work; what it lacks it says when it is called.

    :param registered: the handler that was registered for the step, for one of this kind.
    :param services: of the run.
    """
    handler = _of_kind(step, registered, services)
    if step.for_each is None:
        return handler
    from tideate_core.engine.steps.for_each import for_each

    return for_each(step, step.for_each, handler, services)


def _of_kind(step: WorkflowStep, registered: StepHandler | None, services: Services) -> StepHandler:
    # each is loaded where it is needed: templates and schemas are slow to load
    if step.tool is not None:
        from tideate_core.engine.tools.calls import call_tool

        return call_tool(step.tool, services)
    if step.workflow is not None:
        from tideate_core.engine.steps.nested import run_workflow

        return run_workflow(step.workflow, services)
    if step.machine is not None:
        from tideate_core.engine.steps.nested import run_machine

        return run_machine(step.machine, services)
    if step.agent is not None:
        from tideate_core.engine.steps.agent import do_task

        return do_task(step, step.agent, services)
    return registered or _missing(step, services)


def _missing(step: WorkflowStep, services: Services) -> StepHandler:
    async def fail(_: StepContext) -> None:
        raise MissingStepHandler(step.handler_name, services.workflow)

    return fail
