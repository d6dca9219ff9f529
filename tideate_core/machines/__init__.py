"""Lifecycles: one machine, many tables. No I/O, and no other package of ours but the errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.machines.core import PREVIOUS, Choice, StateMachine, StateTransition
    from tideate_core.machines.execution import (
        EXECUTION_TABLE,
        ExecutionEvent,
        ExecutionMachine,
        ExecutionState,
    )
    from tideate_core.machines.task import TASK_TABLE, WorkflowEvent, WorkflowFSM, WorkflowState

__all__ = [
    "EXECUTION_TABLE",
    "PREVIOUS",
    "TASK_TABLE",
    "Choice",
    "ExecutionEvent",
    "ExecutionMachine",
    "ExecutionState",
    "StateMachine",
    "StateTransition",
    "WorkflowEvent",
    "WorkflowFSM",
    "WorkflowState",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "core": ("PREVIOUS", "Choice", "StateMachine", "StateTransition"),
            "execution": ("EXECUTION_TABLE", "ExecutionEvent", "ExecutionMachine", "ExecutionState"),
            "task": ("TASK_TABLE", "WorkflowEvent", "WorkflowFSM", "WorkflowState"),
        },
    )
