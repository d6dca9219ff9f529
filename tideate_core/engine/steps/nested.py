"""Nested step: another workflow or machine as a run of its own."""

from __future__ import annotations

import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.context.context import render_value
from tideate_core.engine.prompt_material import passing_on
from tideate_core.engine.request import RunRequest
from tideate_core.errors import InvalidDefinition, InvalidInput, StepFailed
from tideate_core.workflows import Declined, render_task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.engine.context.context import Context
    from tideate_core.engine.request import WorkflowResult
    from tideate_core.workflows import NestedWorkflow


DEEPEST: Final = 8
"""Maximum depth of nested runs, including the outermost."""

# the runs around a step, from the outermost; tasks inherit it from the step that started them
_around: ContextVar[tuple[str, ...]] = ContextVar("runs_around", default=())
PATH: Final = "path"
"""Memory key of the machine's moves."""


class ChildFailed(StepFailed):
    """A nested run failed, with the message and code of its error."""

    def __init__(self, result: WorkflowResult) -> None:
        super().__init__(result.error or f"the workflow {result.workflow!r} failed")
        self._code = result.error_code

    @property
    def code(self) -> str:
        return self._code or super().code


def child_id(parent: str, step: str, attempt: int) -> str:
    """Return the id of a nested run, the same in every process.

    :param parent: id of the run around it, 32 hexadecimal digits.
    """
    return uuid.uuid5(uuid.UUID(parent), f"{step}/{attempt}").hex


async def run_nested(step: Context, name: str, *, prompt: str, inputs: Mapping[str, Any]) -> WorkflowResult:
    """Execute a workflow as this step, on the same text; return its result if it completed.

    :raises InvalidInput: the runs would be nested too deeply.
    :raises Declined: the nested run was declined or cancelled, and so is this one.
    :raises ChildFailed: the nested run failed.
    """
    around = (*_around.get(), step.run.name)
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
            result = await step.run.nest(step.step, request)
    finally:
        _around.reset(before)
    step.changed(result.files)
    if result.cancelled:
        raise Declined(f"the workflow {name!r} was {result.reason or 'cancelled'} in the step {step.step!r}")
    if not result.ok:
        raise ChildFailed(result)
    return result


async def run_workflow(nested: NestedWorkflow, step: Context) -> Any:
    """Execute a workflow as a nested run and return its response."""
    values = step.values()
    prompt = render_task(nested.prompt, values) if nested.prompt else step.prompt
    inputs = render_value(nested.inputs, values)
    return (await run_nested(step, nested.name, prompt=prompt, inputs=inputs)).response


async def run_machine(name: str, step: Context) -> Any:
    """Execute a machine on this run's prompt and return its response.

    :param name: the machine's name, or the path of its `.workflow` file.
    """
    if step.run.runner.registry.get(name).kind != "machine":
        raise InvalidDefinition(
            f"step {step.step!r}: {name!r} has steps and is not a machine; "
            "name it in `workflow` instead of `machine`"
        )
    result = await run_nested(step, name, prompt=step.prompt, inputs={})
    await step.remember(PATH, result.path)
    return result.response
