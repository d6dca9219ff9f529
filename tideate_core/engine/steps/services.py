"""What the kinds of steps need of the run that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.engine.execution import RunRequest, WorkflowResult
    from tideate_core.engine.work import Emit
    from tideate_core.store import Store
    from tideate_core.workflows import Registration

__all__ = ["RunChild", "Services", "ToolCaller", "Workflows"]


class RunChild(Protocol):
    """Runs another workflow as a step of this run, to its end."""

    async def __call__(self, step: str, request: RunRequest) -> WorkflowResult:
        """Begin the run, take it up where a crash left it, or return how it ended before.

        What the request leaves open (adapter, confirmation) is this run's; what the child takes counts to
        this run's usage. Cancelling the task cancels the child.

        :param step: whose run it is; of an item of `for_each` with `[0]`.
        :param request: its id is the same in every process: it is made of this run's, the step and the
            attempt.
        """
        ...


class ToolCaller(Protocol):
    """Calls tools of MCP servers."""

    async def call(self, server: str, name: str, arguments: dict[str, Any]) -> Any:
        """Return what the tool gives, as JSON.

        :raises TideateError: no such server or tool, or the tool failed; says why.
        """
        ...


class Workflows(Protocol):
    """Finds workflows: a registry or a catalog."""

    def get(self, name: str) -> Registration:
        """Return a workflow by its name or path.

        :raises UnknownWorkflow: with the nearest name.
        """
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """Of one run.

    :param workflow: its workflow's name.
    :param emit: sends an event of the run.
    :param tools: None where no MCP servers are configured.
    :param gated: tells whether a person is asked where a step wants it.
    :param store: opens the runs' database, None where there is none.
    """

    workflow: str
    emit: Emit
    run_child: RunChild
    workflows: Workflows
    tools: ToolCaller | None = None
    gated: Callable[[], bool] = lambda: True
    store: Callable[[], Awaitable[Store]] | None = None
