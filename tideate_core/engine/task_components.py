"""Components of gated tasks: state machine, gates, contexts, snapshots, agents, self-correction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tideate_core.gates import SelfCorrectionLoop
from tideate_core.machines import WorkflowFSM

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tideate_core.adapters import Conversation
    from tideate_core.agents import Documented, Executed, Role, TaskBrief
    from tideate_core.gates import AuditReport, ExecutionPlan, GateEnforcer
    from tideate_core.mentions import ContextResolver
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.workflows import StepContext

__all__ = ["AuditingAgent", "DocumentationAgent", "ExecutionAgent", "PlanningAgent", "TaskComponents"]


class PlanningAgent(Protocol):
    """The agent of stage 1, as `agents.plan_task`."""

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
    """The agent of stage 2, as `agents.audit_plan`."""

    async def __call__(
        self, step: StepContext, role: Role, brief: TaskBrief, plan: ExecutionPlan
    ) -> AuditReport: ...


class ExecutionAgent(Protocol):
    """The agent of stage 3, as `agents.execute_plan`: stages edits for gate 3 and the review."""

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
    """The agent of stage 4, as `agents.document_task`: stages edits, too."""

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
    """Components that carry out the tasks of a runner; those left out are tideate's own.

    State machine and loop belong to one task, so these two fields are classes or factories.
    """

    fsm: Callable[[], WorkflowFSM] = WorkflowFSM
    """Called once for each process that works on a task."""
    gate_enforcer: GateEnforcer | None = None
    """None: one for each gate, with statistics in the runs' database."""
    context_resolver: ContextResolver | None = None
    """None: one for each task, with the buffer in which the task began."""
    snapshot_manager: SnapshotManager | None = None
    """None: the project's."""
    planner: PlanningAgent | None = None
    auditor: AuditingAgent | None = None
    executor: ExecutionAgent | None = None
    documenter: DocumentationAgent | None = None
    self_correction_loop: Callable[..., SelfCorrectionLoop] = SelfCorrectionLoop
    """Called for each turn of stage 5 with a verifier or None, `corrected` and `edits`."""
