"""Lifecycles: one machine, many tables. No I/O, and no other package of ours but the errors."""

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
