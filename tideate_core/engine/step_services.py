"""Services of a run for its steps: nested runs, tools, workflows, events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from tideate_core.engine.events import Emit
    from tideate_core.engine.result import WorkflowResult
    from tideate_core.engine.run import RunRequest
    from tideate_core.engine.task_components import TaskComponents
    from tideate_core.mcp.client import ConnectedServer, Tool, ToolResult
    from tideate_core.store import Store
    from tideate_core.workflows import Registration

__all__ = ["RunChild", "Services", "ToolCaller", "Workflows"]


class RunChild(Protocol):
    """Runs another workflow as a step of this run, to its end."""

    async def __call__(self, step: str, request: RunRequest) -> WorkflowResult:
        """Begin the run, resume it where a crash left it, or return how it ended before.

        What the request leaves open (adapter, confirmation) is this run's; what the child takes counts to
        this run's usage. Cancelling the task cancels the child.

        :param step: whose run it is; of an item of `for_each` with `[0]`.
        :param request: its id is the same in every process: it is made of this run's, the step and the
            attempt.
        """
        ...


class ToolCaller(Protocol):
    """Calls tools of MCP servers: `mcp.MCPClient`."""

    @property
    def permissions(self) -> Permissions: ...

    @property
    def names(self) -> list[str]:
        """Names of the servers."""
        ...

    def on_connected(self, listener: Callable[[ConnectedServer], None]) -> Callable[[], None]:
        """Have a function called when a server was reached; returns what ends that."""
        ...

    async def tools(self, server: str) -> list[Tool]:
        """Return all tools of a server. See `tool`."""
        ...

    async def left_out(self, server: str) -> dict[str, str]:
        """Return tools that a server lists and that cannot be used, with the reasons."""
        ...

    async def tool(self, server: str, name: str) -> Tool:
        """Return a tool as its server describes it; the server is started for that.

        :raises TideateError: no such server or tool; says why.
        """
        ...

    async def call(
        self,
        server: str,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        permitted: Tool | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 told in the error
        on_progress: Callable[[float, float | None, str | None], None] | None = None,
    ) -> ToolResult:
        """Call a tool.

        :param permitted: the tool as it was when it was permitted; nothing is sent when it changed.
        :param timeout: seconds, None: the server's own.
        :raises TideateError: the tool failed, or its server did; says why.
        """
        ...


class Permissions(Protocol):
    """Permissions that a person gave for good in a project."""

    def allows(self, tool: Tool) -> bool: ...

    def allow(self, tool: Tool) -> None: ...


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
    :param gated: a person is asked where a step wants it.
    :param store: opens the runs' database, None where there is none.
    :param task: components of a task; None: tideate's own.
    :param gives_prompt: tells whether agents get the prompt as material, because no template uses it.
    """

    workflow: str
    emit: Emit
    run_child: RunChild
    workflows: Workflows
    tools: ToolCaller | None = None
    gated: bool = True
    store: Callable[[], Awaitable[Store]] | None = None
    task: TaskComponents | None = None
    gives_prompt: Callable[[], bool] = lambda: False
