"""Types shared with front ends: events of a run, hooks, questions to the person, `FrontEnd`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

from tideate_core.errors import TideateError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from tideate_core.workflows import CheckAccepted, Decision, DecisionKind, EditorAccess
    from tideate_core.workspace import ExecutableFile

    Export = Callable[[str], Awaitable[object]]

log = logging.getLogger(__name__)

MOST_CAUSES: Final = 8
"""Causes listed for an error."""


class EventName(StrEnum):
    """Names of events on the wire, which other tools rely on."""

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
    HUNKS_STREAMED = "SD_EVENT_HUNKS_STREAMED"
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
    {
        EventName.TOKEN,
        EventName.REASONING,
        EventName.HUNKS_STREAMED,
        EventName.CHECK_OUTPUT,
        EventName.TOOL_PROGRESS,
    }
)
"""Events that are shown and not stored."""


@dataclass(frozen=True, slots=True)
class Event:
    """Event of a run."""

    name: EventName
    execution_id: str
    data: dict[str, Any] = field(default_factory=dict)
    at: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    """Milliseconds since the epoch."""
    sequence: int | None = None
    """Number among the run's stored events, from 1; None for `TRANSIENT` events."""

    def as_json(self) -> dict[str, Any]:
        shape = {"name": self.name.value, "execution_id": self.execution_id, "at": self.at, "data": self.data}
        return shape if self.sequence is None else {**shape, "sequence": self.sequence}


def identity(run: str, plan: str) -> dict[str, str]:
    """Return the fields that identify the run of a workflow event for other tools.

    :param plan: id of the plan that the run executes, or the workflow's name.
    """
    return {"workflowId": run, "planId": plan}


Emit = Callable[[EventName, dict[str, Any]], None]
"""Function that sends an event of a run."""
Hook = Callable[[Event], None]


def error_fields(error: BaseException) -> dict[str, Any]:
    """Return the fields of an error in results and events."""
    if isinstance(error, TideateError):
        return {"error": str(error), "error_code": error.code}
    return {"error": f"{type(error).__name__}: {error}", "error_code": type(error).__name__}


def failure_fields(error: BaseException) -> dict[str, Any]:
    """Return the fields of a failure: the error and its chain of causes.

    Foreign errors appear in the chain by type only, because their messages may contain a key.
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


@dataclass(frozen=True, slots=True)
class WorkflowHooks:
    """Hooks of an embedding program, called with the event on the run's event loop; they must return soon.

    An exception in a hook is logged, and the run continues.
    """

    on_workflow_start: Hook | None = None
    """Also called for a resumed run."""
    on_workflow_end: Hook | None = None
    """Completed, failed or cancelled."""
    on_step_start: Hook | None = None
    on_step_end: Hook | None = None
    on_step_fail: Hook | None = None
    on_checkpoint: Hook | None = None
    on_error: Hook | None = None
    """The run failed."""
    on_stage_start: Hook | None = None
    """One of a task's five stages begins; the event's data has `stage`, from 1."""
    on_stage_complete: Hook | None = None
    on_gate_pass: Hook | None = None
    on_gate_fail: Hook | None = None
    on_event: Hook | None = None
    """Every event, including pieces of streamed answers."""

    def notify(self, event: Event) -> None:
        """Call the hooks for an event."""
        for name in (*_CALLED.get(event.name, ()), "on_event"):
            hook: Hook | None = getattr(self, name)
            if hook is None or (name in _OF_STAGES and "stage" not in event.data):
                continue
            try:
                hook(event)
            except Exception:  # a foreign hook may raise anything
                log.exception("the hook %s raised at %s of run %s", name, event.name, event.execution_id)


@dataclass(frozen=True, slots=True)
class ConfirmationRequest:
    """Question to a person; `details` is Markdown, `payload` is JSON by kind."""

    execution_id: str
    workflow: str
    step: str
    kind: DecisionKind
    message: str
    details: str = ""
    payload: Any = None
    demonstration: bool = False
    """The question is about the work of an unreliable demonstration model."""
    executed: Sequence[ExecutableFile] = ()
    """Files of the change or plan that other tools execute by themselves; front ends warn about them."""
    draft: str = ""
    """File in which a front end stores the partial answer to a review, plan or document; empty: none."""
    unread: str = ""
    """Why an earlier draft cannot be used; empty: it can, or there is none."""
    check: CheckAccepted | None = None
    """Runs a check on the accepted part of a review; None: not offered."""
    place: str = ""
    """Digest of run, step and occurrence, the same on each machine; empty: the question is not in a step."""

    def as_json(self) -> dict[str, Any]:
        shape = {name: getattr(self, name) for name in self.__slots__ if name not in ("check", "place")}
        return {**shape, "executed": [one.as_json() for one in self.executed]}


class FrontEnd(Protocol):
    """Front end (editor, shell or policy): shows events and answers questions, nothing else."""

    @property
    def editor(self) -> EditorAccess | None:
        """Access to a running editor; None without one."""
        ...

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        """Return the answer; cancellation withdraws the question."""
        ...

    def emit(self, event: Event) -> None:
        """Receive an event; must return at once."""
        ...

    async def present(self, text: str, filetype: str) -> None:
        """Show a new text without a file."""
        ...
