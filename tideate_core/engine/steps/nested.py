"""Runs inside a run: how a step has another workflow run, and what its end means for the step."""

from __future__ import annotations

import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.execution import RunRequest
from tideate_core.engine.mentions import passing_on
from tideate_core.errors import InvalidInput, StepFailed
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.engine.execution import WorkflowResult
    from tideate_core.engine.steps.services import Services
    from tideate_core.workflows import StepContext

__all__ = ["DEEPEST", "ChildFailed", "child_id", "run_nested"]


DEEPEST: Final = 8
"""Runs that may be within one another, the outermost counted."""

# the runs around a step, from the outermost: a task has it of the step that started it, after a crash too
_around: ContextVar[tuple[str, ...]] = ContextVar("runs_around", default=())


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
