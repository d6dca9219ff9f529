"""Orchestrator: a program's tasks as runs of the workflow that is registered for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tideate_core.engine.driver_hooks import task_workflow
from tideate_core.engine.run import RunRequest
from tideate_core.engine.task_components import TaskComponents
from tideate_core.workflows import RunContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tideate_core.adapters import AdapterPool
    from tideate_core.config import Config
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.events import WorkflowHooks
    from tideate_core.engine.result import WorkflowResult
    from tideate_core.engine.runner import WorkflowRunner
    from tideate_core.engine.step_services import ToolCaller
    from tideate_core.engine.stored_definition import Workflows
    from tideate_core.store import Store
    from tideate_core.workflows import PromptLibrary
    from tideate_core.workspace import Workspace

__all__ = ["OrchestratorDependencies", "Task", "WorkflowOrchestrator"]


@dataclass(frozen=True, slots=True)
class Task:
    """A change that somebody wants."""

    description: str
    """As a person words it; it may mention material (`@Name`, `@file:PATH`)."""
    context: RunContext = field(default_factory=RunContext)
    """Its subject: a buffer, a selection."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    adapter: str | None = None
    """None: as configured."""
    require_confirmation: bool | None = None
    """None: as configured; False: nobody is asked, the five gates stay."""


@dataclass(frozen=True, slots=True)
class OrchestratorDependencies(TaskComponents):
    """Components of tasks, and the parts of their runner.

    :param registry: has a workflow for tasks, as `register_builtin` adds it.
    :param workspace: called once for a run.
    :param store: opens the runs' database; called in a thread, when the first task begins.
    :param tools: calls tools of MCP servers, None where there are none.
    """

    registry: Workflows
    adapters: AdapterPool
    config: Config
    front: FrontEnd
    workspace: Callable[[RunRequest], Workspace]
    prompts: PromptLibrary
    store: Callable[[], Store]
    hooks: WorkflowHooks | None = None
    tools: ToolCaller | None = None

    def make_runner(self) -> WorkflowRunner:
        """Return a runner with these; the caller closes it."""
        from tideate_core.engine.runner import WorkflowRunner

        return WorkflowRunner(
            self.registry,
            self.adapters,
            self.config,
            self.front,
            self.workspace,
            self.prompts,
            self.store,
            hooks=self.hooks,
            tools=self.tools,
            task=self,
        )


class WorkflowOrchestrator:
    """Brings tasks through planning, audit, execution, documentation and verification, or rolls them back.

    A task is a run like any other: it is in the store, has events, and can be paused, cancelled and resumed
    through the runner.

    :param dependencies: what the runner of the tasks is made of; or that runner.
    """

    def __init__(self, dependencies: OrchestratorDependencies | WorkflowRunner) -> None:
        if isinstance(dependencies, OrchestratorDependencies):
            dependencies = dependencies.make_runner()
        self._runner = dependencies
        self._hooks: WorkflowHooks | None = None

    def set_hooks(self, hooks: WorkflowHooks | None) -> None:
        """Have these called for tasks that begin from now on; None: the runner's own."""
        self._hooks = hooks

    @property
    def runner(self) -> WorkflowRunner:
        """Through it a task is paused, cancelled, resumed and closed."""
        return self._runner

    async def execute_task(self, task: Task | str) -> WorkflowResult:
        """Carry out a task to its end. Failures are results, not exceptions.

        Of a task that broke off, `rollback_performed` says whether all that it wrote was rolled back; not
        what somebody changed since in the very lines, which is `files` then.

        :raises asyncio.CancelledError: the caller was cancelled; the task is, and it is rolled back.
        """
        wanted = Task(task) if isinstance(task, str) else task
        request = RunRequest(
            name=task_workflow(),
            prompt=wanted.description,
            context=wanted.context,
            inputs=dict(wanted.inputs),
            adapter=wanted.adapter,
            require_confirmation=wanted.require_confirmation,
        )
        return await self._runner.run(request, hooks=self._hooks)
