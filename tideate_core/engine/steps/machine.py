"""A step that is a machine: states and the ways between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.steps.nested import run_nested
from tideate_core.errors import InvalidDefinition

if TYPE_CHECKING:
    from tideate_core.engine.steps.services import Services
    from tideate_core.workflows import StepContext, StepHandler

__all__ = ["PATH", "run_machine"]

PATH: Final = "path"
"""Under which the step remembers the moves that the machine made."""


def run_machine(name: str, services: Services) -> StepHandler:
    """Return what runs a machine on this run's prompt, and returns its response.

    :param name: the machine's, or the path of its `.workflow` file.
    """

    async def run(step: StepContext) -> Any:
        if services.workflows.get(name).kind != "machine":
            raise InvalidDefinition(
                f"step {step.step!r}: {name!r} has steps and is no machine; "
                "name it in `workflow` instead of `machine`"
            )
        result = await run_nested(step, services, name, prompt=step.prompt, inputs={})
        await step.remember(PATH, result.path)
        return result.response

    return run
