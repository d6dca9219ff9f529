"""`TaskEnvironment`: configuration, roles, events, gates and snapshots for a task's stages."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tideate_core.agents import TaskBrief
from tideate_core.builtin.surroundings import project_memory
from tideate_core.engine import TaskComponents, material
from tideate_core.store import GateLedger

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.agents import Role
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.engine import EventName, Run
    from tideate_core.gates import GateEnforcer, SelfCorrectionLoop, Verifier
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Workspace


class TaskEnvironment:
    """Components of one task run."""

    def __init__(self, run: Run) -> None:
        self.config = run.runner.config
        self.emit = run.recorder.event
        self.components = run.runner.task or TaskComponents()
        self._run = run

    @property
    def gated(self) -> bool:
        """True if a user confirms plans and reviews edits."""
        return self._run.gated

    @cached_property
    def ledger(self) -> GateLedger:
        """Record of gate decisions."""
        return GateLedger(self._run.runner.store)

    def use_checks(self, commands: Mapping[str, Any]) -> None:
        """Use commands of the project's configuration that the user trusted during this run."""
        verify = self.config.verify.model_copy(update=commands)
        self.config = self.config.model_copy(update={"verify": verify})

    def report(self, step: StepContext, name: EventName, data: dict[str, Any]) -> None:
        """Emit an event of a step."""
        self.emit(name, {"step": step.step, **data})

    def role(self, step: StepContext, name: str) -> Role:
        """Return the role of a stage.

        :raises InvalidDefinition: the role's file is invalid.
        """
        from tideate_core.agents import Roles

        return Roles(step.workspace.root).get(name)

    async def brief(self, step: StepContext) -> TaskBrief:
        """Return the task brief: prompt, mentioned material and project memory."""
        mentioned = await material(step, step.prompt, self.components.context_resolver)
        notes, earlier = await project_memory(step)
        return TaskBrief(step.prompt, "\n\n".join(filter(None, (mentioned, notes))), earlier)

    def gates(self, step: StepContext, verifier: Verifier | None = None) -> GateEnforcer:
        """Return the configured gate enforcer, or the default one.

        :param verifier: runs the checks of gate 5 in the default enforcer; None for the project's checks.
        """
        if self.components.gate_enforcer is not None:
            return self.components.gate_enforcer
        from tideate_core.gates import DocumentValidator, GateEnforcer, VerificationPipeline

        workspace = step.workspace
        return GateEnforcer(
            DocumentValidator(),
            verifier or VerificationPipeline(root_of(workspace), self.config.verify),
            ledger=self.ledger,
            resolve=workspace.resolve,
            max_replans=self.config.limits.max_replans,
        )

    def snapshots(self, workspace: Workspace) -> SnapshotManager:
        """Return the manager of the project's snapshots."""
        from tideate_core.snapshots import SnapshotLimits, SnapshotManager

        return self.components.snapshot_manager or SnapshotManager(
            root_of(workspace),
            buffers=workspace.buffers,
            private=workspace.private,
            limits=SnapshotLimits.configured(self.config.snapshots),
        )

    def correction_loop(self, record: TaskRecord, verifier: Verifier | None = None) -> SelfCorrectionLoop:
        """Return the correction loop of stage 5, continued from the task's earlier turns."""
        return self.components.self_correction_loop(verifier, corrected=record.corrected, edits=record.edits)


def root_of(workspace: Workspace) -> Path:
    """Return the project's root; the first step rejects a task without one."""
    assert workspace.root is not None  # noqa: S101 see above
    return workspace.root
