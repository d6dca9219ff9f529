"""Transition table and state machine of a gated task: plan, audit, execute, document, verify."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from tideate_core.machines.state_machine import StateMachine

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.machines.state_machine import Table


class WorkflowState(StrEnum):
    """A state of a gated task."""

    IDLE = "idle"
    PLANNING = "planning"
    AWAITING_PLAN_GATE = "awaiting_plan_gate"
    AUDITING = "auditing"
    AWAITING_AUDIT_GATE = "awaiting_audit_gate"
    EXECUTING = "executing"
    AWAITING_EXECUTION_GATE = "awaiting_execution_gate"
    DOCUMENTING = "documenting"
    AWAITING_DOCUMENTATION_GATE = "awaiting_documentation_gate"
    VERIFYING = "verifying"
    SELF_CORRECTING = "self_correcting"
    COMPLETE = "complete"
    FAILED = "failed"


class WorkflowEvent(StrEnum):
    """An event that moves a gated task to its next state."""

    START_TASK = "start_task"
    PLANNING_COMPLETE = "planning_complete"
    PLAN_GATE_PASSED = "plan_gate_passed"
    PLAN_GATE_FAILED = "plan_gate_failed"
    AUDITING_COMPLETE = "auditing_complete"
    AUDIT_GATE_PASSED = "audit_gate_passed"
    AUDIT_GATE_FAILED = "audit_gate_failed"
    EXECUTION_COMPLETE = "execution_complete"
    EXECUTION_GATE_PASSED = "execution_gate_passed"
    EXECUTION_GATE_FAILED = "execution_gate_failed"
    DOCUMENTATION_COMPLETE = "documentation_complete"
    DOCUMENTATION_GATE_PASSED = "documentation_gate_passed"
    DOCUMENTATION_GATE_FAILED = "documentation_gate_failed"
    VERIFICATION_PASSED = "verification_passed"
    VERIFICATION_FAILED = "verification_failed"
    CORRECTION_SUCCEEDED = "correction_succeeded"
    CORRECTION_EXHAUSTED = "correction_exhausted"
    RESET = "reset"


_S = WorkflowState
_E = WorkflowEvent

TASK_TABLE: Final[Table[WorkflowState, WorkflowEvent]] = {
    _S.IDLE: {_E.START_TASK: _S.PLANNING},
    _S.PLANNING: {_E.PLANNING_COMPLETE: _S.AWAITING_PLAN_GATE},
    _S.AWAITING_PLAN_GATE: {_E.PLAN_GATE_PASSED: _S.AUDITING, _E.PLAN_GATE_FAILED: _S.FAILED},
    _S.AUDITING: {_E.AUDITING_COMPLETE: _S.AWAITING_AUDIT_GATE},
    _S.AWAITING_AUDIT_GATE: {_E.AUDIT_GATE_PASSED: _S.EXECUTING, _E.AUDIT_GATE_FAILED: _S.PLANNING},
    _S.EXECUTING: {_E.EXECUTION_COMPLETE: _S.AWAITING_EXECUTION_GATE},
    _S.AWAITING_EXECUTION_GATE: {
        _E.EXECUTION_GATE_PASSED: _S.DOCUMENTING,
        _E.EXECUTION_GATE_FAILED: _S.FAILED,
    },
    _S.DOCUMENTING: {_E.DOCUMENTATION_COMPLETE: _S.AWAITING_DOCUMENTATION_GATE},
    _S.AWAITING_DOCUMENTATION_GATE: {
        _E.DOCUMENTATION_GATE_PASSED: _S.VERIFYING,
        _E.DOCUMENTATION_GATE_FAILED: _S.FAILED,
    },
    _S.VERIFYING: {_E.VERIFICATION_PASSED: _S.COMPLETE, _E.VERIFICATION_FAILED: _S.SELF_CORRECTING},
    _S.SELF_CORRECTING: {_E.CORRECTION_SUCCEEDED: _S.VERIFYING, _E.CORRECTION_EXHAUSTED: _S.FAILED},
    _S.COMPLETE: {_E.RESET: _S.IDLE},
    _S.FAILED: {_E.RESET: _S.IDLE},
}
"""A failed audit gate leads back to planning; any other failed gate ends the task."""

_GATES: Final = frozenset(
    {
        _S.AWAITING_PLAN_GATE,
        _S.AWAITING_AUDIT_GATE,
        _S.AWAITING_EXECUTION_GATE,
        _S.AWAITING_DOCUMENTATION_GATE,
    }
)


class WorkflowFSM(StateMachine[WorkflowState, WorkflowEvent]):
    """State machine of a gated task: fixed stages, with a gate after each."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(TASK_TABLE, WorkflowState.IDLE, reset=WorkflowEvent.RESET, clock=clock)

    def is_awaiting_gate(self) -> bool:
        """Return whether the task waits for a gate's decision."""
        return self.state in _GATES
