"""Handlers for the kinds of steps of a definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import MissingStepHandler

if TYPE_CHECKING:
    from tideate_core.engine.run import Run
    from tideate_core.workflows import StepContext, StepHandler, WorkflowStep

__all__ = ["handler_for"]


def handler_for(step: WorkflowStep, run: Run, *, registered: StepHandler | None = None) -> StepHandler:
    """Return the step's handler; a missing dependency fails when it is called.

    :param registered: the handler that was registered under the step's handler name.
    """
    handler = _of_kind(step, registered, run)
    if step.for_each is None:
        return handler
    from tideate_core.engine.steps.for_each import for_each

    return for_each(step, step.for_each, handler, run)


def _of_kind(step: WorkflowStep, registered: StepHandler | None, run: Run) -> StepHandler:
    # imported on demand: templates and schemas are slow to load
    if step.tool is not None:
        from tideate_core.engine.tools import call_tool

        return call_tool(step.tool, run)
    if step.workflow is not None:
        from tideate_core.engine.steps.nested import run_workflow

        return run_workflow(step.workflow, run)
    if step.machine is not None:
        from tideate_core.engine.steps.nested import run_machine

        return run_machine(step.machine, run)
    if step.agent is not None:
        from tideate_core.engine.steps.agent import do_task

        return do_task(step, step.agent, run)
    return registered or _missing(step, run)


def _missing(step: WorkflowStep, run: Run) -> StepHandler:
    async def fail(_: StepContext) -> None:
        raise MissingStepHandler(step.handler_name, run.definition.name)

    return fail
