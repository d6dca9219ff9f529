"""Events of a run with their wire names, and hooks for programs that embed the engine."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import Any, Final, Protocol

from tideate_core.engine.call_words import summarize_call
from tideate_core.errors import TideateError
from tideate_core.workflows import CallReport

__all__ = [
    "TRANSIENT",
    "Emit",
    "Event",
    "EventName",
    "WorkflowHooks",
    "error_fields",
    "failure_fields",
    "identity",
    "report_call",
]

log = logging.getLogger(__name__)


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
    REASONING = "SD_EVENT_REASONING"
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


TRANSIENT: Final = frozenset(
    {EventName.TOKEN, EventName.REASONING, EventName.CHECK_OUTPUT, EventName.TOOL_PROGRESS}
)
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


def identity(run: str, plan: str) -> dict[str, str]:
    """Return the fields by which other tools identify the run of a workflow event.

    :param plan: the id of the plan that the run carries out, or the workflow's name.
    """
    return {"workflowId": run, "planId": plan}


Emit = Callable[[EventName, dict[str, Any]], None]
"""Sends an event of one run."""
Hook = Callable[[Event], None]


def error_fields(error: BaseException) -> dict[str, Any]:
    """Return an error as results and events carry it."""
    if isinstance(error, TideateError):
        return {"error": str(error), "error_code": error.code}
    return {"error": f"{type(error).__name__}: {error}", "error_code": type(error).__name__}


def failure_fields(error: BaseException) -> dict[str, Any]:
    """Return the fields of a failure's record: the error, and the chain of its causes.

    Of errors that are not tideate's own the chain has only the type: their words may hold a key.
    """
    causes: list[str] = []
    found: BaseException | None = error
    while found is not None and len(causes) < MOST_CAUSES:
        words = f": {found}" if isinstance(found, TideateError) and found is not error else ""
        causes.append(f"{type(found).__name__}{words}")
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
    return {**error_fields(error), "cause": " ← ".join(causes)}


_CALLED: Final[Mapping[EventName, tuple[str, ...]]] = {
    EventName.WORKFLOW_STARTED: ("on_workflow_start",),
    EventName.WORKFLOW_RESTORED: ("on_workflow_start",),
    EventName.WORKFLOW_COMPLETED: ("on_workflow_end",),
    EventName.WORKFLOW_CANCELLED: ("on_workflow_end",),
    EventName.WORKFLOW_FAILED: ("on_error", "on_workflow_end"),
    EventName.STEP_STARTED: ("on_step_start", "on_stage_start"),
    EventName.STEP_COMPLETED: ("on_step_end", "on_stage_complete"),
    EventName.STEP_FAILED: ("on_step_fail",),
    EventName.CHECKPOINT_CREATED: ("on_checkpoint",),
    EventName.GATE_PASSED: ("on_gate_pass",),
    EventName.GATE_FAILED: ("on_gate_fail",),
}
_OF_STAGES: Final = frozenset({"on_stage_start", "on_stage_complete"})


MOST_CAUSES: Final = 8
"""Causes of an error that its record names."""
SHOWN: Final = 2_000
"""Characters of a tool call's arguments, and of its result, that its events have."""

_numbers: Final = count(1)


class EmitOfStep(Protocol):
    """Sends an event of a step."""

    def __call__(self, event: EventName, /, **data: Any) -> None: ...


@contextmanager
def report_call(
    emit: EmitOfStep, tool: str, arguments: Mapping[str, Any], *, server: str = ""
) -> Iterator[CallReport]:
    """Tell of a tool call, at its begin and at its end; an exception is told and raised.

    Both events have the same number as `call`, and a `summary` of one line.

    :param server: of the tool; empty of those that come with tideate.
    """
    summary = summarize_call(server, tool, arguments)
    place = {"call": next(_numbers), "server": server, "tool": tool, "summary": summary}
    emit(EventName.TOOL_CALLED, **place, arguments=_shown(arguments))
    begun, report, ending = time.monotonic(), CallReport(), dict[str, Any](ok=False)
    try:
        yield report
        ending = {"ok": not report.failed, **({"error": report.failed} if report.failed else {})}
    except Exception as error:
        ending |= error_fields(error)
        raise
    finally:
        size = {} if report.size is None else {"size": report.size}
        result = {"result": _head(report.result)} if report.result else {}
        duration = round((time.monotonic() - begun) * 1000)
        emit(EventName.TOOL_COMPLETED, **place, duration_ms=duration, **size, **result, **ending)


def _shown(arguments: Mapping[str, Any]) -> Any:
    text = json.dumps(arguments, ensure_ascii=False)
    return dict(arguments) if len(text) <= SHOWN else _head(text)


def _head(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} … ({len(text)} characters)"


@dataclass(frozen=True, slots=True)
class WorkflowHooks:
    """Called with the event, on the run's event loop: return soon. None is not called.

    One that raises is logged, and the run goes on.
    """

    on_workflow_start: Hook | None = None
    """Also of a run that goes on in this process."""
    on_workflow_end: Hook | None = None
    """Completed, failed or cancelled."""
    on_step_start: Hook | None = None
    on_step_end: Hook | None = None
    on_step_fail: Hook | None = None
    on_checkpoint: Hook | None = None
    on_error: Hook | None = None
    """The run failed."""
    on_stage_start: Hook | None = None
    """A step of a task begins that is one of its five stages; its event's data has `stage`, from 1."""
    on_stage_complete: Hook | None = None
    on_gate_pass: Hook | None = None
    on_gate_fail: Hook | None = None
    on_event: Hook | None = None
    """Everything, pieces of streamed answers too."""

    def notify(self, event: Event) -> None:
        """Call what wants to know of this event."""
        for name in (*_CALLED.get(event.name, ()), "on_event"):
            hook: Hook | None = getattr(self, name)
            if hook is None or (name in _OF_STAGES and "stage" not in event.data):
                continue
            try:
                hook(event)
            except Exception:  # another's code may raise anything
                log.exception("the hook %s raised at %s of run %s", name, event.name, event.execution_id)
