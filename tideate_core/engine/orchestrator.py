"""Engine API for embedding programs: workflows given as text, and tasks with replaceable components."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tideate_core.engine.driver import task_workflow
from tideate_core.engine.request import RunRequest
from tideate_core.errors import InvalidInput
from tideate_core.gates import SelfCorrectionLoop
from tideate_core.machines import ExecutionState, WorkflowFSM
from tideate_core.workflows import RunContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from tideate_core.adapters import AdapterPool, Conversation
    from tideate_core.agents import Documented, Executed, Role, TaskBrief
    from tideate_core.config import Config
    from tideate_core.engine.events import FrontEnd, WorkflowHooks
    from tideate_core.engine.past import Workflows
    from tideate_core.engine.request import WorkflowResult
    from tideate_core.engine.run import Run
    from tideate_core.engine.runner import WorkflowRunner
    from tideate_core.gates import AuditReport, ExecutionPlan, GateEnforcer
    from tideate_core.mcp.client import MCPClient
    from tideate_core.mentions import ContextResolver
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.store import Store
    from tideate_core.workflows import PromptLibrary, StepContext, TextFormat
    from tideate_core.workspace import Workspace


class PlanningAgent(Protocol):
    """Agent of stage 1; see `agents.plan_task`."""

    async def __call__(
        self,
        step: StepContext,
        role: Role,
        brief: TaskBrief,
        *,
        earlier: ExecutionPlan | None = None,
        issues: Sequence[str] = (),
        conversation: Conversation | None = None,
    ) -> ExecutionPlan: ...


class AuditingAgent(Protocol):
    """Agent of stage 2; see `agents.audit_plan`."""

    async def __call__(
        self, step: StepContext, role: Role, brief: TaskBrief, plan: ExecutionPlan
    ) -> AuditReport: ...


class ExecutionAgent(Protocol):
    """Agent of stage 3; see `agents.execute_plan`. Stages edits for gate 3 and the review."""

    async def __call__(
        self,
        step: StepContext,
        role: Role,
        brief: TaskBrief,
        plan: ExecutionPlan,
        *,
        audit: AuditReport | None = None,
        beyond: bool = True,
        go_on: Callable[[Executed], Awaitable[bool]] | None = None,
    ) -> Executed: ...


class DocumentationAgent(Protocol):
    """Agent of stage 4; see `agents.document_task`. Stages edits."""

    async def __call__(
        self,
        step: StepContext,
        role: Role,
        brief: TaskBrief,
        plan: ExecutionPlan,
        diff: str,
        files: Sequence[str],
    ) -> Documented: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskComponents:
    """Replaceable components of tasks; omitted ones are the built-in ones.

    State machine and correction loop belong to one task, so these two fields are classes or factories.
    """

    fsm: Callable[[], WorkflowFSM] = WorkflowFSM
    """Called once in each process that executes a task."""
    gate_enforcer: GateEnforcer | None = None
    """None: one per gate, with statistics in the runs' database."""
    context_resolver: ContextResolver | None = None
    """None: one per task, with the buffer in which the task began."""
    snapshot_manager: SnapshotManager | None = None
    """None: the project's."""
    planner: PlanningAgent | None = None
    auditor: AuditingAgent | None = None
    executor: ExecutionAgent | None = None
    documenter: DocumentationAgent | None = None
    self_correction_loop: Callable[..., SelfCorrectionLoop] = SelfCorrectionLoop
    """Called for each correction of stage 5 with a verifier or None, `corrected` and `edits`."""


