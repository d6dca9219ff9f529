"""State machines: tables of transitions, the `.workflow` language, and diagrams. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.machines.execution import (
        EXECUTION_TABLE as EXECUTION_TABLE,
        ExecutionEvent as ExecutionEvent,
        ExecutionMachine as ExecutionMachine,
        ExecutionMetrics as ExecutionMetrics,
        ExecutionState as ExecutionState,
    )
    from tideate_core.machines.state_machine import (
        PREVIOUS as PREVIOUS,
        Choice as Choice,
        StateMachine as StateMachine,
        StateTransition as StateTransition,
        Table as Table,
    )
    from tideate_core.machines.task import (
        TASK_TABLE as TASK_TABLE,
        WorkflowEvent as WorkflowEvent,
        WorkflowFSM as WorkflowFSM,
        WorkflowState as WorkflowState,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
