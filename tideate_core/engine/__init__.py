"""Engine: runs workflows with lifecycle, steps, events, confirmation, recovery and rollback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.engine.automatic_rollback import temporary_pin
    from tideate_core.engine.checkpoints import CheckpointDTO, CheckpointManager, read_checkpoint
    from tideate_core.engine.confirmation import (
        ConfirmationRequest,
        FrontEnd,
        PolicyFrontEnd,
        declined_unasked,
    )
    from tideate_core.engine.driver import Driver, Question, Settled, Work
    from tideate_core.engine.driver_hooks import DriverHooks, DriverSummary, register_driver_hooks
    from tideate_core.engine.drivers.machine import states_to_confirm
    from tideate_core.engine.events import Event, EventName, WorkflowHooks
    from tideate_core.engine.inputs import read_input
    from tideate_core.engine.mentions import material, surroundings_of, with_material
    from tideate_core.engine.orchestrator import Task, WorkflowOrchestrator
    from tideate_core.engine.recovery import end_abandoned_run, roll_back_abandoned_run
    from tideate_core.engine.reports import WorkflowSummaryDTO, iso_time
    from tideate_core.engine.rollback import (
        RollbackOutcome,
        RunRollback,
        family_members,
        forget_changes,
        nothing_changed_error,
        run_families,
        runs_with_changes,
    )
    from tideate_core.engine.run import Execution, RunRequest, WorkflowResult
    from tideate_core.engine.runner import WorkflowRunner
    from tideate_core.engine.scheduler import TaskQueue
    from tideate_core.engine.state import StateManager
    from tideate_core.engine.step_runner import TaskExecutor
    from tideate_core.engine.step_services import Services
    from tideate_core.engine.steps.nested import child_id
    from tideate_core.engine.stored_definition import Changed
    from tideate_core.engine.subject import NO_TEXT, Subject, brief
    from tideate_core.engine.tools.permission import FOR_PROJECT, FOR_RUN, described

__all__ = [
    "FOR_PROJECT",
    "FOR_RUN",
    "NO_TEXT",
    "Changed",
    "CheckpointDTO",
    "CheckpointManager",
    "ConfirmationRequest",
    "Driver",
    "DriverHooks",
    "DriverSummary",
    "Event",
    "EventName",
    "Execution",
    "FrontEnd",
    "PolicyFrontEnd",
    "Question",
    "RollbackOutcome",
    "RunRequest",
    "RunRollback",
    "Services",
    "Settled",
    "StateManager",
    "Subject",
    "Task",
    "TaskExecutor",
    "TaskQueue",
    "Work",
    "WorkflowHooks",
    "WorkflowOrchestrator",
    "WorkflowResult",
    "WorkflowRunner",
    "WorkflowSummaryDTO",
    "brief",
    "child_id",
    "declined_unasked",
    "described",
    "end_abandoned_run",
    "family_members",
    "forget_changes",
    "iso_time",
    "material",
    "nothing_changed_error",
    "read_checkpoint",
    "read_input",
    "register_driver_hooks",
    "roll_back_abandoned_run",
    "run_families",
    "runs_with_changes",
    "states_to_confirm",
    "surroundings_of",
    "temporary_pin",
    "with_material",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "automatic_rollback": ("temporary_pin",),
            "checkpoints": (
                "CheckpointDTO",
                "CheckpointManager",
                "read_checkpoint",
            ),
            "confirmation": (
                "ConfirmationRequest",
                "FrontEnd",
                "PolicyFrontEnd",
                "declined_unasked",
            ),
            "driver": (
                "Driver",
                "Question",
                "Settled",
                "Work",
            ),
            "driver_hooks": (
                "DriverHooks",
                "DriverSummary",
                "register_driver_hooks",
            ),
            "drivers.machine": ("states_to_confirm",),
            "events": (
                "Event",
                "EventName",
                "WorkflowHooks",
            ),
            "inputs": ("read_input",),
            "mentions": (
                "material",
                "surroundings_of",
                "with_material",
            ),
            "orchestrator": (
                "Task",
                "WorkflowOrchestrator",
            ),
            "recovery": (
                "end_abandoned_run",
                "roll_back_abandoned_run",
            ),
            "reports": ("WorkflowSummaryDTO", "iso_time"),
            "rollback": (
                "RollbackOutcome",
                "RunRollback",
                "family_members",
                "forget_changes",
                "nothing_changed_error",
                "run_families",
                "runs_with_changes",
            ),
            "run": (
                "Execution",
                "RunRequest",
                "WorkflowResult",
            ),
            "runner": ("WorkflowRunner",),
            "scheduler": ("TaskQueue",),
            "state": ("StateManager",),
            "step_runner": ("TaskExecutor",),
            "step_services": ("Services",),
            "steps.nested": ("child_id",),
            "stored_definition": ("Changed",),
            "subject": (
                "NO_TEXT",
                "Subject",
                "brief",
            ),
            "tools.permission": (
                "FOR_PROJECT",
                "FOR_RUN",
                "described",
            ),
        },
    )
