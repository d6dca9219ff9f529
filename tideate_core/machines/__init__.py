"""State machines: tables of transitions, the `.workflow` language, and diagrams. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.machines.execution import (
        EXECUTION_TABLE,
        ExecutionEvent,
        ExecutionMachine,
        ExecutionState,
    )
    from tideate_core.machines.state_machine import PREVIOUS, Choice, StateMachine, StateTransition, Table
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
    "Table",
    "WorkflowEvent",
    "WorkflowFSM",
    "WorkflowState",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "state_machine": ("PREVIOUS", "Choice", "StateMachine", "StateTransition", "Table"),
            "execution": ("EXECUTION_TABLE", "ExecutionEvent", "ExecutionMachine", "ExecutionState"),
            "task": ("TASK_TABLE", "WorkflowEvent", "WorkflowFSM", "WorkflowState"),
        },
    )
