"""What a run tells the world, with the wire names of document 4."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

__all__ = ["TRANSIENT", "Event", "EventName"]


class EventName(StrEnum):
    """The names on the wire; other tools read the stream by them."""

    WORKFLOW_STARTED = "SD_EVENT_WORKFLOW_STARTED"
    WORKFLOW_COMPLETED = "SD_EVENT_WORKFLOW_COMPLETED"
    WORKFLOW_FAILED = "SD_EVENT_WORKFLOW_FAILED"
    WORKFLOW_CANCELLED = "SD_EVENT_WORKFLOW_CANCELLED"
    WORKFLOW_PAUSED = "SD_EVENT_WORKFLOW_PAUSED"
    WORKFLOW_RESUMED = "SD_EVENT_WORKFLOW_RESUMED"
    WORKFLOW_RESTORED = "SD_EVENT_WORKFLOW_RESTORED"
    STEP_STARTED = "SD_EVENT_STEP_STARTED"
    STEP_COMPLETED = "SD_EVENT_STEP_COMPLETED"
    STEP_FAILED = "SD_EVENT_STEP_FAILED"
    STEP_SKIPPED = "SD_EVENT_STEP_SKIPPED"
    STEP_RETRYING = "SD_EVENT_STEP_RETRYING"
    STEP_EXECUTED = "SD_EVENT_STEP_EXECUTED"
    CHECKPOINT_CREATED = "SD_EVENT_CHECKPOINT_CREATED"
    TRANSITION = "SD_EVENT_TRANSITION"
    TOKEN = "SD_EVENT_TOKEN"  # noqa: S105 a piece of streamed text, no secret
    MODEL_ANSWERED = "SD_EVENT_MODEL_ANSWERED"
    NOTICE = "SD_EVENT_NOTICE"
    CONFIRMATION_REQUIRED = "SD_EVENT_CONFIRMATION_REQUIRED"
    CONFIRMATION_ANSWERED = "SD_EVENT_CONFIRMATION_ANSWERED"
    GATE_PASSED = "SD_EVENT_GATE_PASSED"
    GATE_FAILED = "SD_EVENT_GATE_FAILED"
    CHECK_STARTED = "SD_EVENT_CHECK_STARTED"
    CHECK_OUTPUT = "SD_EVENT_CHECK_OUTPUT"
    CHECK_ENDED = "SD_EVENT_CHECK_ENDED"
    ROLLED_BACK = "SD_EVENT_ROLLED_BACK"
    MCP_CONNECTED = "SD_EVENT_MCP_CONNECTED"
    TOOL_CALLED = "SD_EVENT_TOOL_CALLED"
    TOOL_PROGRESS = "SD_EVENT_TOOL_PROGRESS"
    TOOL_COMPLETED = "SD_EVENT_TOOL_COMPLETED"


TRANSIENT: Final = frozenset({EventName.TOKEN, EventName.CHECK_OUTPUT, EventName.TOOL_PROGRESS})
"""Told as they come, and not kept."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to one run."""

    name: EventName
    execution_id: str
    data: dict[str, Any] = field(default_factory=dict)
    at: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    """Milliseconds since the epoch."""
    sequence: int | None = None
    """Its place among the run's events in the store, from 1; None of what is not kept (`TRANSIENT`)."""

    def as_json(self) -> dict[str, Any]:
        shape = {"name": self.name.value, "execution_id": self.execution_id, "at": self.at, "data": self.data}
        return shape if self.sequence is None else {**shape, "sequence": self.sequence}
