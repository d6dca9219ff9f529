"""Nested step: another workflow or machine as a run of its own."""

from __future__ import annotations

import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.mentions import passing_on
from tideate_core.engine.run import RunRequest
from tideate_core.engine.state import render_value
from tideate_core.errors import InvalidDefinition, InvalidInput, StepFailed
from tideate_core.workflows import Declined, render_task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.engine.result import WorkflowResult
    from tideate_core.engine.step_services import Services
    from tideate_core.workflows import NestedWorkflow, StepContext, StepHandler

__all__ = ["DEEPEST", "PATH", "ChildFailed", "child_id", "run_machine", "run_nested", "run_workflow"]


DEEPEST: Final = 8
"""Runs that may be within one another, the outermost counted."""

# the runs around a step, from the outermost: a task has it of the step that started it, after a crash too
_around: ContextVar[tuple[str, ...]] = ContextVar("runs_around", default=())
PATH: Final = "path"
"""Under which the step remembers the moves that the machine made."""


class ChildFailed(StepFailed):
    """A nested run failed; words and code are those of its error."""

    def __init__(self, result: WorkflowResult) -> None:
        super().__init__(result.error or f"the workflow {result.workflow!r} failed")
        self._code = result.error_code

    @property
    def code(self) -> str:
        return self._code or super().code


def child_id(parent: str, step: str, attempt: int) -> str:
    """Return the id of a nested run: in every process the same, so that it is found again.

    :param parent: the run's id, 32 hexadecimal digits.
    """
    return uuid.uuid5(uuid.UUID(parent), f"{step}/{attempt}").hex


async def run_nested(
    step: StepContext, services: Services, name: str, *, prompt: str, inputs: Mapping[str, Any]
) -> WorkflowResult:
    """Have a workflow run as this step; returns how it ended where it was completed.

    It is run on the same text as this run.

    :raises InvalidInput: too many runs would be within one another.
    :raises Declined: the child was declined or cancelled, and so this run is.
    :raises ChildFailed: the child failed.
    """
    around = (*_around.get(), services.workflow)
    if len(around) >= DEEPEST:
        raise InvalidInput(
            f"step {step.step!r} would run {name!r} within {' → '.join(around)}: at most {DEEPEST} runs may "
            "be within one another; do some of them run each other?"
        )
    request = RunRequest(
        name=name,
        prompt=prompt,
        context=step.context,
        inputs=dict(inputs),
        execution_id=child_id(step.execution_id, step.step, step.attempt),
    )
    before = _around.set(around)
    try:
        with passing_on(step):
            result = await services.run_child(step.step, request)
    finally:
        _around.reset(before)
    step.changed(result.files)
    if result.cancelled:
        raise Declined(f"the workflow {name!r} was {result.reason or 'cancelled'} in the step {step.step!r}")
    if not result.ok:
        raise ChildFailed(result)
    return result


def run_workflow(nested: NestedWorkflow, services: Services) -> StepHandler:
    """Return what runs a workflow as a run of its own, and returns its response."""

    async def run(step: StepContext) -> Any:
        values = step.values()
        prompt = render_task(nested.prompt, values) if nested.prompt else step.prompt
        inputs = render_value(nested.inputs, values)
        result = await run_nested(step, services, nested.name, prompt=prompt, inputs=inputs)
        return result.response

    return run


def run_machine(name: str, services: Services) -> StepHandler:
    """Return what runs a machine on this run's prompt, and returns its response.

    :param name: the machine's, or the path of its `.workflow` file.
    """

    async def run(step: StepContext) -> Any:
        if services.workflows.get(name).kind != "machine":
            raise InvalidDefinition(
                f"step {step.step!r}: {name!r} has steps and is not a machine; "
                "name it in `workflow` instead of `machine`"
            )
        result = await run_nested(step, services, name, prompt=step.prompt, inputs={})
        await step.remember(PATH, result.path)
        return result.response

    return run
