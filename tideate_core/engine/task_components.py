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
    """Stage 1: `agents.plan_task`."""

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
    """Stage 2: `agents.audit_plan`."""

    async def __call__(
        self, step: StepContext, role: Role, brief: TaskBrief, plan: ExecutionPlan
    ) -> AuditReport: ...


class ExecutionAgent(Protocol):
    """Stage 3: `agents.execute_plan`. Its edits are staged; gate 3, the review and the writing follow."""

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
    """Stage 4: `agents.document_task`. Its edits are staged, too."""

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

    State machine and loop belong to one task, so these two are classes or functions that make them.
    """

    fsm: Callable[[], WorkflowFSM] = WorkflowFSM
    """Called once for each process that works on a task."""
    gate_enforcer: GateEnforcer | None = None
    """None: one for each gate, which counts its decisions in the runs' database."""
    context_resolver: ContextResolver | None = None
    """None: one for each task, which sees the buffer that it began in."""
    snapshot_manager: SnapshotManager | None = None
    """None: the project's."""
    planner: PlanningAgent | None = None
    auditor: AuditingAgent | None = None
    executor: ExecutionAgent | None = None
    documenter: DocumentationAgent | None = None
    self_correction_loop: Callable[..., SelfCorrectionLoop] = SelfCorrectionLoop
    """Called for each turn of stage 5 with a verifier or without, `corrected` and `edits`."""