class WorkflowEngine:
    """Engine for workflows that are given as text.

    A text is trusted like the program that gives it: its steps may run registered handlers and tools. The
    runs are stored like others, and resumed with the text that they began with.

    :param runner: provides the handlers, adapters and store.
    """

    def __init__(self, runner: WorkflowRunner) -> None:
        self._runner = runner
        self._run: Run | None = None

    @property
    def state(self) -> ExecutionState:
        """State of the last execution; `idle` before the first."""
        return ExecutionState.IDLE if self._run is None else self._run.machine.state

    async def execute(
        self,
        text: str,
        format: TextFormat = "yaml",  # noqa: A002 what everybody calls it
        inputs: Mapping[str, Any] | None = None,
        *,
        request: RunRequest | None = None,
    ) -> WorkflowResult:
        """Run a text to its end. Failures, including mistakes in the text, are results, not exceptions.

        :param inputs: values of the declared inputs.
        :param request: the rest of the request; names the workflow, by default `workflow`.
        :raises InvalidInput: this engine is executing another run, or left one that can be resumed.
        :raises asyncio.CancelledError: the caller was cancelled, and so was the run.
        """
        self._refuse_unfinished()
        wanted = request or RunRequest(name="workflow")
        wanted = wanted.model_copy(update={"inputs": {**wanted.inputs, **(inputs or {})}})
        return await self._runner.run_text(wanted, text, format, on_run=self._follow)

    async def resume(self, checkpoint_id: str) -> WorkflowResult:
        """Continue from a checkpoint in a new run; the old one stays.

        :raises InvalidInput: this engine is executing another run, or left one that can be resumed.
        :raises CheckpointNotFound: no checkpoint has this id or prefix.
        :raises TideateError: it cannot continue; says why.
        """
        self._refuse_unfinished()
        restored = await self._runner.restore_checkpoint(checkpoint_id)
        return await self._runner.resume_run(restored.workflow_id, on_run=self._follow)

    def _follow(self, run: Run) -> None:
        self._run = run

    def _refuse_unfinished(self) -> None:
        if self._run is not None and not self._run.machine.is_terminal():
            raise InvalidInput(f"this engine is {self.state.value}; use another one for a run beside it")


@dataclass(frozen=True, slots=True)
class Task:
    """Description of a change for the orchestrator."""

    description: str
    """The person's words; they may mention material (`@Name`, `@file:PATH`)."""
    context: RunContext = field(default_factory=RunContext)
    """The buffer and selection that the task is about."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    adapter: str | None = None
    """None: as configured."""
    require_confirmation: bool | None = None
    """None: as configured; False: no questions; the five gates stay."""


@dataclass(frozen=True, slots=True)
class OrchestratorDependencies(TaskComponents):
    """Components of tasks and parts of their runner.

    :param registry: contains a workflow for tasks; see `register_builtin`.
    :param workspace: called once for a run.
    :param store: opens the runs' database; called in a thread when the first task begins.
    :param tools: calls tools of MCP servers; None: there are no servers.
    """

    registry: Workflows
    adapters: AdapterPool
    config: Config
    front: FrontEnd
    workspace: Callable[[RunRequest], Workspace]
    prompts: PromptLibrary
    store: Callable[[], Store]
    hooks: WorkflowHooks | None = None
    tools: MCPClient | None = None

    def make_runner(self) -> WorkflowRunner:
        """Return a runner with these parts; the caller closes it."""
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
    """Execute tasks: plan, audit, execute, document and verify, or roll back.

    A task is an ordinary run: it is stored, has events, and can be paused, cancelled and resumed through
    the runner.

    :param dependencies: the parts of the tasks' runner, or that runner.
    """

    def __init__(self, dependencies: OrchestratorDependencies | WorkflowRunner) -> None:
        if isinstance(dependencies, OrchestratorDependencies):
            dependencies = dependencies.make_runner()
        self._runner = dependencies
        self._hooks: WorkflowHooks | None = None

    def set_hooks(self, hooks: WorkflowHooks | None) -> None:
        """Set the hooks of tasks that begin from now on; None: the runner's."""
        self._hooks = hooks

    @property
    def runner(self) -> WorkflowRunner:
        """The runner, to pause, cancel and resume tasks, and to close."""
        return self._runner

    async def execute_task(self, task: Task | str) -> WorkflowResult:
        """Execute a task to its end. Failures are results, not exceptions.

        If the task does not complete, `rollback_performed` tells whether all its changes were rolled back;
        `files` lists files that stay because their lines were changed since.

        :raises asyncio.CancelledError: the caller was cancelled; the task was cancelled and rolled back.
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
