"""Runs workflows: lifecycle, steps, events, confirmation, cancellation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.engine.builtin import register_builtin
    from tideate_core.engine.checkpoints import CheckpointManager
    from tideate_core.engine.confirmation import ConfirmationRequest, FrontEnd, PolicyFrontEnd
    from tideate_core.engine.events import Event, EventName
    from tideate_core.engine.execution import Execution, RunRequest, WorkflowResult
    from tideate_core.engine.executor import TaskExecutor
    from tideate_core.engine.hooks import WorkflowHooks
    from tideate_core.engine.orchestrator import Task, WorkflowOrchestrator
    from tideate_core.engine.queue import TaskQueue
    from tideate_core.engine.runner import WorkflowRunner
    from tideate_core.engine.state import StateManager

__all__ = [
    "CheckpointManager",
    "ConfirmationRequest",
    "Event",
    "EventName",
    "Execution",
    "FrontEnd",
    "PolicyFrontEnd",
    "RunRequest",
    "StateManager",
    "Task",
    "TaskExecutor",
    "TaskQueue",
    "WorkflowHooks",
    "WorkflowOrchestrator",
    "WorkflowResult",
    "WorkflowRunner",
    "register_builtin",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "builtin": ("register_builtin",),
            "checkpoints": ("CheckpointManager",),
            "confirmation": ("ConfirmationRequest", "FrontEnd", "PolicyFrontEnd"),
            "events": ("Event", "EventName"),
            "execution": ("Execution", "RunRequest", "WorkflowResult"),
            "executor": ("TaskExecutor",),
            "hooks": ("WorkflowHooks",),
            "orchestrator": ("Task", "WorkflowOrchestrator"),
            "queue": ("TaskQueue",),
            "runner": ("WorkflowRunner",),
            "state": ("StateManager",),
        },
    )
