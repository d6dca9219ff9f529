"""Rows of a store as the tests of this room need them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from tideate_core.store import EventRow, Lease, RunRow, StepRow, Tokens

__all__ = ["ALIVE", "GONE", "event_row", "run_row", "step_row"]

ALIVE: Final = Lease("owner", 42, "machine 1", "", 0, alive=True)
GONE: Final = replace(ALIVE, alive=False)
_RUN: Final = RunRow(
    id="abcdef0123456789",
    name="refactor",
    kind="graph",
    status="executing_steps",
    started_at=1_000,
    completed_at=None,
    duration_ms=None,
    completed_steps=0,
    failed_steps=0,
    total_steps=2,
    current_step=None,
    prompt="",
    error=None,
    error_code=None,
    reason=None,
    tokens=Tokens(),
    files=(),
    parent=None,
    lease=ALIVE,
    workflow_id="w",
    definition_hash="0" * 64,
    path=None,
    source="built-in",
)
_STEP: Final = StepRow("plan", "plan", "", "", "completed", 1, (), None, None, None, 1, 2, 1, Tokens(), (), 1)


def run_row(**changes: Any) -> RunRow:
    """Return a run that a living process has, but for the changes."""
    return replace(_RUN, **changes)


def step_row(**changes: Any) -> StepRow:
    """Return a completed step, but for the changes."""
    return replace(_STEP, **changes)


def event_row(name: str, at: int = 0, **data: Any) -> EventRow:
    return EventRow(sequence=at, name=name, at=at, data=data)
